/// Offsets between the ranks' clocks.
#pragma once

#include <cstdint>

#include "mpi_library.hpp"

namespace hocket::mpi {

/// At time `t` of this rank's clock, rank 0's showed `t + offset`, give or take `round_trip / 2` (nanoseconds).
struct Offset {
  int64_t t;
  int64_t offset;
  int64_t round_trip;
};

/// Whether the launcher says that all `ranks` run on this machine, where they share a clock.
bool is_one_machine(int ranks);

/// Measures the offset to rank 0's clock by ping-pongs, of which the shortest counts (Cristian's algorithm); rank 0
/// serves one rank after the other. All ranks of `comm` call it.
Offset measure_offset(MPI_Comm comm);

}  // namespace hocket::mpi
