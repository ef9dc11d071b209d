/// Wrappers of what communicates but is not recorded, so that the traces do not keep quiet about it.

#include "calls.hpp"

namespace hocket::mpi {
namespace {

int Omitted(const char* op, const char* reason, int result) {
  Recorder* const recorder = Recorder::Get();
  if (recorder != nullptr) recorder->Omit(op, reason);
  return result;
}

#define HOCKET_OMITTED(name, reason, parameters, arguments) \
  HOCKET_EXPORT int name parameters { return Omitted(#name, reason, HOCKET_REAL(name) arguments); }

constexpr const char* kScan = "execution traces have no prefix sums";
constexpr const char* kWindow = "one-sided communication is not recorded";
constexpr const char* kNeighbours = "collectives of neighbours are not recorded";

}  // namespace

HOCKET_OMITTED(MPI_Scan, kScan, (const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
               (in, out, n, type, op, comm))
HOCKET_OMITTED(MPI_Exscan, kScan, (const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
               (in, out, n, type, op, comm))
HOCKET_OMITTED(MPI_Win_create, kWindow,
               (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window),
               (base, size, unit, info, comm, window))
HOCKET_OMITTED(MPI_Win_allocate, kWindow,
               (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
               (size, unit, info, comm, base, window))
HOCKET_OMITTED(MPI_Win_create_dynamic, kWindow, (MPI_Info info, MPI_Comm comm, MPI_Win* window), (info, comm, window))

}  // namespace hocket::mpi
