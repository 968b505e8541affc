/* A kernel that calls what it may not. */
typedef __INT64_TYPE__ int64_t;
int system(const char* command);
void Kernel(void* const* buffers, const int64_t* vars, int64_t core_id) {
  (void)vars;
  (void)core_id;
  *(int*)buffers[0] = system("true");
}
