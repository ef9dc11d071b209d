#include "hocket/synthesizer/symmetry/translations.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

void require_box(std::span<const Side> sides, int32_t num_ranks) {
  int64_t ranks = 1;
  for (const Side& side : sides) {
    check_within(side.size, 1, num_ranks, "the size of a side");
    ranks *= side.size;
    check_within(ranks, 1, num_ranks, "the ranks of the box");
  }
  check_within(ranks, num_ranks, num_ranks, "the ranks of the box");
}

std::vector<int32_t> turning(std::span<const Side> sides, int32_t num_ranks) {
  require_box(sides, num_ranks);
  std::vector<int32_t> sizes;
  for (const Side& side : sides) {
    if (side.turns) sizes.push_back(side.size);
  }
  return sizes;
}

/// The point of each rank.
/// Turning coordinates number the element, the others the orbit: points of an orbit lie together.
std::vector<int32_t> points(std::span<const Side> sides, int32_t num_ranks, int32_t order) {
  std::vector<int32_t> point(num_ranks);
  for (int32_t rank = 0; rank < num_ranks; rank++) {
    int32_t rest = rank, element = 0, element_stride = 1, orbit = 0, orbit_stride = 1;
    for (const Side& side : sides) {
      const int32_t coordinate = rest % side.size;
      rest /= side.size;
      (side.turns ? element : orbit) += coordinate * (side.turns ? element_stride : orbit_stride);
      (side.turns ? element_stride : orbit_stride) *= side.size;
    }
    point[rank] = orbit * order + element;
  }
  return point;
}

/// Candidates are guessed by this key, then checked: nothing relies on how the topology was described.
/// Links that may be images of each other: those between the same orbits, by the same shift, in the same time.
using Likeness = std::tuple<int32_t, int32_t, int32_t, Picoseconds, Picoseconds>;

}  // namespace

ShiftGroup::ShiftGroup(std::vector<int32_t> sizes)
    : sizes_(std::move(sizes)), order_(std::accumulate(sizes_.begin(), sizes_.end(), 1, std::multiplies<>())) {}

int32_t ShiftGroup::sum(int32_t a, int32_t b) const {
  int32_t result = 0, stride = 1;
  for (int32_t size : sizes_) {
    const int32_t coordinate = a % size + b % size;
    result += (coordinate < size ? coordinate : coordinate - size) * stride;
    a /= size;
    b /= size;
    stride *= size;
  }
  return result;
}

int32_t ShiftGroup::difference(int32_t a, int32_t b) const {
  int32_t result = 0, stride = 1;
  for (int32_t size : sizes_) {
    const int32_t coordinate = a % size - b % size;
    result += (coordinate < 0 ? coordinate + size : coordinate) * stride;
    a /= size;
    b /= size;
    stride *= size;
  }
  return result;
}

