// In place of RCCL's numbers of 8 bits, whose arithmetic only AMD's compiler knows: hip/hip_runtime.h has their size.
#pragma once
#include <hip/hip_runtime.h>
