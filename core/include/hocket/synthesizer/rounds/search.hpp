#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "hocket/synthesizer/rounds/phase_barrier.hpp"
#include "hocket/synthesizer/rounds/rounds.hpp"
#include "hocket/synthesizer/rounds/state.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// Matching for uniform networks, in rounds of one transfer a link: every rank picks a chunk it lacks for each of the
/// links that enter it. Two bits a pair of rank and chunk beside what the sink keeps.
///
/// Brings every chunk from its origin to all ranks. Only representatives of `orbits` pick; all others do alike, so the
/// network must look the same from them: under every element, links become links, and the chunks of a rank those of its
/// image (name_chunks).
///
/// A round is two phases, in which threads share the representatives: all pick from what is held, then what arrives is
/// put to it. Choices are drawn by hash from what they are for, so that it does not matter who makes them.
///
/// What is remembered beside the picks themselves is forgotten every kRenewal rounds. So a search that was cut off goes
/// on from the last such round as if nothing had been, when the picks before it are given back to `replay`.
///
/// Why it exists beside the matching: with all links alike nothing happens between rounds, so there are no events, no
/// queue and no lists, only bits. TACOS' published time for 40,000 NPUs in a mesh is 2.5 hours on 64 threads; this
/// takes about a minute on two. Invariants: a name is picked by a representative at most once, and a chunk is held from
/// the round on in which it has landed, so no transfer sends what its source has not got.
class RoundSearch {
 public:
  /// Most rounds that a link settles at once.
  static constexpr int32_t kWindow = 8;
  /// A multiple of the window: at its end nothing is settled in advance.
  static constexpr int64_t kRenewal = 1024;

  /// All but `origin` and `options` must outlive the search. Throws ScheduleError when the network is not uniform.
  RoundSearch(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
              const RoundOptions& options, RoundSink& sink, Stop& stop);

  /// Before `run`: in round rounds[i] (ascending) link links[i] took chunk chunks[i], as an earlier run of the same
  /// search told its sink; round after round from 0 on, in as many calls as it takes, each of whole rounds. Throws
  /// ScheduleError when this search cannot have found that.
  void replay(std::span<const int64_t> rounds, std::span<const int32_t> links, std::span<const int32_t> chunks);
  /// After the replay: `run` begins with round `round`, a multiple of kRenewal unless nothing is left to do.
  void resume(int64_t round);

  /// Hands what it finds to the sink, but what was replayed: the same for any number of threads. Returns when the last
  /// chunk arrives, or nothing, once that cannot be below `below_ps`. Fewer threads do where no more can be had. Throws
  /// Infeasible when a rank cannot be reached or not within the horizon, Stopped, and what the sink throws.
  std::optional<Picoseconds> run();

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void index_picks();
  void advance(int64_t round);
  void begin_round(int64_t round);
  void search();
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
  const std::vector<int32_t> origin_;
  const RoundPolicy policy_;
  const int32_t threads_;
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

  // A ring of rows: the oldest is overwritten once its chunks have landed.
  std::vector<uint32_t> picks_;        // [round mod num_rows][slot] names
  std::vector<uint8_t> settled_;       // [slot] rounds, this one the first, for which it is settled what it carries
  std::vector<char> exhausted_;        // [slot] whether a search through all blocks failed
  std::vector<uint32_t> num_checked_;  // [slot] arrivals of its source seen since
  std::vector<uint32_t> holders_;      // [name / order] ranks that hold the chunk or an image of it, for kRarest
  std::vector<int32_t> active_;        // orbits that await something
  std::vector<int32_t> emitted_;       // their slots, by link
  std::vector<int32_t> links_, chunks_;
  std::vector<int32_t> slot_of_;   // [link], -1 without; for the replay
  std::vector<uint32_t> name_of_;  // [chunk]; for the replay

  int64_t round_ = 0;
  int64_t first_round_ = 0;  // that is searched, not replayed
  uint64_t round_salt_;
  int32_t shared_block_ = 0;  // where searches begin: all read the same region of memory
  std::exception_ptr error_;  // of the sink
  bool done_ = false;
  int64_t total_ = 0;  // pairs of representative and chunk
  std::atomic<int64_t> num_picked_ = 0;
  int64_t num_picked_before_ = 0;  // this round
  int64_t idle_rounds_ = 0;
  std::atomic<int64_t> next_share_ = 0;
};

}  // namespace hocket::synthesizer
