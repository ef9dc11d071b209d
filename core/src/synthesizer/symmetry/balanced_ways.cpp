#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "hocket/synthesizer/symmetry/exchange.hpp"

namespace hocket::synthesizer {
namespace {

/// The jobs of a shift are dealt with in about so many parts, each of which goes one way.
constexpr int32_t kParts = 8, kMostParts = 32;
/// Each part looks for a better way so often; prices differ the less, the larger the number. First and last only ways
/// that are about as quick compete.
constexpr int kCalm[] = {20, 20, 10, 4, 0, 4, 10, 20};
/// About so many links are looked at in a pass: parts share a search for ways where there are many of them.
constexpr int64_t kPassWork = 5'000'000;

/// Sides that generators shift together; its group is numbered as a box of these sides alone.
struct Block {
  std::vector<int32_t> strides;     ///< of each side in the group of all sides
  std::vector<int32_t> sizes;       ///< of each side
  std::vector<int32_t> generators;  ///< that shift it
  int32_t order = 1;

  int32_t project(int32_t element) const {
    int32_t result = 0, stride = 1;
    for (size_t side = 0; side < sizes.size(); side++) {
      result += element / strides[side] % sizes[side] * stride;
      stride *= sizes[side];
    }
    return result;
  }
  int32_t lift(int32_t element) const {
    int32_t result = 0;
    for (size_t side = 0; side < sizes.size(); side++) {
      result += element % sizes[side] * strides[side];
      element /= sizes[side];
    }
    return result;
  }
};

/// The group is a product of its blocks and shifts commute, so a way in the whole is a way in each: the search is over
/// the sum of their sizes instead of the product.
std::vector<Block> blocks(const Translations& network) {
  const std::vector<int32_t>& sizes = network.group.sizes();
  std::vector<int32_t> block(sizes.size());
  std::iota(block.begin(), block.end(), 0);
  std::vector<int32_t> first_side(network.num_generators());
  for (int32_t generator = 0; generator < network.num_generators(); generator++) {
    int32_t shift = network.target_from(generator, 0), first = -1;
    for (int32_t side = 0; side < static_cast<int32_t>(sizes.size()); shift /= sizes[side++]) {
      if (shift % sizes[side] == 0) continue;
      if (first < 0) first = side;
      const int32_t from = block[side], to = block[first];
      std::ranges::replace(block, std::max(from, to), std::min(from, to));
    }
    first_side[generator] = first;
  }
  std::vector<Block> result(sizes.size());
  int32_t stride = 1;
  for (size_t side = 0; side < sizes.size(); side++) {
    Block& of_side = result[block[side]];
    of_side.strides.push_back(stride);
    of_side.sizes.push_back(sizes[side]);
    of_side.order *= sizes[side];
    stride *= sizes[side];
  }
  for (int32_t generator = 0; generator < network.num_generators(); generator++) {
    result[block[first_side[generator]]].generators.push_back(generator);
  }
  std::erase_if(result, [](const Block& empty) { return empty.sizes.empty(); });
  return result;
}

/// Even, and of equal size if possible: two ways that are as quick share the jobs then.
int32_t parts_of(int32_t copies) {
  for (int32_t parts = kParts; parts <= std::min(copies, kMostParts); parts += 2) {
    if (copies % parts == 0) return parts;
  }
  return std::min(kParts, copies);
}

/// Ways in one block, for all shifts of it, each made by `copies` jobs.
/// The multiplicative-weights method as in PacketRouter, on a Cayley graph: by symmetry all ranks route alike, so one
/// search from the neutral element prices the ways of all pairs. Rip-up and re-route, and the best pass is kept.
class Balance {
 public:
  Balance(const Translations& network, const Block& block, int32_t copies)
      : network_(network), block_(block), load_(network.num_resources, 0), into_(block.order, -1) {
    for (int32_t generator : block.generators) shift_.push_back(block.project(network.target_from(generator, 0)));
    const ShiftGroup group(block.sizes);
    for (int32_t shift : shift_) {
      for (int32_t from = 0; from < block.order; from++) target_.push_back(group.sum(from, shift));
    }
    const int32_t parts = parts_of(copies);
    for (int32_t part = 0; part < parts; part++) {
      // Differences of a running total: parts differ by one at most and add up to all.
      const int32_t jobs = copies * (part + 1) / parts - copies * part / parts;
      for (int32_t shift = 1; shift < block.order; shift++) units_.push_back({shift, jobs, {}});
    }
    std::ranges::stable_sort(units_, std::greater<>(), &Unit::jobs);
  }

