#pragma once

#include <cstdint>
#include <vector>

#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// Whom a link serves next when several messages wait for it. A message that is being served is not interrupted.
enum class Queueing : uint8_t {
  kFifo,               // the head that came first
  kLifo,               // the head that came last
  kPriority,           // the highest priority; of these the head that came first
  kSmallestRemaining,  // the collective (single message) with the fewest bytes to deliver; of its messages the first
};

/// How each link of a topology works.
struct LinkSettings {
  /// Whether the far end passes a message on only when it has all of it, not as soon as its head is there. The far end
  /// of a link to a rank always does.
  std::vector<uint8_t> stores;
  std::vector<Queueing> queueing;
  /// Every message stands for so many that take the same links at the same times, as those of copies of a program do.
  int64_t alike = 1;

  /// Cut-through and first come, first served everywhere.
  static LinkSettings plain(const topology::Graph& graph) {
    return {std::vector<uint8_t>(graph.links().size(), 0),
            std::vector<Queueing>(graph.links().size(), Queueing::kFifo)};
  }
};

/// What one link did in a simulation.
struct LinkUse {
  Picoseconds busy_ps = 0;
  int64_t bytes = 0;
  int64_t messages = 0;
};

/// The links as a model sees them, with their use.
class Links {
 public:
  Links(const topology::Graph& graph, const LinkSettings& settings) {
    for (const topology::Link& link : graph.links()) {
      const size_t at = states_.size();
      const bool stores = settings.stores[at] || !graph.is_switch(link.dst);
      states_.push_back({link.latency_ps, link.bandwidth, stores, settings.queueing[at]});
    }
  }

  struct State {
    Picoseconds latency_ps;
    Bandwidth bandwidth;
    bool stores;
    Queueing queueing;
    Picoseconds free_at = 0;
    int64_t last_bytes = 0;  // serialization of the last size seen: sizes repeat, and the division is slow
    Picoseconds last_ps = 0;
    LinkUse use{};

    /// Time the link works on so many bytes.
    Picoseconds serialization(int64_t bytes) {
      if (bytes != last_bytes) {
        last_bytes = bytes;
        last_ps = serialization_ps(bytes, bandwidth);
      }
      return last_ps;
    }

    /// Time the link works on a message of this size, counted as use.
    Picoseconds take(int64_t bytes) {
      serialization(bytes);
      use.busy_ps = add_ps(use.busy_ps, last_ps);
      use.bytes += bytes;
      use.messages++;
      return last_ps;
    }
  };

  State& operator[](int32_t link) { return states_[link]; }
  const std::vector<State>& states() const { return states_; }

 private:
  std::vector<State> states_;
};

}  // namespace hocket::simulator
