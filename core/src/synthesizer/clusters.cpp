#include "hocket/synthesizer/clusters.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

namespace hocket::synthesizer {
namespace {

/// So links count as alike whose latencies differ a little, and not those of half the bandwidth.
/// Class of every link: a new class begins where a travel time is more than 1.3 times the shortest of the class.
std::vector<int32_t> classify(const std::vector<Picoseconds>& travel) {
  std::vector<Picoseconds> sorted;
  std::unique_copy(travel.begin(), travel.end(), std::back_inserter(sorted));
  std::sort(sorted.begin(), sorted.end());
  std::vector<Picoseconds> shortest;
  for (Picoseconds time : sorted) {
    // In whole numbers: 1.3 as a double would make the class depend on rounding.
    if (shortest.empty() || 10 * static_cast<__int128>(time) > 13 * static_cast<__int128>(shortest.back())) {
      shortest.push_back(time);
    }
  }
  std::vector<int32_t> classes;
  for (Picoseconds time : travel) {
    const auto above = std::upper_bound(shortest.begin(), shortest.end(), time);
    classes.push_back(static_cast<int32_t>(above - shortest.begin()) - 1);
  }
  return classes;
}

/// Union-find with path halving.
/// Connected parts (directions ignored) of the ranks under the links below a class; parts are numbered by first rank.
std::vector<int32_t> connect(const Network& network, const std::vector<int32_t>& link_class, int32_t below,
                             int32_t& num_parts) {
  std::vector<int32_t> parent(network.num_ranks);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int32_t rank) {
    while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
    return rank;
  };
  for (int32_t link = 0; link < network.num_links(); link++) {
    if (link_class[link] < below) parent[root(network.src[link])] = root(network.dst[link]);
  }
  std::vector<int32_t> number(network.num_ranks, -1), part(network.num_ranks);
  num_parts = 0;
  for (int32_t rank = 0; rank < network.num_ranks; rank++) {
    int32_t& id = number[root(rank)];
    if (id < 0) id = num_parts++;
    part[rank] = id;
  }
  return part;
}

/// See Clusters::faster_percent. Links that enter a rank over the same last physical link share its time.
std::vector<int64_t> count_faster(const Network& network, const std::vector<int32_t>& link_class) {
  struct Door {
    int32_t last;
    int32_t link_class;
    Picoseconds hold;
  };
  std::vector<int64_t> percent(network.num_links(), 0);
  for (int32_t rank = 0; rank < network.num_ranks; rank++) {
    std::vector<Door> doors;
    for (int32_t link : network.in[rank]) {
      doors.push_back({network.path[link].back(), link_class[link], std::max<Picoseconds>(network.hold[link], 1)});
    }
    std::sort(doors.begin(), doors.end(), [](const Door& a, const Door& b) {
      return std::tie(a.last, a.link_class, a.hold) < std::tie(b.last, b.link_class, b.hold);
    });
    const auto same_last = [](const Door& a, const Door& b) { return a.last == b.last; };
    // Sorted by class within a door, so that the fastest way in through it stands for all: the door is one physical
    // link, and however many links end in it, it delivers one chunk a `hold`.
    doors.erase(std::unique(doors.begin(), doors.end(), same_last), doors.end());
    for (int32_t link : network.in[rank]) {
      for (const Door& door : doors) {
        if (door.link_class < link_class[link]) {
          percent[link] += static_cast<int64_t>(static_cast<__int128>(network.travel[link]) * 100 / door.hold);
        }
      }
    }
  }
  return percent;
}

}  // namespace

Clusters::Clusters(const Network& network) : link_class(classify(network.travel)) {
  int32_t num_classes = 0;
  for (int32_t of_link : link_class) num_classes = std::max(num_classes, of_link + 1);
  for (int32_t level = 0; level <= num_classes; level++) {
    int32_t parts = 0;
    cluster.push_back(connect(network, link_class, level, parts));
    num_clusters.push_back(parts);
  }
  if (num_classes > 1)
    faster_percent = count_faster(network, link_class);
  else
    faster_percent.assign(network.num_links(), 0);
}

}  // namespace hocket::synthesizer
