#include <algorithm>
#include <map>
#include <utility>

#include "hocket/synthesizer/symmetry/growth.hpp"

namespace hocket::synthesizer {

GrowthPlan::GrowthPlan(const Network& links, const Translations& network, int32_t chunks)
    : network(network), chunks(chunks), leaving(network.num_orbits) {
  const Clusters clusters(links);
  std::map<std::vector<int32_t>, std::vector<int32_t>> sharing;
  std::map<Picoseconds, std::vector<int32_t>> by_travel;
  for (int32_t generator = 0; generator < network.num_generators(); generator++) {
    const auto resources = network.resources[generator];
    sharing[{resources.begin(), resources.end()}].push_back(generator);
    by_travel[network.travel[generator]].push_back(generator);
    leaving[network.orbit[generator]].push_back(generator);
    const int32_t home = network.orbit[generator] * network.group.order();
    const int32_t link = network.link_from(generator, home);
    rules.push_back({.target_orbit = network.orbit_of(network.target_from(generator, home)),
                     .level = clusters.link_class[link],
                     .bridge = clusters.bridge(links, link),
                     .faster_percent = clusters.faster_percent[link],
                     .distance = 0});
  }
  for (auto& [travel, generators] : by_travel) speeds.push_back(std::move(generators));
  for (const auto& [resources, generators] : sharing) {
    const size_t count = generators.size();
    for (size_t at = 0; at < count; at++) {
      // Alternately from both ends: on a switch these are the neighbours to both sides.
      rules[generators[at]].distance = static_cast<int32_t>(std::min(2 * at, 2 * (count - 1 - at) + 1));
    }
  }
  for (int32_t level = 1; level + 1 < clusters.num_levels(); level++) {
    levels.push_back({clusters.num_clusters[level], {}});
    for (int32_t rank : network.rank) levels.back().of.push_back(clusters.cluster[level][rank]);
  }
}

}  // namespace hocket::synthesizer
