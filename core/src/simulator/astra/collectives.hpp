#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "phase.hpp"
#include "streams.hpp"

namespace hocket::simulator::astra {

/// Turns collectives into streams: chunks, their phases, and the queues that these take.
class Collectives {
 public:
  explicit Collectives(Engine& engine);

  /// Starts a collective node on its rank. Returns the number of streams; 0: nobody takes part.
  int64_t start(int32_t rank, uint32_t node);

 private:
  /// Where the queues of a dimension are at, on one rank.
  struct Turns {
    int32_t any = 0, first = 0, second = 0;
  };
  /// A rank's state in a communicator group.
  struct Membership {
    int64_t next_stream;
    std::array<int32_t, kNumKinds> custom;  // of the first collective of a kind, which all later ones of it follow
    std::array<bool, kNumKinds> is_planned{};
  };
  /// What a collective runs on: one logical dimension or all of the network's.
  struct Layout {
    std::vector<Implementation> implementations;
    std::vector<LogicalRing> rings;
  };
  struct QueueTurn {
    int32_t queue;
    int32_t direction;
  };

  Layout layout(int32_t rank, Kind kind, const Group* group) const;
  std::vector<PhasePlan> phases(int32_t rank, Kind kind, const Layout& layout, uint32_t dimensions, int64_t bytes);
  void add_phase(std::vector<PhasePlan>& plans, int32_t rank, Kind kind, Kind tree, const Layout& layout, int dimension,
                 QueueTurn turn, int64_t& bytes);
  QueueTurn any_queue(int32_t rank, int dimension);
  QueueTurn queue_of_first_half(int32_t rank, int dimension);
  QueueTurn queue_of_second_half(int32_t rank, int dimension);
  int64_t priority(int32_t rank, uint32_t node);
  uint32_t next_tag(int32_t rank, Membership* membership);
  Membership* membership(int32_t rank, int32_t group);
  Turns& turns(int32_t rank, int dimension) { return turns_[rank * num_dimensions_ + dimension]; }

  Engine& engine_;
  int num_dimensions_;
  std::vector<Turns> turns_;
  std::vector<uint8_t> tree_turns_;  // of each rank, kind and dimension
  std::vector<int64_t> priorities_, next_streams_;
  std::unordered_map<uint64_t, Membership> memberships_;
};

}  // namespace hocket::simulator::astra
