/* What the loader refuses; each flavour is chosen on the compiler's command line. */
#if defined(THREAD_LOCAL)
_Thread_local int value = 1;
int Get(void) { return value; }
#elif defined(COMMON)
int value; /* -fcommon */
int Get(void) { return value; }
#elif defined(ALIGNED)
_Alignas(8192) char value[8192] = {1};
#elif defined(MISSING)
int NotThere(int);
int Get(void) { return NotThere(1) + 1; }
#elif defined(WEAK)
__attribute__((weak)) int Maybe(int);
int Get(void) { return Maybe != 0 ? 1 : 0; }
#endif