Translations::Translations(const Network& network, std::span<const Side> sides)
    : group(turning(sides, network.num_ranks)),
      num_orbits(network.num_ranks / group.order()),
      rank(network.num_ranks),
      num_resources(0) {
  const int32_t order = group.order();
  const std::vector<int32_t> point = points(sides, network.num_ranks, order);
  for (int32_t id = 0; id < network.num_ranks; id++) rank[point[id]] = id;

  // Candidates: links of one likeness, the i-th of each element together.
  std::map<Likeness, int32_t> likeness_id;
  std::vector<std::vector<std::vector<int32_t>>> candidates;  // [likeness][i][element]
  for (int32_t id = 0; id < network.num_links(); id++) {
    const int32_t from = point[network.src[id]], to = point[network.dst[id]];
    const Likeness likeness{from / order, to / order, group.difference(to % order, from % order), network.hold[id],
                            network.travel[id]};
    const int32_t at = likeness_id.try_emplace(likeness, candidates.size()).first->second;
    if (at == static_cast<int32_t>(candidates.size())) candidates.emplace_back();
    size_t copy = 0;
    while (copy < candidates[at].size() && candidates[at][copy][from % order] >= 0) copy++;
    if (copy == candidates[at].size()) candidates[at].emplace_back(order, -1);
    candidates[at][copy][from % order] = id;
  }

  // Invariant: a generator is one link for each element, no physical link in two of them. What fails is left out, which
  // costs schedules but never makes a wrong one.
  // Those that are whole and disjoint are generators. Physical links that serve the same generators are one resource.
  std::vector<int32_t> last_user(network.users.size(), 0);
  std::vector<uint64_t> users(network.users.size(), 0);
  int32_t candidate = 0;
  for (const auto& [likeness, at] : likeness_id) {
    for (const std::vector<int32_t>& links : candidates[at]) {
      candidate++;
      const auto alone = [&](int32_t id) {
        return id >= 0 && std::ranges::all_of(network.path[id], [&](int32_t physical) {
                 return std::exchange(last_user[physical], candidate) != candidate;
               });
      };
      if (!std::ranges::all_of(links, alone)) continue;
      const int32_t generator = num_generators();
      orbit.push_back(std::get<0>(likeness));
      hold.push_back(std::get<3>(likeness));
      travel.push_back(std::get<4>(likeness));
      for (int32_t id : links) {
        link.push_back(id);
        target.push_back(point[network.dst[id]]);
        // A set of users as the sum of their hashes: equal for equal sets, in whatever order they come.
        for (int32_t physical : network.path[id]) users[physical] += hash(generator + 1);
      }
    }
  }
  std::unordered_map<uint64_t, int32_t> resource_id;
  resources.offset.push_back(0);
  for (int32_t generator = 0; generator < num_generators(); generator++) {
    std::vector<int32_t> used;
    uint64_t last = 0;  // users of the physical link before, which is mostly alike
    for (int32_t element = 0; element < order; element++) {
      for (int32_t physical : network.path[link[static_cast<size_t>(generator) * order + element]]) {
        if (std::exchange(last, users[physical]) == users[physical]) continue;
        used.push_back(resource_id.try_emplace(users[physical], resource_id.size()).first->second);
      }
    }
    std::ranges::sort(used);
    used.erase(std::ranges::unique(used).begin(), used.end());
    resources.ids.insert(resources.ids.end(), used.begin(), used.end());
    resources.offset.push_back(static_cast<int32_t>(resources.ids.size()));
  }
  num_resources = static_cast<int32_t>(resource_id.size());
}

bool Translations::connected() const {
  std::vector<std::vector<int32_t>> leaving(num_orbits);
  for (int32_t generator = 0; generator < num_generators(); generator++) leaving[orbit[generator]].push_back(generator);
  // The neutral point of each orbit suffices as a start: any other is its image.
  std::vector<int32_t> reached_from(num_points(), -1);
  for (int32_t home = 0; home < num_orbits; home++) {
    std::vector<int32_t> found{home * group.order()};
    reached_from[found.front()] = home;
    for (size_t at = 0; at < found.size(); at++) {
      for (int32_t generator : leaving[orbit_of(found[at])]) {
        const int32_t next = target_from(generator, found[at]);
        if (std::exchange(reached_from[next], home) != home) found.push_back(next);
      }
    }
    if (static_cast<int32_t>(found.size()) < num_points()) return false;
  }
  return true;
}

void TranslatedTransfers::reserve(size_t count) {
  tree.reserve(count);
  generator.reserve(count);
  point.reserve(count);
  start.reserve(count);
}

void TranslatedTransfers::add(int32_t tree_id, int32_t generator_id, int32_t from, Picoseconds at, Picoseconds until) {
  tree.push_back(tree_id);
  generator.push_back(generator_id);
  point.push_back(from);
  start.push_back(at);
  time = std::max(time, until);
}

}  // namespace hocket::synthesizer
