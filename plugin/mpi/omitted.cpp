/// Wrappers of what communicates but is not recorded, so that the traces do not keep quiet about it.

#include "calls.hpp"

namespace hocket::mpi {
namespace {

int omitted(const char* op, const char* reason, int result) {
  Recorder* const recorder = Recorder::get();
  if (recorder != nullptr) recorder->omit(op, reason);
  return result;
}

#define HOCKET_OMITTED(name, reason, parameters, arguments) \
  HOCKET_EXPORT int name parameters { return omitted(HOCKET_TEXT(name), reason, HOCKET_REAL(name) arguments); }

#define HOCKET_OMITTED_PAIR(name, nonblocking_name, reason, parameters, arguments)      \
  HOCKET_OMITTED(HOCKET_JOIN(MPI_##name, HOCKET_ENDING), reason, parameters, arguments) \
  HOCKET_OMITTED(HOCKET_JOIN(MPI_##nonblocking_name, HOCKET_ENDING), reason,            \
                 (HOCKET_LIST parameters, MPI_Request * request), (HOCKET_LIST arguments, request))

constexpr const char* kScan = "execution traces have no prefix sums";
constexpr const char* kWindow = "one-sided communication is not recorded";
constexpr const char* kNeighbours = "collectives of neighbours are not recorded";

}  // namespace

HOCKET_OMITTED(MPI_Win_create, kWindow,
               (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window),
               (base, size, unit, info, comm, window))
HOCKET_OMITTED(MPI_Win_allocate, kWindow,
               (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
               (size, unit, info, comm, base, window))
HOCKET_OMITTED(MPI_Win_create_dynamic, kWindow, (MPI_Info info, MPI_Comm comm, MPI_Win* window), (info, comm, window))

#define HOCKET_WRAPPERS "omitted_of_counts.hpp"
#include "both_counts.hpp"

}  // namespace hocket::mpi
