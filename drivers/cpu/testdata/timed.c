/* Candidates of a search, good and bad, for cpu_timer_test.cc. */

typedef __INT64_TYPE__ int64_t;

void Add(void* const* buffers, const int64_t* vars, int64_t core_id) {
  float* out = (float*)buffers[0];
  const float* in = (const float*)buffers[1];
  for (int64_t i = core_id; i < vars[0]; i += 2) out[i] = in[i] + 1;
}

/* A thousand times the work of Add. */
void Slow(void* const* buffers, const int64_t* vars, int64_t core_id) {
  for (volatile int i = 0; i < 1000; ++i) Add(buffers, vars, core_id);
}

void Endless(void* const* buffers, const int64_t* vars, int64_t core_id) {
  volatile float* out = (volatile float*)buffers[0];
  for (;;) out[0] += (float)core_id + (float)vars[0];
}

void BeyondTheEnd(void* const* buffers, const int64_t* vars, int64_t core_id) {
  volatile float* out = (volatile float*)buffers[0];
  for (int64_t i = 0; i < 2 * vars[0] + core_id; ++i) out[i] = 1;
}

void BeforeTheStart(void* const* buffers, const int64_t* vars, int64_t core_id) {
  volatile float* out = (volatile float*)buffers[0];
  for (int64_t i = 0; i < 2 * vars[0] + core_id; ++i) out[-i] = 1;
}

void Illegal(void* const* buffers, const int64_t* vars, int64_t core_id) { __builtin_trap(); }

/* Crashes where the input is not as the timer made it, else damages it. */
void DamagesInput(void* const* buffers, const int64_t* vars, int64_t core_id) {
  volatile float* in = (volatile float*)buffers[1];
  for (int64_t i = 0; i < vars[0]; ++i) {
    if (!(in[i] >= 0 && in[i] <= 1)) __builtin_trap();
  }
  for (int64_t i = 0; i < vars[0]; ++i) in[i] = 7;
}
