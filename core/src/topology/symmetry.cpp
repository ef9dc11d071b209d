#include "hocket/topology/symmetry.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "hocket/columns.hpp"

namespace hocket::topology {

// Checked, not assumed: a permutation of nodes is a symmetry only if every link has an image with the same latency,
// bandwidth and class. Parallel links between two nodes are told apart by their order only, as they are alike.
std::vector<int32_t> link_images(const Graph& graph, std::span<const int32_t> images,
                                 std::span<const int32_t> link_class) {
  check_size(images.size(), graph.num_nodes(), "the images of nodes");
  check_ids(images, graph.num_nodes(), "the images of nodes");
  check_size(link_class.size(), graph.links().size(), "the classes of links");
  const std::vector<Link>& links = graph.links();
  std::vector<int32_t> result(links.size());
  std::vector<std::pair<int32_t, int32_t>> from, to;  // (where it leads, link)
  for (int32_t node = 0; node < graph.num_nodes(); node++) {
    from.clear();
    to.clear();
    for (const int32_t link : graph.out_links(node)) from.emplace_back(images[links[link].dst], link);
    for (const int32_t link : graph.out_links(images[node])) to.emplace_back(links[link].dst, link);
    if (from.size() != to.size()) return {};
    std::ranges::sort(from);
    std::ranges::sort(to);
    for (size_t i = 0; i < from.size(); i++) {
      const Link &before = links[from[i].second], &after = links[to[i].second];
      if (from[i].first != to[i].first || before.latency_ps != after.latency_ps ||
          before.bandwidth != after.bandwidth || link_class[from[i].second] != link_class[to[i].second]) {
        return {};
      }
      result[from[i].second] = to[i].second;
    }
  }
  return result;
}

// Orbits by breadth-first search over the generators; no group is ever spelled out, whose order may be astronomic.
std::vector<int32_t> least_images(int64_t size, std::span<const int32_t> generators) {
  check_within(size, 0, std::numeric_limits<int32_t>::max(), "the numbers that generators move");
  check_ids(generators, size, "the images of numbers");
  check_size(generators.size(), size == 0 ? 0 : generators.size() / size * size, "the images of numbers");
  std::vector<int32_t> least(size, -1), reached;
  for (int32_t first = 0; first < size; first++) {
    if (least[first] >= 0) continue;
    least[first] = first;
    reached.assign(1, first);
    while (!reached.empty()) {
      const int32_t at = reached.back();
      reached.pop_back();
      for (size_t begin = 0; begin < generators.size(); begin += size) {
        const int32_t image = generators[begin + at];
        if (least[image] >= 0) continue;
        least[image] = first;
        reached.push_back(image);
      }
    }
  }
  return least;
}

}  // namespace hocket::topology
