/// What all of NCCL's plugin interfaces share: results and the logger. Own declarations with NCCL's binary layout.
#pragma once

namespace hocket::nccl {

/// ncclResult_t: 0 is success.
using Result = int;
constexpr Result kSuccess = 0;

/// ncclDebugLogger_t, and its levels.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
constexpr int kWarn = 2;
constexpr int kInfo = 3;

}  // namespace hocket::nccl
