// In place of RCCL's kernels: their names, which its host code launches.
#pragma once
#include "collectives.h"
#include "device.h"
#include "network/unpack/unpack_defs.h"

#define HOCKET_KERNEL(name) __global__ void name(ncclDevKernelArgsDefaultStorage const)
HOCKET_KERNEL(ncclDevKernel_Generic_1);
HOCKET_KERNEL(ncclDevKernel_Generic_2);
HOCKET_KERNEL(ncclDevKernel_Generic_4);
HOCKET_KERNEL(ncclDevKernelDebug_Generic_1);
HOCKET_KERNEL(ncclDevKernelDebug_Generic_2);
HOCKET_KERNEL(ncclDevKernelDebug_Generic_4);
