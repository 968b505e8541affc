#!/bin/sh
# Makes the AMD code objects in this folder from amd_kernels.cl with clang 22.
set -eu
cd "$(dirname "$0")"
for processor in gfx1100 gfx1201 gfx942 gfx950; do
  clang-22 -x cl -target amdgcn-amd-amdhsa -mcpu=$processor -nogpulib -O1 -c amd_kernels.cl \
    -o amd_kernels_$processor.o
done
