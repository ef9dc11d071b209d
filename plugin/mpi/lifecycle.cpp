/// Wrappers of the program's beginning, steps and end.

#include "calls.hpp"
#include "serving.hpp"

namespace hocket::mpi {

namespace {

int begun(int result) {
  if (result == MPI_SUCCESS) {
    Recorder::start();
    Serving::start();
  }
  return result;
}

}  // namespace

HOCKET_EXPORT int MPI_Init(int* count, char*** arguments) {
  require_same_interface();
  return begun(HOCKET_REAL(MPI_Init)(count, arguments));
}

HOCKET_EXPORT int MPI_Init_thread(int* count, char*** arguments, int required, int* provided) {
  require_same_interface();
  return begun(HOCKET_REAL(MPI_Init_thread)(count, arguments, required, provided));
}

// Before MPI ends, since the last ping-pong and the counts still need it.
HOCKET_EXPORT int MPI_Finalize() {
  Recorder::stop();
  Serving::stop();
  return HOCKET_REAL(MPI_Finalize)();
}

/// MPI leaves its meaning to tools; here a level above 0 ends a step.
HOCKET_EXPORT int MPI_Pcontrol(const int level, ...) {
  Recorder* const recorder = Recorder::get();
  if (level > 0 && recorder != nullptr) recorder->end_step();
  return HOCKET_REAL(MPI_Pcontrol)(level);
}

}  // namespace hocket::mpi
