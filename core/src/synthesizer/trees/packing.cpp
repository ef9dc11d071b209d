#include <algorithm>
#include <bit>
#include <functional>

#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/trees/trees.hpp"

namespace hocket::synthesizer {
namespace {

/// The links as a tree sees them that grows away from its root: forwards, or backwards when it leads to the root.
struct Orientation {
  const Lists& next;               ///< links that go on from each rank
  const std::vector<int32_t>& to;  ///< the rank that each of them reaches
};

/// By how many bits times must be shifted so that no price overflows: none, unless they fill the integers.
int spare_bits(const Lanes& lanes, const Growth& growth, const Trees& trees) {
  // A wire is held by every leg at most, a way from a root goes over every rank at most; noise is drawn in 1/1024.
  const auto legs = static_cast<__int128>(trees.up.size() + trees.down.size() + trees.num_ranks + 2);
  const __int128 most = legs * lanes.longest_travel() * (100 + growth.depth_percent + 11 * growth.noise_percent);
  const int bits = most >> 64 ? 64 + std::bit_width(static_cast<uint64_t>(most >> 64)) : 0;
  return std::max(0, std::max(bits, static_cast<int>(std::bit_width(static_cast<uint64_t>(most)))) - 63);
}

/// A greedy packing by prices: every tree is the cheapest spanning tree under loads so far, and is taken out and grown
/// anew in later passes. Fast where packing/ is exact: the same aim as its period, the busiest wire, without its proof.
class Packer {
 public:
  Packer(const Network& network, const Lanes& lanes, const Growth& growth, uint64_t seed, int shift)
      : network_(network),
        lanes_(lanes),
        growth_(growth),
        shift_(shift),
        random_(seed),
        load_(lanes.num_wires(), 0),
        depth_(network.num_ranks) {}

  /// Replaces the tree (`link_of` each rank) of the root.
  void grow(const Orientation& orientation, int32_t chunk, int32_t root, std::span<int32_t> link_of) {
    charge(link_of, -1);
    std::ranges::fill(link_of, kNoLink);
    price_.assign(network_.num_ranks, kNever);
    inside_.assign(network_.num_ranks, 0);
    depth_[root] = 0;
    heap_.clear();
    int32_t grown = 0;
    for (int32_t rank = root;;) {
      inside_[rank] = 1;
      grown++;
      for (int32_t link : orientation.next[rank]) {
        const int32_t to = orientation.to[link];
        // Prim's algorithm with a lazy heap: stale entries, of ranks that are in by now, are dropped when they come up.
        if (inside_[to]) continue;
        const Picoseconds cost = price_of(lanes_.of(link), depth_[rank]);
        if (cost >= price_[to]) continue;
        price_[to] = cost;
        heap_.push_back({cost, to, link});
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
      while (!heap_.empty() && inside_[heap_.front().rank]) pop();
      if (heap_.empty()) break;
      const Candidate best = heap_.front();
      pop();
      const int32_t from = network_.src[best.link] ^ network_.dst[best.link] ^ best.rank;
      depth_[best.rank] = depth_[from] + travel(lanes_.of(best.link));
      link_of[best.rank] = best.link;
      rank = best.rank;
    }
    if (grown < network_.num_ranks) {
      const auto missing = std::ranges::find(inside_, 0) - inside_.begin();
      throw_unreachable(chunk, root, static_cast<int32_t>(missing));
    }
    charge(link_of, 1);
  }

  Picoseconds max_load() const {
    const auto most = load_.empty() ? 0 : *std::ranges::max_element(load_);
    return within_horizon(static_cast<__int128>(most) << shift_);
  }

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

  Picoseconds hold(int32_t lane) const { return lanes_.hold(lane) >> shift_; }
  Picoseconds travel(int32_t lane) const { return lanes_.travel(lane) >> shift_; }

  /// Of a lane that goes on from a rank so far from the root.
  Picoseconds price_of(int32_t lane, Picoseconds depth) {
    Picoseconds load = 0;
    for (int32_t wire : lanes_.wires(lane)) load = std::max(load, load_[wire]);
    const Picoseconds held = hold(lane);
    const Picoseconds noise =
        held * growth_.noise_percent / 100 * static_cast<Picoseconds>(random_.next() & 1023) / 1024;
    // The depth counts against long chains: with nothing but loads, trees would be as thin as paths, quick for
    // bandwidth and slow for latency.
    return load + held + (depth + travel(lane)) * growth_.depth_percent / 100 + noise;
  }

  void charge(std::span<const int32_t> link_of, int sign) {
    for (int32_t link : link_of) {
      if (link == kNoLink) continue;
      const int32_t lane = lanes_.of(link);
      for (int32_t wire : lanes_.wires(lane)) load_[wire] += sign * hold(lane);
    }
  }

  const Network& network_;
  const Lanes& lanes_;
  const Growth& growth_;
  const int shift_;
  Random random_;
  std::vector<Picoseconds> load_;   ///< [wire] how long the trees hold it
  std::vector<Picoseconds> depth_;  ///< [rank] time from the root
  std::vector<Picoseconds> price_;  ///< [rank] the least price of a link into it
  std::vector<char> inside_;
  std::vector<Candidate> heap_;
};

}  // namespace

Picoseconds pack(const Network& network, const Lanes& lanes, const Growth& growth, uint64_t seed, const Stop& stop,
                 Trees& trees) {
  const Orientation forwards{network.out, network.dst}, backwards{network.in, network.src};
  Packer packer(network, lanes, growth, seed, spare_bits(lanes, growth, trees));
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
