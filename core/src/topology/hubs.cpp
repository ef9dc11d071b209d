#include "hubs.hpp"

namespace hocket::topology {
namespace {

constexpr size_t kManyLinks = 64;  // from which on a switch is a hub
constexpr int32_t kNoHub = -1, kSeveralHubs = -2;

}  // namespace

Hubs::Hubs(const Graph& graph) : graph_(graph), hub_(graph.num_nodes(), -1), part_(graph.num_nodes(), -1) {
  int32_t num_hubs = 0;
  for (int32_t node = graph.num_ranks(); node < graph.num_nodes(); node++) {
    if (graph.in_links(node).size() >= kManyLinks) hub_[node] = num_hubs++;
  }
  hubs_.resize(num_hubs);
  if (num_hubs == 0) return;
  const std::vector<int32_t> touched = divide();
  for (int32_t node = graph.num_ranks(); node < graph.num_nodes(); node++) {
    if (hub_[node] < 0) continue;
    Hub& hub = hubs_[hub_[node]];
    for (const int32_t link : graph.in_links(node)) {
      const int32_t part = part_[graph.links()[link].src];
      if (part < 0 || touched[part] == kSeveralHubs) {
        hub.through.push_back(link);
      } else {
        hub.from.emplace_back(part, link);
      }
    }
    std::ranges::sort(hub.from);
  }
}

std::vector<int32_t> Hubs::divide() {
  std::vector<int32_t> touched(graph_.num_ranks(), kNoHub), left;
  for (int32_t rank = 0; rank < graph_.num_ranks(); rank++) part_[rank] = rank;
  const auto reach = [&](int32_t node, int32_t part) {
    if (hub_[node] >= 0) {
      int32_t& hub = touched[part];
      hub = hub == kNoHub || hub == hub_[node] ? hub_[node] : kSeveralHubs;
    } else if (part_[node] < 0) {
      part_[node] = part;
      left.push_back(node);
    }
  };
  for (int32_t first = graph_.num_ranks(); first < graph_.num_nodes(); first++) {
    if (hub_[first] >= 0 || part_[first] >= 0) continue;
    const auto part = static_cast<int32_t>(touched.size());
    touched.push_back(kNoHub);
    reach(first, part);
    while (!left.empty()) {
      const int32_t node = left.back();
      left.pop_back();
      for (const int32_t link : graph_.out_links(node)) reach(graph_.links()[link].dst, part);
      for (const int32_t link : graph_.in_links(node)) reach(graph_.links()[link].src, part);
    }
  }
  return touched;
}

std::vector<int32_t> Hubs::parts_of(std::span<const int32_t> nodes) const {
  std::vector<int32_t> parts;
  if (hubs_.empty()) return parts;
  for (const int32_t node : nodes) {
    parts.push_back(part_[node]);
    for (const int32_t link : graph_.out_links(node)) parts.push_back(part_[graph_.links()[link].dst]);
  }
  std::ranges::sort(parts);
  const auto [first, last] = std::ranges::unique(parts);
  parts.erase(first, last);
  return parts;
}

}  // namespace hocket::topology
