/* Code and data of each kind that compilers put into objects, for loader_test.cc. */

typedef __SIZE_TYPE__ size_t;
typedef __INT64_TYPE__ int64_t;

void* memcpy(void* to, const void* from, size_t size);
float expf(float x);

/* .data, .bss, .rodata, .data.rel.ro */
int counter = 40;
static int zeros[1000];
static const int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
static int Twice(int x) { return 2 * x; }
static int Negate(int x) { return -x; }
static int (*const table[2])(int) = {Twice, Negate};

int Add(int a, int b) { return a + b; }

int Next(void) { return ++counter; }

int Zero(int index, int value) {
  const int old = zeros[index];
  zeros[index] = value;
  return old;
}

int Square(int index) { return squares[index & 7]; }

int Choose(int which, int x) { return table[which & 1](x); }

/* A call within the object that is not inlined, and calls out of it. */
__attribute__((noinline)) int Outer(int x) { return Choose(x, Add(x, 1)); }

void Copy(void* to, const void* from, size_t size) { memcpy(to, from, size); }

void Kernel(void* const* buffers, const int64_t* vars, int64_t core_id) {
  float* out = (float*)buffers[0];
  const float* in = (const float*)buffers[1];
  for (int64_t i = 0; i < vars[0]; ++i) out[i] = expf(in[i]) + (float)core_id;
}

const char* Name(int day) {
  switch (day) {
    case 0: return "zero";
    case 1: return "one";
    case 2: return "two";
    case 3: return "three";
    case 4: return "four";
    case 5: return "five";
    default: return "many";
  }
}

#ifdef WITH_EXTERNAL_DATA
extern int host_value;
int HostValue(void) { return host_value; }
#endif
