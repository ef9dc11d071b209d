// In place of RCCL's reductions, which are of kernels alone.
#pragma once
#include "op128.h"
