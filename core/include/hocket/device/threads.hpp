#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hocket/device/interpreter.hpp"
#include "hocket/device/tables.hpp"
#include "hocket/executor/workspace.hpp"

namespace hocket::device {

/// A call of a program, as all targets are given it; sizes are bytes.
struct Call {
  std::array<std::byte*, 2> buffers;
  int64_t chunk_bytes;    ///< in whole elements
  int64_t divided_bytes;  ///< of the output, where the result is a mean; else 0
  int32_t element;        ///< by the number of `hocket.runtime.engine.elements`
  int32_t reduction;      ///< likewise
  int32_t depth;          ///< messages that a connection may hold
  bool packets;
  uint64_t signature;                ///< what all ranks of the call must agree on
  std::chrono::nanoseconds timeout;  ///< of each wait
};

/// The launch of a call, but for the addresses of a rank's memory.
/// Throws Error where a slot is too small for the program's messages.
Launch launch_of(const Tables& tables, const Window& window, const Call& call, int32_t rank, int32_t num_ranks);

/// As `launch_of`; `window`: that of the group, whose number of blocks all its programs have.
SwitchLaunch switch_launch_of(const SwitchTables& tables, const SwitchWindow& window, const Call& call, int32_t rank);

/// What a rank's failure says, in words.
std::string words_of(const Failure& failure);

class Fibers;
class Peers;

/// Runs the blocks of one rank on this machine's processors, by the source that GPUs run: all in the caller's thread,
/// or, where blocks are to have several `lanes` or a `seed`, each lane in a thread of its own, which stops now and then
/// as the seed says.
class Threads {
 public:
  /// `windows`: of all ranks, zeroed before anyone runs. `processes`: theirs, which are watched. `most_blocks`: of any
  /// program. `switches`: behind `window`, where there are programs whose chunks are added and copied on the way.
  Threads(int32_t rank, std::span<std::byte* const> windows, std::span<const int32_t> processes, const Window& window,
          int32_t most_blocks, const std::optional<SwitchWindow>& switches, int32_t lanes,
          std::optional<uint64_t> seed);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Runs this rank's part and returns when its result is complete. `interrupted` is asked some ten times a second;
  /// what it throws makes all ranks give up. Throws Error, naming the rank, block and step, where this rank gave up,
  /// and the process where one has ended before its part was done: so does every later call.
  void run(const Tables& tables, const Call& call, const std::function<void()>& interrupted);
  void run(const SwitchTables& tables, const Call& call, const std::function<void()>& interrupted);

  /// The rank that this one waited for in vain; -1: none.
  int32_t lost() const;
  /// Tells all others that this rank gives up.
  void close() noexcept;

  /// For copies of a caller's buffers.
  executor::Workspace& workspace() { return workspace_; }

 private:
  class Pool;

  /// All blocks of a launch. Throws as `run`.
  void run_blocks(int32_t blocks, const std::function<void(int32_t block, const Lanes&)>& run_block,
                  const std::function<void()>& interrupted);
  /// A peer that ended before its part of this call; -1: none did.
  int32_t missed() const noexcept;
  void leave_the_dead() noexcept;
  /// Why this rank gave up.
  Failure failure() const;

  int32_t rank_;
  Window window_;
  std::optional<SwitchWindow> switches_;
  std::vector<uint8_t*> windows_;
  std::vector<uint64_t> words_;  ///< those of `state_`
  State state_;
  uint64_t* met_;  ///< meetings of each block over switches
  int32_t most_blocks_;
  std::unique_ptr<Peers> peers_;
  std::vector<Pack> scratch_;  ///< grows with the largest program
  std::vector<BlockMemory> memories_;
  std::vector<SwitchMemory> switch_memories_;
  executor::Workspace workspace_;
  std::unique_ptr<Pool> pool_;  ///< or
  std::unique_ptr<Fibers> fibers_;
};

}  // namespace hocket::device
