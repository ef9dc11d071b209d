/// Which GPU a communicator is on, as CUDA tells it.
#pragma once

namespace hocket::nccl {

/// The calling thread's GPU by its number in this process; -1 where CUDA is not there or has no context. NCCL selects
/// the communicator's before it calls a profiler's init, and tells it otherwise nowhere.
int current_device();

}  // namespace hocket::nccl
