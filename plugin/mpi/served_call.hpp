/// A collective, done by a program on the engine, whose messages are MPI's.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "datatypes.hpp"
#include "hocket/executor/library.hpp"
#include "hocket/executor/transport.hpp"

namespace hocket::mpi {

/// A call of a collective as the program made it. `send.buffer` may be MPI_IN_PLACE (in a broadcast it always is), as
/// may a scatter's `receive.buffer`. Without a `kind` it is none that a program can do, for `reason`.
struct CollectiveCall {
  const executor::Kind* kind = nullptr;
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

/// A function of MPI failed.
struct MpiError {
  int code;
};

/// Throws MpiError unless the result is MPI_SUCCESS.
inline void check(int result) {
  if (result != MPI_SUCCESS) throw MpiError{result};
}

/// The engine's transport over a communicator that nothing else uses. Throws MpiError.
/// A communicator of its own keeps a program's messages from matching the application's.
class MpiMessages final : public executor::Messages {
 public:
  explicit MpiMessages(MPI_Comm comm) : comm_(comm) {}

  MPI_Comm comm() const { return comm_; }

  /// The element type and the operation that the next program reduces by.
  void set_reduction(MPI_Datatype type, const TypeInfo& info, MPI_Op op);

 private:
  void exchange(const executor::Round& round, const Memory& memory) override;
  void reduce(const executor::Call& call, const std::byte* left, const std::byte* right, std::byte* out,
              int64_t bytes) override;

  MPI_Comm comm_;
  MPI_Datatype type_{};
  int64_t element_bytes_ = 1;
  MPI_Op op_{};
  std::optional<executor::ElementType> engine_type_;  ///< where the engine's loops give MPI's bits
  executor::ReduceOp engine_op_{};
  std::vector<MPI_Request> requests_;
};

/// This process in a communicator.
struct Member {
  int rank = 0;
  int size = 0;
  bool is_inter = false;
  std::unique_ptr<MpiMessages> messages{};      // from the first call served on
  std::map<int, executor::Program> programs{};  // by the algorithms' numbers; likewise
};

/// Does the call by the program at `choice` and returns when this rank's part is complete. Throws MpiError.
void run_served(const executor::Algorithm& algorithm, const executor::Choice& choice, const executor::Request& request,
                const executor::Program& program, Member& member, const CollectiveCall& call,
                const Datatypes& datatypes);

}  // namespace hocket::mpi
