#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <tuple>

#include "hocket/error.hpp"
#include "hocket/topology/cut.hpp"
#include "hocket/topology/measures.hpp"

namespace hocket::topology {
namespace {

/// When a piece can be at each node at the earliest: its first byte, and all of it.
///
/// The latency part of the lower bounds: a chunk that meets nobody else. A rank forwards when it has all of it, unless
/// `forwarding` allows cutting through; a switch always cuts through.
class Spreading {
 public:
  Spreading(const Graph& graph, int64_t bytes, std::span<const int32_t> targets, Forwarding forwarding)
      : graph_(graph),
        forwarding_(forwarding),
        is_target_(graph.num_nodes()),
        first_(graph.num_nodes()),
        whole_(graph.num_nodes()) {
    for (const int32_t rank : targets) is_target_[rank] = true;
    num_targets_ = std::ranges::count(is_target_, true);
    for (const Link& link : graph.links()) serialization_.push_back(serialization_ps(bytes, link.bandwidth));
  }

  /// Dijkstra over both times of every node. The whole is at a node at the later of two times: when the whole left the
  /// node before, and when the first byte left there plus the link's serialization. First bytes are never later, so
  /// they are settled by then. Taking the least of each time on its own can only make the bound lower.
  Picoseconds farthest_target(int32_t source) {
    std::fill(first_.begin(), first_.end(), kNever);
    std::fill(whole_.begin(), whole_.end(), kNever);
    offer(source, Part::kFirst, 0);
    offer(source, Part::kWhole, 0);
    int64_t missing = num_targets_;
    while (!queue_.empty()) {
      const auto [time, part, node] = queue_.top();
      queue_.pop();
      if (time > times(part)[node]) continue;
      if (part == Part::kFirst) {
        send_first(node, time);
        continue;
      }
      if (!cuts_through(node)) {
        first_[node] = time;
        send_first(node, time);
      }
      for (const int32_t id : graph_.out_links(node)) {
        const Link& link = graph_.links()[id];
        const Picoseconds last_byte = std::max(time, add_ps(first_[node], serialization_[id]));
        offer(link.dst, Part::kWhole, add_ps(last_byte, link.latency_ps));
      }
      if (is_target_[node] && --missing == 0) {
        queue_ = {};
        return time;
      }
    }
    std::vector<bool> reached(graph_.num_ranks());
    for (int32_t rank = 0; rank < graph_.num_ranks(); rank++) reached[rank] = whole_[rank] != kNever;
    throw Infeasible("rank " + std::to_string(source) + " cannot reach every rank it must: " + describe_cut(reached));
  }

 private:
  enum class Part { kFirst, kWhole };  // in the order they are settled in at equal times

  bool cuts_through(int32_t node) const { return graph_.is_switch(node) || forwarding_ == Forwarding::kCutThrough; }
  std::vector<Picoseconds>& times(Part part) { return part == Part::kFirst ? first_ : whole_; }

  void offer(int32_t node, Part part, Picoseconds time) {
    if (time >= times(part)[node]) return;
    times(part)[node] = time;
    queue_.emplace(time, part, node);
  }

  void send_first(int32_t node, Picoseconds time) {
    for (const int32_t id : graph_.out_links(node)) {
      const Link& link = graph_.links()[id];
      if (cuts_through(link.dst)) offer(link.dst, Part::kFirst, add_ps(time, link.latency_ps));
    }
  }

  const Graph& graph_;
  Forwarding forwarding_;
  std::vector<bool> is_target_;
  int64_t num_targets_ = 0;
  std::vector<Picoseconds> serialization_;  // of a link
  std::vector<Picoseconds> first_, whole_;  // of a node
  using Entry = std::tuple<Picoseconds, Part, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::vector<Picoseconds> eccentricity_ps(const Graph& graph, int64_t bytes, std::span<const int32_t> sources,
                                         std::span<const int32_t> targets, Forwarding forwarding) {
  if (bytes < 0) throw TopologyError("eccentricity: bytes must not be negative");
  for (const auto ranks : {sources, targets}) {
    for (const int32_t rank : ranks) {
      if (rank >= 0 && rank < graph.num_ranks()) continue;
      throw TopologyError("eccentricity: " + std::to_string(rank) + " is not a rank of 0.." +
                          std::to_string(graph.num_ranks() - 1));
    }
  }
  Spreading spreading(graph, bytes, targets, forwarding);
  std::vector<Picoseconds> result;
  for (const int32_t source : sources) result.push_back(spreading.farthest_target(source));
  return result;
}

}  // namespace hocket::topology
