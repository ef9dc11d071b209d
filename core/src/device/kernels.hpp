#pragma once

#include "hocket/device/interpreter.hpp"
#include "hocket/device/switches.hpp"

namespace hocket::device {

/// One lane's way through one block of a launch.
using Kernel = void(const Launch&, int32_t block, const Lanes&, BlockMemory&);

/// The same of a launch whose chunks are added and copied on the way.
using SwitchKernel = void(const SwitchLaunch&, int32_t block, const Lanes&, SwitchMemory&);

/// That for elements and a reduction, by their numbers in `hocket.runtime.engine.elements`. Throws Error for numbers
/// that are none.
Kernel* kernel_of(int32_t element, int32_t reduction);
SwitchKernel* switch_kernel_of(int32_t element, int32_t reduction);

}  // namespace hocket::device
