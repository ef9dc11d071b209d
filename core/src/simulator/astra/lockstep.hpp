#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "phase.hpp"

namespace hocket::simulator::astra {

struct Engine;

/// All ranks do the same at the same time, so that one of them is all: for every message that it sends it receives one
/// that took as long. A phase is then a matter of its own rank, and lasts the same whenever it runs.
///
/// That holds while messages wait for no other on their way, and while the order of what a rank does at one instant
/// does not matter (`Ties`), as it is not the same on all ranks.
///
/// What it gains: a symmetric job of thousands of ranks costs as much as one rank. Where it cannot prove itself right
/// the full simulation runs, so results never depend on it; tests compare the two.
class Lockstep {
 public:
  explicit Lockstep(Engine& engine) : engine_(engine) {}

  /// Whether a workload, of one rank, can be in step at all: nobody is addressed, and nothing is shared.
  static bool suits(const Engine& engine);

  /// A phase that does nothing but last as long as `plan` takes; `beginning` is the cause that begins it.
  std::unique_ptr<Phase> make_phase(const PhasePlan& plan, uint32_t beginning, const Endpoint& endpoint);

  /// Counts the messages of all ranks.
  void count() const;

 private:
  struct Sent {
    int32_t to;
    int64_t bytes;
    int64_t messages;
  };
  /// What a phase comes to.
  struct Course {
    PhasePlan plan{};
    Nanoseconds duration = 1;
    bool is_certain = true;  // the same in any order of what happens at one instant
    std::vector<Sent> sent;  // by the first rank
    int64_t phases = 0;
  };
  class Rehearsal;

  Course& course_of(const PhasePlan& plan);

  Engine& engine_;
  std::vector<Course> courses_;
};

}  // namespace hocket::simulator::astra
