#include "hocket/synthesizer/matching/bundles.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

/// Two physical links with the same users are never free one without the other, so one of them suffices: a switch
/// port's way in and the NIC behind it, for example. Found by a hash of the users, then compared in full. The wire of
/// every physical link; of those that no link uses any number.
std::vector<int32_t> find_wires(const Network& network, int32_t& num_wires) {
  struct Physical {
    uint64_t users_hash;
    int32_t id;
  };
  std::vector<Physical> order;
  for (int32_t id = 0; id < network.users.size(); id++) {
    uint64_t users_hash = 0;
    for (const int32_t user : network.users[id]) users_hash = hash(users_hash ^ static_cast<uint64_t>(user));
    order.push_back({users_hash, id});
  }
  std::ranges::stable_sort(order, {}, &Physical::users_hash);
  std::vector<int32_t> first(order.size());  // the first physical link of each one's wire
  for (size_t at = 0; at < order.size(); at++) {
    const int32_t id = order[at].id;
    const bool shared = at > 0 && std::ranges::equal(network.users[id], network.users[order[at - 1].id]);
    first[id] = shared ? first[order[at - 1].id] : id;
  }
  std::vector<int32_t> wire(order.size());
  num_wires = 0;
  for (size_t id = 0; id < wire.size(); id++) {
    wire[id] = first[id] == static_cast<int32_t>(id) ? num_wires++ : wire[first[id]];
  }
  return wire;
}

/// At its last place, so that the entry stays the last of the path.
/// Adds the wires of a path in travel order; one that occurs several times at its last place.
void append_wires(Lists& path, std::span<const int32_t> physical, const std::vector<int32_t>& wire) {
  for (size_t at = 0; at < physical.size(); at++) {
    const auto later = physical.subspan(at + 1);
    const bool again = std::ranges::any_of(later, [&](int32_t id) { return wire[id] == wire[physical[at]]; });
    if (!again) path.ids.push_back(wire[physical[at]]);
  }
  path.offset.push_back(static_cast<int32_t>(path.ids.size()));
}

/// The travel time of every link as a rank among all, 0 the shortest.
/// Ranks instead of times, so that an order of tries fits in one word beside a lot.
std::vector<int32_t> rank_times(const std::vector<Picoseconds>& travel) {
  std::vector<Picoseconds> times = travel;
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<int32_t> ranks;
  for (const Picoseconds time : travel) {
    ranks.push_back(static_cast<int32_t>(std::ranges::lower_bound(times, time) - times.begin()));
  }
  return ranks;
}

}  // namespace

Bundles::Bundles(const Network& network) {
  int32_t wires = 0;
  const std::vector<int32_t> wire = find_wires(network, wires);
  path.offset.push_back(0);
  for (int32_t link = 0; link < network.num_links(); link++) append_wires(path, network.path[link], wire);

  entry_rank.assign(wires, -1);
  entry_door.assign(wires, 0);
  std::vector<int32_t> doors(network.num_ranks, 0);
  for (int32_t link = 0; link < network.num_links(); link++) entry_rank[path[link].back()] = network.dst[link];
  for (int32_t id = 0; id < wires; id++) {
    if (entry_rank[id] >= 0) entry_door[id] = doors[entry_rank[id]]++;
  }
  num_doors = std::ranges::max(doors);

  const std::vector<int32_t> times = rank_times(network.travel);
  const auto shared = [&](int32_t link) { return path[link].first(path[link].size() - 1); };
  // Equal are links that an agenda may treat as one: the same wires before the last, the same time, the same door.
  const auto compare = [&](int32_t a, int32_t b) {
    const auto order =
        std::lexicographical_compare_three_way(shared(a).begin(), shared(a).end(), shared(b).begin(), shared(b).end());
    if (order != 0) return order;
    const auto key = [&](int32_t link) {  // links without shared wires stay alone
      return std::tuple(times[link], entry_door[path[link].back()], shared(link).empty() ? link : 0);
    };
    return key(a) <=> key(b);
  };
  first_user.assign(wires, 0);
  last_user.assign(wires, 0);
  prefix.offset.push_back(0);
  at.push_back(0);
  first.push_back(0);
  for (int32_t rank = 0; rank < network.num_ranks; rank++) {
    std::vector<int32_t> links(network.out[rank].begin(), network.out[rank].end());
    std::ranges::sort(links, [&](int32_t a, int32_t b) {
      const auto order = compare(a, b);
      return order != 0 ? order < 0 : network.dst[a] < network.dst[b];
    });
    for (size_t begin = 0, end = 0; begin < links.size(); begin = end) {
      while (end < links.size() && compare(links[begin], links[end]) == 0) end++;
      const int32_t bundle = size(), one = links[begin];
      src.push_back(rank);
      pace.push_back(times[one]);
      door.push_back(entry_door[path[one].back()]);
      prefix.ids.insert(prefix.ids.end(), shared(one).begin(), shared(one).end());
      prefix.offset.push_back(static_cast<int32_t>(prefix.ids.size()));
      first_word.push_back(network.dst[one] / 64);
      reach.resize(reach.size() + network.dst[links[end - 1]] / 64 - first_word.back() + 1, 0);
      links_before_.resize(reach.size());
      for (size_t each = begin; each < end; each++) {
        const int32_t link = links[each], dst = network.dst[link];
        uint64_t& word = reach[at.back() + dst / 64 - first_word.back()];
        // A rank's link is found without a table of pairs: links before its word, and bits before it in the word
        // (`link_to`).
        if (word == 0) links_before_[&word - reach.data()] = static_cast<int32_t>(links_.size());
        word |= uint64_t{1} << (dst % 64);
        links_.push_back(link);
        const int32_t entry = path[link].back();
        if (last_user[entry] == 0) first_user[entry] = bundle;
        last_user[entry] = bundle + 1;
      }
      at.push_back(static_cast<int32_t>(reach.size()));
    }
    first.push_back(size());
  }
  prefix_users = prefix.inverted(wires);
}

int32_t Bundles::link_to(int32_t bundle, int32_t rank) const {
  const int32_t word = at[bundle] + rank / 64 - first_word[bundle];
  const uint64_t below = reach[word] & ((uint64_t{1} << (rank % 64)) - 1);
  return links_[links_before_[word] + std::popcount(below)];
}

}  // namespace hocket::synthesizer