  /// Of each shift - 1 the ways of its jobs. Throws Stopped.
  std::vector<std::vector<Way>> solve(const Stop& stop) {
    const int64_t searches = std::max<int64_t>(1, kPassWork / static_cast<int64_t>(target_.size()));
    const size_t batch = (units_.size() + searches - 1) / searches;
    std::vector<Unit> best;
    Picoseconds least = kNever;
    for (int calm : kCalm) {
      for (size_t first = 0; first < units_.size(); first += batch) {
        stop.check();
        const auto end = units_.begin() + static_cast<int64_t>(std::min(units_.size(), first + batch));
        for (auto unit = units_.begin() + static_cast<int64_t>(first); unit != end; unit++) account(*unit, -1);
        search(calm);
        for (auto unit = units_.begin() + static_cast<int64_t>(first); unit != end; unit++) {
          unit->way = way_to(unit->shift);
          account(*unit, 1);
        }
      }
      const Picoseconds most = *std::ranges::max_element(load_);
      if (std::exchange(least, std::min(least, most)) > most) best = units_;
    }
    std::vector<std::vector<Way>> ways(block_.order - 1);
    for (const Unit& unit : best) {
      auto& of_shift = ways[unit.shift - 1];
      of_shift.insert(of_shift.end(), unit.jobs, unit.way);
    }
    return ways;
  }

 private:
  struct Unit {
    int32_t shift;
    int32_t jobs;
    Way way;
  };

  void account(const Unit& unit, int sign) {
    for (const auto& [generator, times] : unit.way.steps) {
      for (int32_t resource : network_.resources[generator]) {
        load_[resource] += sign * unit.jobs * times * network_.hold[generator];
      }
    }
  }

  /// A price for each generator: its time on resources that are dear, the fourth power of how loaded they are.
  std::vector<int64_t> prices(int calm) const {
    const Picoseconds most = std::max<Picoseconds>(1, *std::ranges::max_element(load_));
    Picoseconds longest = 1;
    for (int32_t generator : block_.generators) longest = std::max(longest, network_.hold[generator]);
    std::vector<int64_t> price;
    for (int32_t generator : block_.generators) {
      int64_t dear = 0;
      for (int32_t resource : network_.resources[generator]) {
        const auto level = static_cast<int64_t>((static_cast<__int128>(load_[resource]) << 20) / most);
        const int64_t squared = level * level >> 20;
        dear += (squared * squared >> 20) + (int64_t{1} << (10 + calm));
      }
      const auto time = static_cast<int64_t>(static_cast<__int128>(network_.hold[generator]) * 1024 / longest);
      price.push_back(std::max<int64_t>(1, dear * std::max<int64_t>(1, time)));
    }
    return price;
  }

  /// The cheapest generator into each element of the block's group, coming from 0 (Dijkstra).
  void search(int calm) {
    const std::vector<int64_t> price = prices(calm);
    std::vector<int64_t> cost(block_.order, INT64_MAX);
    using Entry = std::pair<int64_t, int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.push({cost[0] = 0, 0});
    while (!queue.empty()) {
      const auto [reached, from] = queue.top();
      queue.pop();
      if (reached > cost[from]) continue;
      for (size_t at = 0; at < price.size(); at++) {
        const int32_t to = target_[at * block_.order + from];
        if (reached + price[at] >= cost[to]) continue;
        into_[to] = static_cast<int32_t>(at);
        queue.push({cost[to] = reached + price[at], to});
      }
    }
  }

  Way way_to(int32_t element) const {
    const ShiftGroup group(block_.sizes);
    std::vector<int32_t> used;
    for (; element != 0; element = group.difference(element, shift_[into_[element]])) used.push_back(into_[element]);
    std::ranges::sort(used);
    Way way;
    for (int32_t at : used) {
      const int32_t generator = block_.generators[at];
      if (way.steps.empty() || way.steps.back().generator != generator) way.steps.push_back({generator, 0});
      way.steps.back().times++;
    }
    return way;
  }

  const Translations& network_;
  const Block& block_;
  std::vector<int32_t> shift_;   ///< of each generator of the block, in its group
  std::vector<int32_t> target_;  ///< generator of the block * order + element: where it leads
  std::vector<Unit> units_;
  std::vector<Picoseconds> load_;  ///< of each resource
  std::vector<int32_t> into_;      ///< of each element the generator of the block on the cheapest way to it
};

}  // namespace

std::vector<Way> balanced_ways(const Translations& network, int32_t chunks, const Stop& stop) {
  std::vector<Way> ways(static_cast<size_t>(network.group.order() - 1) * chunks);
  for (const Block& block : blocks(network)) {
    const auto of_shift = Balance(network, block, network.group.order() / block.order * chunks).solve(stop);
    std::vector<size_t> next(block.order, 0);
    for (size_t job = 0; job < ways.size(); job++) {
      const int32_t shift = block.project(static_cast<int32_t>(job / chunks) + 1);
      if (shift == 0) continue;
      const Way& way = of_shift[shift - 1][next[shift]++];
      ways[job].steps.insert(ways[job].steps.end(), way.steps.begin(), way.steps.end());
    }
  }
  return ways;
}

}  // namespace hocket::synthesizer
