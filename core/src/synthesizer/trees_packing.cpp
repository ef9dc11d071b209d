#include <algorithm>
#include <functional>

#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/trees.hpp"

namespace hocket::synthesizer {
namespace {

/// The links as a tree sees them that grows away from its root: forwards, or backwards when it leads to the root.
struct Orientation {
  const Lists& next;               ///< links that go on from each rank
  const std::vector<int32_t>& to;  ///< the rank that each of them reaches
};

class Packer {
 public:
  Packer(const Network& network, const Growth& growth, uint64_t seed)
      : network_(network), growth_(growth), random_(seed), load_(network.users.size(), 0), depth_(network.num_ranks) {}

  /// Replaces the tree (`link_of` each rank) of the root.
  void grow(const Orientation& orientation, int32_t chunk, int32_t root, std::span<int32_t> link_of) {
    charge(link_of, -1);
    std::ranges::fill(link_of, kNoLink);
    std::vector<Picoseconds>& price = price_;
    price.assign(network_.num_ranks, kNever);
    inside_.assign(network_.num_ranks, 0);
    depth_[root] = 0;
    heap_.clear();
    int32_t grown = 0;
    for (int32_t rank = root;;) {
      inside_[rank] = 1;
      grown++;
      for (int32_t link : orientation.next[rank]) {
        const int32_t to = orientation.to[link];
        if (inside_[to]) continue;
        const Picoseconds cost = price_of(link, depth_[rank] + network_.travel[link]);
        if (cost >= price[to]) continue;
        price[to] = cost;
        heap_.push_back({cost, to, link});
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
      while (!heap_.empty() && inside_[heap_.front().rank]) pop();
      if (heap_.empty()) break;
      const Candidate best = heap_.front();
      pop();
      const int32_t from = network_.src[best.link] ^ network_.dst[best.link] ^ best.rank;
      depth_[best.rank] = depth_[from] + network_.travel[best.link];
      link_of[best.rank] = best.link;
      rank = best.rank;
    }
    if (grown < network_.num_ranks) {
      const auto missing = std::ranges::find(inside_, 0) - inside_.begin();
      throw_unreachable(chunk, root, static_cast<int32_t>(missing));
    }
    charge(link_of, 1);
  }
  Picoseconds max_load() const { return *std::ranges::max_element(load_); }

 private:
  struct Candidate {
    Picoseconds cost;
    int32_t rank;
    int32_t link;
    auto operator<=>(const Candidate&) const = default;
  };

  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }

  Picoseconds price_of(int32_t link, Picoseconds depth) {
    Picoseconds load = 0;
    for (int32_t physical : network_.path[link]) load = std::max(load, load_[physical]);
    const Picoseconds noise =
        network_.hold[link] * growth_.noise_percent / 100 * static_cast<Picoseconds>(random_.next() & 1023) / 1024;
    return load + network_.hold[link] + depth * growth_.depth_percent / 100 + noise;
  }

  void charge(std::span<const int32_t> link_of, int sign) {
    for (int32_t link : link_of) {
      if (link == kNoLink) continue;
      for (int32_t physical : network_.path[link]) load_[physical] += sign * network_.hold[link];
    }
  }

  const Network& network_;
  const Growth& growth_;
  Random random_;
  std::vector<Picoseconds> load_;   ///< [physical link] how long the trees hold it
  std::vector<Picoseconds> depth_;  ///< [rank] time from the root
  std::vector<Picoseconds> price_;  ///< [rank] the least price of a link into it
  std::vector<char> inside_;
  std::vector<Candidate> heap_;
};

}  // namespace

Picoseconds pack(const Network& network, const Growth& growth, uint64_t seed, const Stop& stop, Trees& trees) {
  const Orientation forwards{network.out, network.dst}, backwards{network.in, network.src};
  Packer packer(network, growth, seed);
  for (int pass = 0; pass < growth.passes; pass++) {
    for (int32_t chunk = 0; chunk < trees.num_chunks(); chunk++) {
      stop.check();
      const int32_t root = trees.root[chunk];
      if (!trees.up.empty()) packer.grow(backwards, chunk, root, trees.row(trees.up, chunk));
      if (!trees.down.empty()) packer.grow(forwards, chunk, root, trees.row(trees.down, chunk));
    }
  }
  return packer.max_load();
}

}  // namespace hocket::synthesizer
