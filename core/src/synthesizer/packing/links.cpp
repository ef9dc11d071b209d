#include "links.hpp"

#include <algorithm>

#include "hocket/error.hpp"

namespace hocket::synthesizer {

PackingLinks::PackingLinks(const topology::Graph& graph, const Slots& slots, RootedFlows& flows)
    : graph_(graph), slots_(slots), flows_(flows) {
  for (const topology::Link& link : graph.links()) {
    const auto [found, fresh] = arc_.try_emplace({link.src, link.dst}, RootedFlows::kNone);
    if (fresh) found->second = flows.add_arc(link.src, link.dst, 0);
    shares(found->second).push_back({static_cast<int32_t>(ways_.size()), 0});
    ways_.push_back({static_cast<int32_t>(ways_.size()), RootedFlows::kNone});
  }
}

std::vector<PackingLinks::Share>& PackingLinks::shares(int32_t arc) {
  // Arcs that the flows add for sources and classes have no links; they need no shares either.
  if (arc >= std::ssize(shares_)) shares_.resize(arc + 1);
  return shares_[arc];
}

PackingLinks::Share& PackingLinks::last_share(int32_t arc) {
  while (shares_[arc].back().slots == 0) shares_[arc].pop_back();
  return shares_[arc].back();
}

void PackingLinks::set_period(Picoseconds period) {
  for (const auto& [ends, arc] : arc_) {
    Amount slots = 0;
    for (Share& share : shares(arc)) slots += share.slots = slots_of(share.way, period);
    flows_.raise(arc, slots);
  }
}

Picoseconds PackingLinks::period_for(const std::vector<bool>& inside, Amount wanted, Picoseconds least) const {
  std::vector<int32_t> leaving;
  for (int32_t id = 0; id < std::ssize(graph_.links()); id++) {
    const topology::Link& link = graph_.links()[id];
    if (inside[link.src] && !inside[link.dst] && slots_.held[id] != kNever) leaving.push_back(id);
  }
  if (leaving.empty()) return kNever;
  const auto suffices = [&](Picoseconds period) {
    __int128 slots = 0;
    for (const int32_t link : leaving) slots += slots_of(link, period);
    return slots >= wanted;
  };
  // Slots of a period are a sum of floors: monotone, but no formula turns it round. Bisection, exact in integers.
  Picoseconds early = least, late = std::max<Picoseconds>(least, 1);
  while (!suffices(late)) late = within_horizon(late * 2);
  while (early + 1 < late) {
    const Picoseconds middle = early + (late - early) / 2;
    (suffices(middle) ? late : early) = middle;
  }
  return late;
}

PackingLinks::Amount PackingLinks::split_off(int32_t in, int32_t out, Amount most) {
  const int32_t from = flows_.from(in), to = flows_.to(out);
  int32_t joined = RootedFlows::kNone;
  if (from != to) {
    const auto [found, fresh] = arc_.try_emplace({from, to}, RootedFlows::kNone);
    if (fresh) found->second = flows_.add_arc(from, to, 0);
    joined = found->second;
    // Grown now, since references into `shares_` are held below.
    shares(joined);
  }
  const Amount split = flows_.shift(in, out, joined, most);
  // Which ways the capacity consists of does not matter to the flows; taking the last ones keeps whole runs together,
  // so that few distinct routes come out.
  for (Amount left = split; left > 0;) {
    Share &first = last_share(in), &second = last_share(out);
    const Amount slots = std::min({left, first.slots, second.slots});
    if (joined != RootedFlows::kNone) {
      shares_[joined].push_back({static_cast<int32_t>(ways_.size()), slots});
      ways_.push_back({first.way, second.way});
    }
    first.slots -= slots;
    second.slots -= slots;
    left -= slots;
  }
  return split;
}

int32_t PackingLinks::take(int32_t arc) {
  Share& share = last_share(arc);
  const auto [found, fresh] = route_of_way_.try_emplace(share.way, static_cast<int32_t>(routes_.size()));
  if (fresh) routes_.push_back(share.way);
  share.slots--;
  return found->second;
}

void PackingLinks::append(int32_t way, std::vector<int32_t>& links) const {
  if (ways_[way].second != RootedFlows::kNone) {
    append(ways_[way].first, links);
    append(ways_[way].second, links);
    return;
  }
  // Splitting off at several switches may join a link to one that leads back; the loop carries nothing anywhere.
  // Coming back to where it has been, a way leaves out the loop.
  const int32_t to = graph_.links()[way].dst;
  const auto loop = std::ranges::find(links, to, [&](int32_t link) { return graph_.links()[link].src; });
  if (loop == links.end()) {
    links.push_back(way);
  } else {
    links.erase(loop, links.end());
  }
}

void PackingLinks::write_routes(Packing& packing) const {
  packing.route_offset.assign(1, 0);
  for (const int32_t way : routes_) {
    std::vector<int32_t> links;
    append(way, links);
    packing.route_links.insert(packing.route_links.end(), links.begin(), links.end());
    packing.route_offset.push_back(std::ssize(packing.route_links));
  }
}

}  // namespace hocket::synthesizer
