// Small kernels for the simulated GPU; make.sh compiles them.
#define GX                                                                   \
  (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + \
   __builtin_amdgcn_workitem_id_x())
#define GY                                                                   \
  (__builtin_amdgcn_workgroup_id_y() * __builtin_amdgcn_workgroup_size_y() + \
   __builtin_amdgcn_workitem_id_y())
#define BARRIER()                                          \
  do {                                                     \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier();                          \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)
kernel void add(global float* c, global const float* a, global const float* b) {
  ulong i = GX;
  c[i] = a[i] + b[i];
}
kernel void mm(global float* c, global const float* a, global const float* b,
               int n) {
  local float ta[16][16];
  local float tb[16][16];
  int lx = __builtin_amdgcn_workitem_id_x(),
      ly = __builtin_amdgcn_workitem_id_y(), x = GX, y = GY;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    ta[ly][lx] = a[y * n + k + lx];
    tb[ly][lx] = b[(k + ly) * n + x];
    BARRIER();
    for (int i = 0; i < 16; ++i) s += ta[ly][i] * tb[i][lx];
    BARRIER();
  }
  c[y * n + x] = s;
}
kernel void hist(global uint* h, global const uint* a) {
  __atomic_fetch_add(&h[a[GX] & 15], 1u, __ATOMIC_RELAXED);
}
kernel void fma_loop(global float* c, int n) {
  float x = c[GX], y = x + 1, z = x + 2, w = x + 3;
  for (int i = 0; i < n; ++i) {
    x = __builtin_fmaf(x, 0.5f, 1.f);
    y = __builtin_fmaf(y, 0.5f, 1.f);
    z = __builtin_fmaf(z, 0.5f, 1.f);
    w = __builtin_fmaf(w, 0.5f, 1.f);
  }
  c[GX] = x + y + z + w;
}
kernel void spin(global volatile uint* flag) {
  while (*flag == 0) {
  }
}
