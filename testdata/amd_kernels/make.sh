#!/bin/sh
# Compiles kernels.cl for each processor. Needs clang 22 with the AMDGPU target.
set -e
cd "$(dirname "$0")"
for arch in gfx1100 gfx1201 gfx942 gfx950; do
  clang-22 -x cl -target amdgcn-amd-amdhsa -mcpu=$arch -nogpulib -cl-std=CL2.0 -O2 -c kernels.cl -o kernels_$arch.o
done
