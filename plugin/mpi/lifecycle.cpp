/// Wrappers of the program's beginning, steps and end.

#include "calls.hpp"

namespace hocket::mpi {

HOCKET_EXPORT int MPI_Init(int* count, char*** arguments) {
  RequireSameInterface();
  const int result = HOCKET_REAL(MPI_Init)(count, arguments);
  if (result == MPI_SUCCESS) Recorder::Start();
  return result;
}

HOCKET_EXPORT int MPI_Init_thread(int* count, char*** arguments, int required, int* provided) {
  RequireSameInterface();
  const int result = HOCKET_REAL(MPI_Init_thread)(count, arguments, required, provided);
  if (result == MPI_SUCCESS) Recorder::Start();
  return result;
}

HOCKET_EXPORT int MPI_Finalize() {
  Recorder::Stop();
  return HOCKET_REAL(MPI_Finalize)();
}

/// MPI leaves its meaning to tools; here a level above 0 ends a step.
HOCKET_EXPORT int MPI_Pcontrol(const int level, ...) {
  Recorder* const recorder = Recorder::Get();
  if (level > 0 && recorder != nullptr) recorder->EndStep();
  return HOCKET_REAL(MPI_Pcontrol)(level);
}

}  // namespace hocket::mpi
