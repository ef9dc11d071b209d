#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// A network in which everything that leaves one source can reach each of some sinks, one at a time: with the flow that
/// shows it for each sink. Capacities change; the flows are kept and repaired, which is far less work than finding them
/// anew. Integers throughout. What a sink gets from different origins is told apart by an arc each out of the source.
///
/// Invariant: between calls, the flow to every sink conserves at all other nodes, keeps to the capacities, and is as
/// large as what was sent to it; whoever lowers a capacity repairs the flows first.
class RootedFlows {
 public:
  using Amount = int64_t;
  /// A capacity that never binds.
  static constexpr Amount kUnlimited = std::numeric_limits<Amount>::max() / 4;
  static constexpr int32_t kNone = -1;

  /// Nodes 0..num_nodes-1, of which the first `num_sinks` are sinks, and the source `num_nodes`.
  RootedFlows(int32_t num_nodes, int32_t num_sinks, const Stop& stop);

  int32_t source() const { return source_; }
  int32_t num_sinks() const { return static_cast<int32_t>(flow_.size()); }
  int32_t add_node();
  int32_t add_arc(int32_t from, int32_t to, Amount capacity);
  int32_t from(int32_t arc) const { return from_[arc]; }
  int32_t to(int32_t arc) const { return to_[arc]; }
  Amount capacity(int32_t arc) const { return capacity_[arc]; }
  /// Arcs out of and into a node, the latter marked by their complement (~arc), in the order in which they were added.
  const std::vector<int32_t>& at(int32_t node) const { return at_[node]; }

  /// Sets a capacity that no flow exceeds.
  void raise(int32_t arc, Amount capacity) { capacity_[arc] = capacity; }
  /// Sends up to `wanted` more from the source to the sink; how much that is.
  Amount send(int32_t sink, Amount wanted) { return augment(sink, source_, sink, wanted); }
  /// After a `send` that sent less than was wanted: whether the node lies on the source's side of the minimum cut.
  bool on_source_side(int32_t node) const { return reached_by_[node] != kUnreached; }

  /// Moves capacity from the arc `less`, and the arc `less_too` unless that is kNone, to the arc `more` (kNone: to
  /// nowhere): up to `most`, as much as leaves every sink what is sent to it. How much that is.
  Amount shift(int32_t less, int32_t less_too, int32_t more, Amount most);
  /// Takes `amount` of what a node is supplied with on `supply`, its only arc in, to a new node with the same arcs out
  /// but for `without`, and lifts the limit of that one. The flow over `without` stays. The new node's supply.
  int32_t divide(int32_t supply, int32_t without, Amount amount);

 private:
  static constexpr int32_t kUnreached = std::numeric_limits<int32_t>::min();

  Amount residual(int32_t sink, int32_t mark) const {
    return mark >= 0 ? capacity_[mark] - flow_[sink][mark] : flow_[sink][~mark];
  }
  int32_t head(int32_t mark) const { return mark >= 0 ? to_[mark] : from_[~mark]; }
  int32_t tail(int32_t mark) const { return head(~mark); }
  bool reach(int32_t sink, int32_t from, int32_t to);
  /// More flow between two nodes, by shortest augmenting paths.
  Amount augment(int32_t sink, int32_t from, int32_t to, Amount wanted);
  /// Leads the flow that exceeds the arc's capacity another way; what finds none stays, and is returned.
  Amount repair(int32_t sink, int32_t arc);

  const Stop& stop_;
  int32_t source_;
  std::vector<int32_t> from_, to_;
  std::vector<Amount> capacity_;
  std::vector<std::vector<int32_t>> at_;     // [node]
  std::vector<std::vector<Amount>> flow_;    // [sink][arc]
  std::vector<int32_t> reached_by_, queue_;  // of the last search: [node] the mark that led there
  int32_t strictest_ = 0;                    // the sink that last limited a shift
};

}  // namespace hocket::synthesizer
