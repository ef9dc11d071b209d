#pragma once

#include "hocket/device/interpreter.hpp"

namespace hocket::device {

/// One lane's way through one block of a launch.
using Kernel = void(const Launch&, int32_t block, const Lanes&, BlockMemory&);

/// That for elements and a reduction, by their numbers in `hocket.runtime.engine.elements`. Throws Error for numbers
/// that are none.
Kernel* kernel_of(int32_t element, int32_t reduction);

}  // namespace hocket::device
