#include <algorithm>
#include <functional>

#include "links.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;

/// From the inside out, the pairs that are split off still meet switches further out, and ranks at the end.
/// The switches, those with the longest ways to a rank first.
std::vector<int32_t> inner_switches_first(const Graph& graph) {
  std::vector<int32_t> order, distance(graph.num_nodes(), 0);
  for (int32_t node = 0; node < graph.num_ranks(); node++) order.push_back(node);
  for (size_t at = 0; at < order.size(); at++) {
    for (const int32_t id : graph.out_links(order[at])) {
      const int32_t next = graph.links()[id].dst;
      if (!graph.is_switch(next) || distance[next] > 0) continue;
      distance[next] = distance[order[at]] + 1;
      order.push_back(next);
    }
  }
  order.erase(order.begin(), order.begin() + graph.num_ranks());
  std::ranges::stable_sort(order, std::greater<>(), [&](int32_t node) { return distance[node]; });
  return order;
}

/// A switch is removed by joining each unit that enters it to a unit that leaves it. Where both sides have equally
/// much, Mader's theorem says that some pair can always be joined without lessening any flow; the sweeps find the
/// pairs, and small grains spread them evenly.
class Splitter {
 public:
  Splitter(RootedFlows& flows, PackingLinks& links) : flows_(flows), links_(links) {}

  /// False when something is left that no pair can take.
  bool remove(int32_t node, int64_t grain) {
    in_.clear();
    out_.clear();
    for (const int32_t mark : flows_.at(node)) {
      const int32_t arc = mark >= 0 ? mark : ~mark;
      if (flows_.capacity(arc) > 0) (mark >= 0 ? out_ : in_).push_back(arc);
    }
    std::ranges::sort(in_, {}, [&](int32_t arc) { return flows_.from(arc); });
    std::ranges::sort(out_, {}, [&](int32_t arc) { return flows_.to(arc); });
    while (sweep(grain)) {
    }
    sweep(RootedFlows::kUnlimited);
    return left(in_) == 0 || left(out_) == 0;
  }

 private:
  /// Splits off every pair once, those of one displacement side by side: whether there was anything to split off.
  bool sweep(int64_t most) {
    bool any = false;
    for (size_t shift = 1; shift <= out_.size(); shift++) {
      for (size_t at = 0; at < in_.size(); at++) {
        const int32_t in = in_[at], out = out_[(at + shift) % out_.size()];
        if (flows_.capacity(in) > 0 && flows_.capacity(out) > 0) any |= links_.split_off(in, out, most) > 0;
      }
    }
    return any;
  }
  int64_t left(const std::vector<int32_t>& arcs) const {
    int64_t capacity = 0;
    for (const int32_t arc : arcs) capacity += flows_.capacity(arc);
    return capacity;
  }

  RootedFlows& flows_;
  PackingLinks& links_;
  std::vector<int32_t> in_, out_;
};

}  // namespace

bool remove_switches(const Graph& graph, RootedFlows& flows, PackingLinks& links, int64_t grain) {
  Splitter splitter(flows, links);
  return std::ranges::all_of(inner_switches_first(graph), [&](int32_t node) { return splitter.remove(node, grain); });
}

}  // namespace hocket::synthesizer
