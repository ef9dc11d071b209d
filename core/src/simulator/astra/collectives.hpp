#pragma once

#include <array>
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

  /// Number of the next stream that the rank starts for everybody.
  int64_t next_stream(int32_t rank) const { return next_streams_[rank]; }

 private:
  /// Where the queues of a dimension are at, on one rank.
  struct Turns {
    int32_t any = 0, first = 0, second = 0;
  };
  /// A rank's state in a communicator group.
  struct Membership {
    int64_t next_stream;
    std::array<int32_t, kNumKinds> custom{};
    std::array<bool, kNumKinds> is_planned{};

    /// The custom collective of a call: the first call of a kind decides for all later ones.
    int32_t plan(Kind kind, int32_t of_call) {
      const auto at = static_cast<size_t>(kind);
      if (!is_planned[at]) custom[at] = of_call;
      is_planned[at] = true;
      return custom[at];
    }
  };
  /// A collective node as its rank issues it.
  struct Call {
    int32_t rank;
    uint32_t node;
    Kind kind;
    const Group* group;  // null: everybody
    Membership* member;  // of the rank in the group
    int64_t priority;
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

  int64_t start_custom(const Call& call, const Program& custom);
  int64_t start_chunks(const Call& call);
  Stream stream_of(const Call& call);
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
