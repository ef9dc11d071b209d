#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "hocket/synthesizer/phase_barrier.hpp"
#include "hocket/synthesizer/round_state.hpp"
#include "hocket/synthesizer/rounds.hpp"

namespace hocket::synthesizer {

/// One run of `search_rounds`. A round is two phases, in which threads share the representatives: all pick from what
/// is held, then what arrives is put to it. Choices are drawn by hash from what they are for, so that it does not
/// matter who makes them.
class RoundSearch {
 public:
  /// Most rounds that a link settles at once.
  static constexpr int32_t kWindow = 8;

  RoundSearch(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
              const RoundOptions& options, RoundSink& sink, Stop& stop);

  std::optional<Picoseconds> run(int32_t threads);

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void work(PhaseBarrier& barrier);
  template <typename Each>
  void for_orbits(int64_t share, Each each);
  void after_picking();
  void after_landing();
  void emit();

  int32_t pick(int32_t orbit);
  int32_t pick_for(int32_t slot);
  int32_t pick_in(int32_t block, int32_t slot);
  int32_t pick_arrival(int32_t slot);
  int32_t pick_random(int32_t slot, int32_t block, const ChunkBlock& both);
  int32_t pick_rarest(int32_t slot, int32_t block, const ChunkBlock& both);
  void settle(int32_t slot, uint32_t name);
  void land(int32_t orbit);
  [[noreturn]] void throw_stuck() const;

  uint64_t lot(uint64_t what) const;
  uint32_t& cell(int64_t round, int32_t slot) {
    return picks_[static_cast<size_t>(round % num_rows_) * slots_.size() + slot];
  }

  const Network& network_;
  const Orbits& orbits_;
  const std::span<const int32_t> origin_;
  const RoundPolicy policy_;
  RoundSink& sink_;
  Stop& stop_;
  const uint64_t seed_;
  const std::vector<int32_t> chunk_of_;  // [name]
  const RoundSlots slots_;
  Holdings holdings_;
  const int64_t delay_;  // rounds from a pick to the first round in which its chunk may be sent on
  const RoundTimes times_;
  const int64_t last_round_;  // that is of use
  const int64_t num_rows_;    // rounds that are remembered or settled in advance
  const int32_t stride_;      // of the shared block
  const int32_t plenty_;      // a rank that lacks so many may settle rounds in advance

  std::vector<uint32_t> picks_;        // [round mod num_rows][slot] names
  std::vector<uint8_t> settled_;       // [slot] rounds, this one the first, for which it is settled what it carries
  std::vector<char> exhausted_;        // [slot] whether a search through all blocks failed
  std::vector<uint32_t> num_checked_;  // [slot] arrivals of its source seen since
  std::vector<uint32_t> holders_;      // [name / order] ranks that hold the chunk or an image of it, for kRarest
  std::vector<int32_t> active_;        // orbits that await something
  std::vector<int32_t> emitted_;       // their slots, by link
  std::vector<int32_t> links_, chunks_;

  int64_t round_ = 0;
  uint64_t round_salt_;
  int32_t shared_block_ = 0;  // where searches begin: all read the same region of memory
  std::exception_ptr error_;  // of the sink
  bool done_;
  int64_t total_ = 0;  // pairs of representative and chunk
  std::atomic<int64_t> num_picked_ = 0;
  int64_t num_picked_before_ = 0;  // this round
  int64_t idle_rounds_ = 0;
  std::atomic<int64_t> next_share_ = 0;
};

}  // namespace hocket::synthesizer
