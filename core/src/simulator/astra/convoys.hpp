#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "phase.hpp"
#include "rounds.hpp"

namespace hocket::simulator::astra {

struct Engine;

/// Exchanges of one message at a time, or of all, which are computed at once when the last of their ranks begins.
///
/// Step k of a rank follows its own step k - 1 and the one of the rank that it hears from: the later of the two, and
/// fixed times after it, whatever the order of what happens at one instant. No rank ends before the last has begun, as
/// each hears of all others. What is left of a phase is its end on each rank.
///
/// Where all messages leave together (`direct`), a rank is done with the last that comes; the second half of an
/// all_reduce leaves when all of the first has come, and message by message as that is processed.
///
/// That holds without congestion, where messages meet nothing but their receivers. With it, it does for rings of all
/// ranks, one chunk at a time: a link has messages of one rank to one other alone, which leave in their order. The
/// order in which the ends of phases come among what else a rank does at one instant is not known, but for twins
/// (`Convoy::twins`): where two such things meet, the attempt has failed, and all steps are run.
class Convoys {
 public:
  explicit Convoys(Engine& engine);

  /// Whether it may be tried on a workload.
  static bool suits(const Engine& engine);

  /// The phase that a stream begins; `step` is its place among the phases of the stream.
  std::unique_ptr<Phase> make_phase(const PhasePlan& plan, uint32_t stream, uint32_t tag, uint32_t step,
                                    bool fixed_delay, const Endpoint& endpoint);

  /// Something happens on a rank. Of two at one instant the order is not known, but of callbacks (`Clock::is_open`).
  void touch(int32_t rank) {
    if (std::exchange(touched_[rank], now()) == now()) fail();
  }

  /// The order of something is not known.
  void fail() { has_failed_ = true; }
  bool has_failed() const;

  /// Counts the messages.
  void count() const;

 private:
  Nanoseconds now() const;

  class Member;
  /// Who hears from whom in a step, and how long that takes.
  struct Step {
    std::vector<int32_t> from;  // positions
    std::vector<Nanoseconds> time;
    Nanoseconds occupancy;  // of a link, with congestion
    int64_t bytes;
  };
  /// So many messages one after another are processed for so long each.
  struct Processing {
    Nanoseconds time;
    int64_t messages;
  };
  /// What ranks do that have a plan in common.
  struct Course {
    PhasePlan plan;
    bool fixed_delay;
    int64_t messages = 0;               // that each rank sends
    Nanoseconds beginning = 0;          // until the first of them leaves
    std::vector<Processing> processed;  // what comes
    std::vector<Step> steps;            // one for each message, or one for all; or those of a half
    bool leaves_together = false;
    int64_t convoys = 0;
    // Of the convoy that was computed last:
    std::vector<Nanoseconds> begins;
    std::vector<int64_t> turns;
    uint32_t twins = 0;
  };
  /// The ranks of a phase that have begun it.
  struct Convoy {
    uint32_t course;
    int32_t missing;
    std::vector<Nanoseconds> begins;
    std::vector<int64_t> turns;  // the order of all that began
    std::vector<uint32_t> streams;
  };
  struct Key {
    uint32_t tag, step;
    int32_t base, stride;
    const int32_t* members;

    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  void join(const PhasePlan& plan, uint32_t course, uint32_t stream, const Key& key);
  void run(const Convoy& convoy);
  using Times = std::vector<Nanoseconds>;
  static Times ends(const Course& course, Times sent);
  Times ends_in_line(const Course& course, Times sent);
  Times ends_together(const Course& course, const Times& sent);
  bool are_twins(const Course& course, const Convoy& convoy) const;
  uint32_t course_of(const PhasePlan& plan, bool fixed_delay);
  bool lay_out(Course& course) const;
  template <typename PeersOf>
  bool lay_out(Course& course, const Rounds& rounds, PeersOf&& peers_of) const;
  template <typename Peers, typename At>
  bool lay_out_steps(Course& course, At&& at) const;
  template <typename Peers>
  bool lay_out_processing(Course& course, const Rounds& rounds, Peers arriving) const;

  Engine& engine_;
  bool has_failed_ = false;
  std::vector<Course> courses_;
  std::unordered_map<Key, Convoy, Hash> convoys_;
  std::unordered_map<uint32_t, int32_t> caller_of_;  // the group that has a tag, -1: everybody
  // With congestion: when the links from a rank, and to it from a switch, have sent all that came so far.
  std::vector<Nanoseconds> free_from_, free_to_;
  std::vector<Nanoseconds> touched_;
  int64_t turn_ = 0;
  uint32_t twins_ = 0;
};

}  // namespace hocket::simulator::astra
