#include "clock.hpp"

#include <cstdlib>
#include <limits>

#include "recorder.hpp"

namespace hocket::mpi {
namespace {

constexpr int kPings = 20;
constexpr int kTag = 0;

// One rank after the other, so that none waits in another's ping-pong: queueing would look like an offset.
void serve(MPI_Comm comm, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    for (int ping = 0; ping < kPings; ++ping) {
      HOCKET_REAL(MPI_Recv)(nullptr, 0, MPI_BYTE, rank, kTag, comm, MPI_STATUS_IGNORE);
      int64_t now = now_ns();
      HOCKET_REAL(MPI_Send)(&now, sizeof(now), MPI_BYTE, rank, kTag, comm);
    }
  }
}

}  // namespace

bool is_one_machine(int ranks) {
  // MPICH's, Open MPI's and PMI's word for it; where none says, one process alone is one node's.
  for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE"}) {
    const char* const local_ranks = std::getenv(name);
    if (local_ranks != nullptr) return std::atoi(local_ranks) == ranks;
  }
  return ranks == 1;
}

Offset measure_offset(MPI_Comm comm) {
  int rank = 0, ranks = 0;
  HOCKET_REAL(MPI_Comm_rank)(comm, &rank);
  HOCKET_REAL(MPI_Comm_size)(comm, &ranks);
  if (rank == 0) {
    serve(comm, ranks);
    return {now_ns(), 0, 0};
  }
  Offset best{0, 0, std::numeric_limits<int64_t>::max()};
  for (int ping = 0; ping < kPings; ++ping) {
    int64_t theirs = 0;
    const int64_t begin = now_ns();
    HOCKET_REAL(MPI_Send)(nullptr, 0, MPI_BYTE, 0, kTag, comm);
    HOCKET_REAL(MPI_Recv)(&theirs, sizeof(theirs), MPI_BYTE, 0, kTag, comm, MPI_STATUS_IGNORE);
    const int64_t end = now_ns();
    if (end - begin < best.round_trip) best = {end, theirs - (begin + end) / 2, end - begin};
  }
  return best;
}

}  // namespace hocket::mpi
