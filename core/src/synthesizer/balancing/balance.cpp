#include "hocket/synthesizer/balancing/balance.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::synthesizer {
namespace {

/// Bytes are counted in units of which all chunks together have at most 2^30; loads, units times the slowness of hops,
/// are seen in 2^10 parts of the largest.
constexpr int kBytesBits = 30, kLoadBits = 10;
/// The price of a port without load, of 2^20 for the largest load: a path that needs no more than others is preferred
/// until the ports on it are loaded with about a third of the largest load.
constexpr int64_t kIdle = 1 << 14;

/// Passes end, the third at the earliest, when one takes less than such a part off the largest load.
constexpr int64_t kWorthIt = 100;

class Balancer {
 public:
  Balancer(const Alternatives& alternatives, const PairChunks& chunks)
      : alternatives_(alternatives), chunks_(chunks), load_(alternatives.num_ports), path_(chunks.size(), -1) {
    scale();
    order_.resize(chunks.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, [&](int32_t a, int32_t b) { return chunks_.bytes[a] > chunks_.bytes[b]; });
  }

  std::vector<int32_t> run(int32_t passes) {
    if (chunks_.size() == 0) return {};  // there may be no port either
    take_first_paths();
    int64_t largest = std::ranges::max(load_);
    for (int32_t pass = 0; pass < passes; pass++) {
      see_from(largest);
      if (pass == 0) std::ranges::fill(load_, 0);
      bool changed = false;
      for (const int32_t chunk : order_) changed |= place(chunk, pass > 0);
      const int64_t before = std::exchange(largest, std::ranges::max(load_));
      if (!changed || (pass > 1 && largest >= before - before / kWorthIt)) break;
    }
    return std::move(path_);
  }

 private:
  void scale() {
    // Sums over chunks: 2^55 bytes at most, as the collective says.
    const int64_t total = std::accumulate(chunks_.bytes.begin(), chunks_.bytes.end(), int64_t{0});
    bytes_shift_ = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(total))) - kBytesBits);
  }

  /// The latency of a hop as the load that the fastest one would carry meanwhile.
  int64_t latency(int32_t hop) const {
    return (alternatives_.latency_bytes[hop] >> bytes_shift_) << Alternatives::kSlownessBits;
  }

  int64_t units(int32_t chunk) const { return (chunks_.bytes[chunk] >> bytes_shift_) + 1; }

  /// Loads as if every chunk took its pair's cheapest path: the scale in which the first pass sees loads, which is at
  /// least as large as the loads that it makes.
  void take_first_paths() {
    for (int32_t chunk = 0; chunk < chunks_.size(); chunk++) {
      const auto [first, last] = alternatives_.paths(chunks_.pair[chunk]);
      if (first == last) {
        const int32_t src = chunks_.pair[chunk] / alternatives_.num_ranks;
        const int32_t dst = chunks_.pair[chunk] % alternatives_.num_ranks;
        throw Infeasible("no path of links joins rank " + std::to_string(src) + " and rank " + std::to_string(dst) +
                         " in this direction; connect them");
      }
      path_[chunk] = first;
      load(chunk, 1);
    }
  }

  void see_from(int64_t largest) {
    load_shift_ = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(largest))) - kLoadBits);
  }

  void load(int32_t chunk, int64_t sign) {
    const int64_t size = units(chunk) * sign;
    for (const int32_t hop : alternatives_.path_hops[path_[chunk]]) {
      for (const int32_t port : alternatives_.hop_ports[hop]) load_[port] += size * alternatives_.slowness[hop];
    }
  }

  /// Whether the chunk has another path than before (`again`: it was taken off that first).
  bool place(int32_t chunk, bool again) {
    const int32_t before = path_[chunk];
    if (again) load(chunk, -1);
    const auto [first, last] = alternatives_.paths(chunks_.pair[chunk]);
    __int128 least = 0;
    for (int32_t path = first; path < last; path++) {
      const __int128 here = cost(path, units(chunk));
      if (path > first && here >= least) continue;
      least = here;
      path_[chunk] = path;
    }
    load(chunk, 1);
    return path_[chunk] != before;
  }

  /// What the chunk would add to the sum over ports of the fifth power of their loads, or nearly so: its own load times
  /// the fourth power of the load with it. Ports that are hardly loaded cost by the time on them and by latency alone.
  __int128 cost(int32_t path, int64_t size) const {
    __int128 sum = 0;
    for (const int32_t hop : alternatives_.path_hops[path]) {
      const int64_t held = size * alternatives_.slowness[hop];
      int64_t price = 0;
      for (const int32_t port : alternatives_.hop_ports[hop]) {
        const int64_t seen = std::min<int64_t>((load_[port] + held) >> load_shift_, int64_t{1} << (kLoadBits + 2));
        const int64_t square = seen * seen >> kLoadBits;
        price += (square * square) + kIdle;
      }
      sum += static_cast<__int128>(held) * price + static_cast<__int128>(latency(hop)) * kIdle;
    }
    return sum;
  }

  const Alternatives& alternatives_;
  PairChunks chunks_;
  int bytes_shift_ = 0, load_shift_ = 0;
  std::vector<int64_t> load_;          // of a port
  std::vector<int32_t> path_, order_;  // of a chunk; the largest first
};

}  // namespace

std::vector<int32_t> balance(const Alternatives& alternatives, const PairChunks& chunks, int32_t passes) {
  return Balancer(alternatives, chunks).run(passes);
}

}  // namespace hocket::synthesizer
