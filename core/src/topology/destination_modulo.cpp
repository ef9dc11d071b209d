#include "destination_modulo.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hocket::topology {
namespace {

constexpr int64_t kMostSearches = 8;
constexpr uint64_t kNoMore = uint64_t{1} << 32;  // more choices than there are numbers

bool has_choice(const Graph& graph, std::span<const int32_t> links, int32_t node) {
  // Cables side by side to a rank's one switch are no choice among switches above.
  const auto to = [&](int32_t id) { return graph.links()[id].dst; };
  return links.size() > 1 &&
         (graph.is_switch(node) || std::ranges::any_of(links, [&](int32_t id) { return to(id) != to(links.front()); }));
}

/// Of each end the first node on its way to others that has a choice: the leaf switch that it is behind, whatever else
/// it is on, such as the switch of its machine; -1: none. What is beside one end has no choice on the way to it, so
/// that others are asked until all have one.
std::vector<int32_t> leaves(const Graph& graph, const std::vector<Picoseconds>& cost, std::span<const int32_t> ends) {
  std::vector<int32_t> leaf(ends.size(), -1);
  const auto count = std::ssize(ends);
  auto missing = count;
  for (int64_t search = 0; missing > 0 && search < std::min(kMostSearches, count); search++) {
    // The last one after the first: clusters are numbered machine by machine.
    const int64_t stride = std::max<int64_t>(1, count * 5 / 8);
    const int32_t there = ends[search == 1 ? count - 1 : search * stride % count];
    const NextLinks next = next_links(graph, cost, there, Forwarders::kAny, ends, true);
    for (int64_t at = 0; at < count; at++) {
      int32_t node = ends[at];
      if (leaf[at] >= 0 || next.lowest[node] < 0) continue;
      while (node != there && !has_choice(graph, next.of(node), node)) node = graph.links()[next.lowest[node]].dst;
      if (node == there) continue;
      leaf[at] = node;
      missing--;
    }
    if (search > 0 && missing == count) break;  // there is nothing to choose
  }
  return leaf;
}

/// Numbers ends leaf by leaf: that spreads the ends of a leaf over all that is above it, however ranks are numbered.
void count(const Graph& graph, const std::vector<Picoseconds>& cost, std::span<const int32_t> ends,
           std::vector<int32_t>& number) {
  const std::vector<int32_t> leaf = leaves(graph, cost, ends);
  std::vector<size_t> order(ends.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t at) { return leaf[at]; });
  for (size_t place = 0; place < order.size(); place++) number[ends[order[place]]] = static_cast<int32_t>(place);
}

}  // namespace

DestinationModulo::DestinationModulo(const Graph& graph, const std::vector<Picoseconds>& cost, bool ports)
    : graph_(graph), number_(graph.num_nodes()) {
  std::iota(number_.begin(), number_.end(), 0);
  std::vector<int32_t> ends(graph.num_ranks());
  std::iota(ends.begin(), ends.end(), 0);
  count(graph, cost, ends, number_);
  if (!ports) return;
  ends.clear();
  for (int32_t node = graph.num_ranks(); node < graph.num_nodes(); node++) {
    if (graph.out_links(node).size() == 1 && graph.in_links(node).size() == 1) ends.push_back(node);
  }
  count(graph, cost, ends, number_);
}

void DestinationModulo::walk(const NextLinks& next, int32_t src, int32_t dst, std::vector<int32_t>& links) {
  const auto number = static_cast<uint64_t>(number_[dst]);
  route_.assign(1, src);
  product_.assign(1, 1);
  uint64_t product = 1;
  for (bool down = false; route_.back() != dst;) {
    const int32_t node = route_.back();
    // Who may choose on the way down chooses where to come in, as the other end does where to go out.
    if (!down && 2 * next.distance[node] <= next.distance[src]) {
      down = true;
      product = 1;
    }
    const Step taken = step(next.of(node), number / product);
    product = std::min(product * taken.choices, kNoMore);
    route_.push_back(taken.node);
    product_.push_back(product);
  }
  const size_t hops = route_.size() - 1;
  for (size_t hop = 0; hop < hops; hop++) {
    cables_.clear();
    for (const int32_t id : next.of(route_[hop])) {
      if (to(id) == route_[hop + 1]) cables_.push_back(id);
    }
    // The lower end of a hop is as far from the nearer end of the route as that has choices below it.
    links.push_back(cables_[number / product_[std::min(hop, hops - 1 - hop) + 1] % cables_.size()]);
  }
}

DestinationModulo::Step DestinationModulo::step(std::span<const int32_t> links, uint64_t quotient) {
  if (links.size() == 1) return {to(links.front()), 1};
  cables_.clear();
  for (const int32_t id : links) cables_.push_back(to(id));
  std::ranges::sort(cables_);
  places_.clear();
  uint64_t choices = 0;
  for (const int32_t node : cables_) {
    const bool another = !places_.empty() && places_.back().second == node;
    choices += another ? 0 : 1;
    places_.emplace_back(another ? places_.back().first + 1 : 0, node);
  }
  // The first cables of all nodes, then the second ones: who has more of them gets more.
  std::ranges::sort(places_);
  return {places_[quotient % places_.size()].second, choices};
}

}  // namespace hocket::topology
