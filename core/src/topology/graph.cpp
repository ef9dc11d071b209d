#include "hocket/topology/graph.hpp"

#include <string>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::topology {
namespace {

/// Groups link ids by one of their ends (counting sort: ids stay ascending within a node).
void group_by(int32_t num_nodes, const std::vector<Link>& links, int32_t Link::* end, std::vector<int32_t>& ids,
              std::vector<int32_t>& offset) {
  offset.assign(num_nodes + 1, 0);
  for (const Link& link : links) offset[link.*end + 1]++;
  for (int32_t node = 0; node < num_nodes; node++) offset[node + 1] += offset[node];
  ids.resize(links.size());
  std::vector<int32_t> next(offset.begin(), offset.end() - 1);
  for (size_t id = 0; id < links.size(); id++) ids[next[links[id].*end]++] = static_cast<int32_t>(id);
}

}  // namespace

Graph::Graph(int32_t num_ranks, int32_t num_nodes, std::vector<Link> links, std::vector<int32_t> in_network)
    : num_ranks_(num_ranks), num_nodes_(num_nodes), links_(std::move(links)), in_network_(std::move(in_network)) {
  if (num_ranks < 1 || num_nodes < num_ranks) {
    throw TopologyError("a topology needs at least one rank, got " + std::to_string(num_ranks) + " ranks of " +
                        std::to_string(num_nodes) + " nodes");
  }
  Bandwidth total = 0;
  for (size_t id = 0; id < links_.size(); id++) {
    const Link& link = links_[id];
    const auto fail = [&](const std::string& problem) {
      throw TopologyError("link " + std::to_string(id) + " (" + std::to_string(link.src) + " -> " +
                          std::to_string(link.dst) + ")" + problem);
    };
    if (link.src < 0 || link.src >= num_nodes || link.dst < 0 || link.dst >= num_nodes) {
      fail(" leaves the nodes 0.." + std::to_string(num_nodes - 1));
    }
    if (link.src == link.dst) fail(" connects a node to itself");
    if (link.bandwidth <= 0) fail(": bandwidth must be positive");
    // Sums over any set of links then fit 64 bits, and no cut needs to look for overflow.
    if (__builtin_add_overflow(total, link.bandwidth, &total)) {
      fail(": the bandwidths of all links together must be below 2^63 bytes/s");
    }
    if (link.latency_ps < 0) fail(": latency must not be negative");
    if (link.latency_ps > kHorizon) fail(": latency must not be more than 26 days");
  }
  computes_.resize(num_nodes - num_ranks);
  for (const int32_t node : in_network_) {
    if (node < num_ranks || node >= num_nodes) {
      throw TopologyError("in_network: node " + std::to_string(node) + " is no switch; switches are the nodes " +
                          std::to_string(num_ranks) + " to " + std::to_string(num_nodes - 1));
    }
    computes_[node - num_ranks] = true;
  }
  group_by(num_nodes, links_, &Link::src, out_, out_offset_);
  group_by(num_nodes, links_, &Link::dst, in_, in_offset_);
}

Graph Graph::reversed() const {
  std::vector<Link> turned = links_;
  for (Link& link : turned) std::swap(link.src, link.dst);
  return Graph(num_ranks_, num_nodes_, std::move(turned), in_network_);
}

}  // namespace hocket::topology
