/// A collective, done by a program's messages.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "algorithms.hpp"
#include "datatypes.hpp"
#include "workspace.hpp"

namespace hocket::mpi {

/// A call of a collective as the program made it. `send.buffer` may be MPI_IN_PLACE (in a broadcast it always is), as
/// may a scatter's `receive.buffer`. Without a `kind` it is none that a program can do, for `reason`.
struct CollectiveCall {
  const Kind* kind = nullptr;
  Block send{};
  Block receive{};
  MPI_Op op{};
  int root = -1;
  const char* reason = "";

  /// What tells the size of a share on this rank; the standard has it equal to that of all others.
  const Block& share(int rank) const {
    const bool is_gather = kind->is_rooted && kind->has_small_input,
               is_scatter = kind->is_rooted && kind->has_small_output;
    return (is_gather && rank != root) || (is_scatter && rank == root) ? send : receive;
  }
};

/// This process in a communicator.
struct Member {
  int rank = 0;
  int size = 0;
  bool is_inter = false;
  std::optional<MPI_Comm> comm{};   // of the same ranks, for programs' messages alone; from the first call served on
  std::map<int, RankPlan> plans{};  // by the algorithms' numbers; likewise
  std::vector<MPI_Request> requests{};
  Workspace workspace{};
};

/// A function of MPI failed.
struct MpiError {
  int code;
};

/// Throws MpiError unless the result is MPI_SUCCESS.
inline void Check(int result) {
  if (result != MPI_SUCCESS) throw MpiError{result};
}

/// Does the call and returns when this rank's part is complete. `share_bytes`: of a share; `element_bytes`: of what is
/// reduced, 1 where nothing is. Throws MpiError.
void RunServed(const Algorithm& algorithm, const RankPlan& plan, Member& member, const CollectiveCall& call,
               int64_t share_bytes, int64_t element_bytes, const Datatypes& datatypes);

}  // namespace hocket::mpi
