#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "hocket/executor/program.hpp"
#include "hocket/executor/reduce.hpp"
#include "hocket/executor/workspace.hpp"

namespace hocket::executor {

/// One call of a collective. `buffers` are the rank's input and output, in place one a part of the other, of the
/// program's chunks of `chunk_bytes` each. `signature` is what all ranks of the call must agree on.
struct Call {
  std::array<std::byte*, 2> buffers;
  int64_t chunk_bytes;
  ElementType type{};
  ReduceOp op{};
  uint64_t signature = 0;
  std::chrono::milliseconds timeout{};
  std::function<void()> interrupted{};  ///< asked some ten times a second; what it throws ends the call
};

/// How the bytes of programs travel between this rank and the others of its group.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Runs this rank's part of a program and returns when its result is complete. Throws Error, which every peer comes
  /// to know; the transport is of no use then.
  virtual void run(const Program& program, const Call& call) = 0;

  Workspace& workspace() { return workspace_; }

 private:
  Workspace workspace_;
};

/// A transport that only sends and receives, such as MPI or a process group of torch.distributed: a program goes
/// through its rounds.
/// Rounds, because a blocking send may wait for its receive: whatever a FIFO would have held must be received in the
/// same round as it is sent.
class Messages : public Transport {
 public:
  /// Throws ScheduleError for a program without rounds, and what the functions below throw.
  void run(const Program& program, const Call& call) override;

 protected:
  /// The rank's buffers during a call.
  struct Memory {
    std::array<std::byte*, 4> buffers;
    int64_t chunk_bytes;

    std::byte* at(Place place) const { return buffers[place.buffer] + place.offset * chunk_bytes; }
  };

  /// Sends and receives all messages of a round at once; returns when this rank's memory may be used again.
  virtual void exchange(const Round& round, const Memory& memory) = 0;

  // Work on the rank's own memory; a transport whose memory is a device's does it there.

  /// Memory until the end of the call.
  virtual std::byte* take(int64_t bytes) { return workspace().take(bytes); }
  virtual void copy(const std::byte* source, std::byte* target, int64_t bytes);
  /// out = left (op) right; `out` may be either.
  virtual void reduce(const Call& call, const std::byte* left, const std::byte* right, std::byte* out, int64_t bytes);
};

}  // namespace hocket::executor
