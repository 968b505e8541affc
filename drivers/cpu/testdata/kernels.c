/* Kernels as a compiler of tg's would make them, for cpu_device_test.cc. */

typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;

void* memcpy(void* to, const void* from, size_t size);
float sinf(float x);
double pow(double x, double y);

/* out[i] = a[i] + b[i]; vars: the number of elements, of threads. */
void Add(void* const* buffers, const int64_t* vars, int64_t core_id) {
  float* out = (float*)buffers[0];
  const float* a = (const float*)buffers[1];
  const float* b = (const float*)buffers[2];
  const int64_t part = (vars[0] + vars[1] - 1) / vars[1];
  const int64_t end = (core_id + 1) * part < vars[0] ? (core_id + 1) * part : vars[0];
  for (int64_t i = core_id * part; i < end; ++i) out[i] = a[i] + b[i];
}

/* How often it ran for each core. */
void Count(void* const* buffers, const int64_t* vars, int64_t core_id) {
  ((int*)buffers[0])[core_id] += (int)vars[0];
}

void CallsOut(void* const* buffers, const int64_t* vars, int64_t core_id) {
  double* out = (double*)buffers[0];
  out[0] = (double)sinf(1.0f) + (double)core_id;
  out[1] = pow(out[1], (double)vars[0]);
  memcpy(&out[2], &out[1], (size_t)vars[1]);
}
