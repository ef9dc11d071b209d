#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

namespace hocket::schedule {

/// Multisets of contributions (rank, chunk), exact. Value 0 is undefined memory; adding to it stays undefined.
///
/// A sum is kept as its two operands and counted out only when asked about: a sum of n contributions takes the place of
/// one, whatever n is.
class Values {
 public:
  struct Contribution {
    int32_t rank;
    int32_t chunk;
    int64_t times;
  };

  int32_t original(int32_t rank, int32_t chunk) { return add({false, rank, chunk}); }

  int32_t sum(int32_t left, int32_t right) { return left == 0 || right == 0 ? 0 : add({true, left, right}); }

  /// The contributions of a value, by rank and chunk.
  std::vector<Contribution> of(int32_t value) const {
    std::map<std::pair<int32_t, int32_t>, int64_t> originals;
    // operands are older than their sum: the newest value that is still to be taken apart has all its times by now
    // Newest first: a topological order of the graph of sums without recursion or marks.
    std::map<int32_t, int64_t> open;
    if (value != 0) open[value] = 1;
    while (!open.empty()) {
      const auto [newest, times] = *open.rbegin();
      open.erase(std::prev(open.end()));
      const Node& node = nodes_[newest];
      if (node.is_sum) {
        for (const int32_t operand : {node.first, node.second}) add_times(open[operand], times);
      } else {
        add_times(originals[{node.first, node.second}], times);
      }
    }
    std::vector<Contribution> contributions;
    contributions.reserve(originals.size());
    for (const auto& [key, times] : originals) contributions.push_back({key.first, key.second, times});
    return contributions;
  }

  /// Whether a value is the chunk `chunk` of rank `source`, or with source -1 of each of `num_ranks` ranks, exactly
  /// once and nothing else.
  bool is(int32_t value, int32_t chunk, int32_t source, int32_t num_ranks) {
    auto [known, unknown] = shapes_.try_emplace(value);
    if (unknown) known->second = shape(value);
    const Shape& shape = known->second;
    if (!shape.once || shape.chunk != chunk) return false;
    return source >= 0 ? shape.size == 1 && shape.rank == source : shape.size == num_ranks;
  }

 private:
  /// An original of (rank `first`, chunk `second`), or the sum of two values.
  struct Node {
    bool is_sum;
    int32_t first;
    int32_t second;
  };

  /// Whether a value is one chunk of `size` ranks, of which `rank` is the first, each once.
  struct Shape {
    bool once = false;
    int32_t chunk = -1;
    int32_t rank = -1;
    int32_t size = 0;
  };

  static void add_times(int64_t& sum, int64_t times) {
    sum = times > std::numeric_limits<int64_t>::max() - sum ? std::numeric_limits<int64_t>::max() : sum + times;
  }

  Shape shape(int32_t value) const {
    const auto held = of(value);
    if (held.empty()) return {};
    const int32_t chunk = held.front().chunk;
    const bool once =
        std::all_of(held.begin(), held.end(), [&](const Contribution& c) { return c.chunk == chunk && c.times == 1; });
    return {once, chunk, held.front().rank, static_cast<int32_t>(held.size())};
  }

  int32_t add(Node node) {
    nodes_.push_back(node);
    return static_cast<int32_t>(nodes_.size() - 1);
  }

  std::vector<Node> nodes_{{false, -1, -1}};
  std::unordered_map<int32_t, Shape> shapes_;
};

}  // namespace hocket::schedule
