// Two kernels: with LDS and arguments of several kinds, and with another's constants.
kernel void scale(global float* out, global const float* in, int n) {
  local volatile float tile[64];
  const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i >= n) return;
  tile[i & 63] = in[i];
  out[i] = tile[i & 63] * 2.0f;
}

constant int table[4] = {3, 1, 4, 1};

kernel void fill(global int* out, int which) {
  out[__builtin_amdgcn_workitem_id_x()] = table[which & 3];
}
