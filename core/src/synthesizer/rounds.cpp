#include "hocket/synthesizer/rounds.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <bit>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kBlockBits = 512;  ///< a cache line of chunks
constexpr int32_t kLog = 32;         ///< arrivals remembered for each rank
constexpr uint32_t kNone = ~uint32_t{0};

/// One bit a chunk.
struct alignas(64) Block {
  std::array<uint64_t, 8> word{};

  void insert(uint32_t id) { word[id >> 6 & 7] |= uint64_t{1} << (id & 63); }
  void erase(uint32_t id) { word[id >> 6 & 7] &= ~(uint64_t{1} << (id & 63)); }
  bool contains(uint32_t id) const { return word[id >> 6 & 7] >> (id & 63) & 1; }
  bool any() const {
    return std::any_of(word.begin(), word.end(), [](uint64_t bits) { return bits != 0; });
  }
};

/// Bit w: whether word w of the two blocks has a common chunk.
unsigned common_words(const Block& a, const Block& b) {
  unsigned mask = 0;
  for (int w = 0; w < 8; w++) mask |= static_cast<unsigned>((a.word[w] & b.word[w]) != 0) << w;
  return mask;
}

class Rounds {
 public:
  Rounds(const Network& network, std::span<const int32_t> origin, int64_t rounds_per_hop, uint64_t seed)
      : network_(network),
        origin_(origin),
        seed_(hash(seed)),
        num_blocks_((static_cast<int32_t>(origin.size()) + kBlockBits - 1) / kBlockBits),
        stride_(coprime_stride(num_blocks_)),
        chunk_of_(origin.size()),
        holds_(static_cast<size_t>(num_blocks_) * network.num_ranks),
        lacks_(holds_.size()),
        num_lacking_(network.num_ranks, static_cast<int32_t>(origin.size())),
        first_block_(network.num_ranks, 0),
        log_(static_cast<size_t>(network.num_ranks) * kLog),
        num_arrived_(network.num_ranks, 0),
        exhausted_(network.num_links(), 0),
        num_checked_(network.num_links(), 0),
        delay_(rounds_per_hop),
        length_(rounds_per_hop == 1 ? network.travel.front() : network.hold.front()),
        last_round_((kHorizon - network.travel.front()) / length_),
        picks_(delay_, std::vector<uint32_t>(network.num_links(), kNone)) {
    // Chunks are renamed at random, so that every block holds chunks from everywhere.
    std::iota(chunk_of_.begin(), chunk_of_.end(), 0);
    Random random(seed_);
    for (size_t left = chunk_of_.size(); left > 1; left--)
      std::swap(chunk_of_[left - 1], chunk_of_[random.below(left)]);
    std::vector<Block> all(num_blocks_);
    for (uint32_t id = 0; id < chunk_of_.size(); id++) all[id / kBlockBits].insert(id);
    for (int32_t block = 0; block < num_blocks_; block++) {
      std::fill_n(lacks_.begin() + index(block, 0), network.num_ranks, all[block]);
    }
    for (uint32_t id = 0; id < chunk_of_.size(); id++) {
      const int32_t rank = origin[chunk_of_[id]];
      holds_[index(id / kBlockBits, rank)].insert(id);
      lacks_[index(id / kBlockBits, rank)].erase(id);
      num_lacking_[rank]--;
    }
    remaining_ = std::accumulate(num_lacking_.begin(), num_lacking_.end(), int64_t{0});
    result_.reserve(static_cast<size_t>(remaining_));
  }

  Transfers solve(int threads) {
    bool picking = true;
    bool done = remaining_ == 0;
    // Between two phases one thread alone runs this.
    std::barrier phase(threads, [&]() noexcept {
      if (picking) {
        record();
      } else {
        round_salt_ = hash(seed_ + static_cast<uint64_t>(++round_));
        shared_block_ = static_cast<int32_t>(round_ / 8 * stride_ % num_blocks_);
        done = remaining_ == 0 || idle_rounds_ > delay_ || round_ > last_round_;
      }
      picking = !picking;
    });
    const auto work = [&](int thread) {
      const auto share = [&](int64_t part) { return static_cast<int32_t>(part * network_.num_ranks / threads); };
      while (!done) {
        for (int32_t rank = share(thread); rank < share(thread + 1); rank++) pick(rank);
        phase.arrive_and_wait();
        for (int32_t rank = share(thread); rank < share(thread + 1); rank++) land(rank);
        phase.arrive_and_wait();
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (int thread = 1; thread < threads; thread++) helpers.emplace_back(work, thread);
      work(0);
    }
    if (round_ > last_round_) within_horizon(static_cast<__int128>(round_) * length_);
    if (remaining_ > 0) throw_stuck();
    return std::move(result_);
  }

 private:
  /// How far the shared first block moves: any step that visits every block.
  static int32_t coprime_stride(int32_t num_blocks) {
    int32_t stride = 7;
    while (std::gcd(stride, num_blocks) != 1) stride++;
    return stride;
  }

  /// Block-major: what the ranks of one region read in one round lies together.
  size_t index(int32_t block, int32_t rank) const { return static_cast<size_t>(block) * network_.num_ranks + rank; }

  std::vector<uint32_t>& picks_of(int64_t round) { return picks_[round % delay_]; }

  uint64_t lot(uint64_t what) const { return hash(round_salt_ + what * 0x9e3779b97f4a7c15ULL); }

  /// Chooses a chunk for every link into the rank, all different.
  void pick(int32_t rank) {
    const auto links = network_.in[rank];
    std::vector<uint32_t>& picks = picks_of(round_);
    if (num_lacking_[rank] == 0 || links.empty()) {
      for (int32_t link : links) picks[link] = kNone;
      return;
    }
    int32_t& first = first_block_[rank];
    while (first < num_blocks_ && !lacks_[index(first, rank)].any()) first++;
    size_t at = lot(rank) % links.size();
    for (size_t count = 0; count < links.size(); count++, at = at + 1 == links.size() ? 0 : at + 1) {
      const int32_t link = links[at];
      const uint32_t id = pick_for(link, rank, first);
      picks[link] = id;
      if (id != kNone) lacks_[index(id / kBlockBits, rank)].erase(id);
    }
  }

  uint32_t pick_for(int32_t link, int32_t rank, int32_t first) {
    const int32_t from = network_.src[link];
    if (exhausted_[link] && num_arrived_[from] - num_checked_[link] <= kLog) {
      // A whole search failed before: only what has arrived since can help.
      while (num_checked_[link] < num_arrived_[from]) {
        const uint32_t id = log_[static_cast<size_t>(from) * kLog + num_checked_[link]++ % kLog];
        if (lacks_[index(id / kBlockBits, rank)].contains(id)) return id;
      }
      return kNone;
    }
    exhausted_[link] = 0;
    int32_t block = std::max(first, shared_block_);
    for (int32_t scanned = first; scanned < num_blocks_;
         scanned++, block = block + 1 == num_blocks_ ? first : block + 1) {
      const Block &held = holds_[index(block, from)], &lacked = lacks_[index(block, rank)];
      const unsigned words = common_words(held, lacked);
      if (words == 0) continue;
      const uint64_t random = lot(static_cast<uint64_t>(link) + network_.num_ranks);
      const int w = bit_from(words * 0x0101010101010101ULL, static_cast<int>(random >> 32 & 7)) & 7;
      const int bit = bit_from(held.word[w] & lacked.word[w], static_cast<int>(random & 63));
      return static_cast<uint32_t>(block * kBlockBits + w * 64 + bit);
    }
    exhausted_[link] = 1;
    num_checked_[link] = num_arrived_[from];
    return kNone;
  }

  /// Keeps the picks of this round.
  void record() {
    const size_t before = result_.chunk.size();
    const std::vector<uint32_t>& picks = picks_of(round_);
    for (int32_t link = 0; link < network_.num_links(); link++) {
      if (picks[link] == kNone) continue;
      result_.add(chunk_of_[picks[link]], link, round_ * length_, round_ * length_ + network_.travel[link]);
    }
    const auto picked = static_cast<int64_t>(result_.chunk.size() - before);
    remaining_ -= picked;
    idle_rounds_ = picked == 0 ? idle_rounds_ + 1 : 0;
  }

  /// Makes the picks that have arrived by the next round visible at the rank.
  void land(int32_t rank) {
    const std::vector<uint32_t>& picks = picks_of(round_ + 1);
    if (round_ + 1 < delay_) return;
    for (int32_t link : network_.in[rank]) {
      const uint32_t id = picks[link];
      if (id == kNone) continue;
      holds_[index(id / kBlockBits, rank)].insert(id);
      log_[static_cast<size_t>(rank) * kLog + num_arrived_[rank]++ % kLog] = id;
      num_lacking_[rank]--;
    }
  }

  [[noreturn]] void throw_stuck() const {
    for (int32_t rank = 0;; rank++) {
      for (uint32_t id = 0; id < chunk_of_.size(); id++) {
        if (!lacks_[index(id / kBlockBits, rank)].contains(id)) continue;
        throw_unreachable(chunk_of_[id], origin_[chunk_of_[id]], rank);
      }
    }
  }

  const Network& network_;
  std::span<const int32_t> origin_;
  uint64_t seed_;
  int32_t num_blocks_;
  int64_t stride_;
  std::vector<int32_t> chunk_of_;      ///< the chunk behind each id
  std::vector<Block> holds_;           ///< [block][rank] chunks that may be sent on
  std::vector<Block> lacks_;           ///< [block][rank] chunks neither held nor picked
  std::vector<int32_t> num_lacking_;   ///< [rank] chunks not landed
  std::vector<int32_t> first_block_;   ///< [rank] blocks before it lack nothing
  std::vector<uint32_t> log_;          ///< [rank] last kLog arrivals
  std::vector<uint32_t> num_arrived_;  ///< [rank]
  std::vector<char> exhausted_;        ///< [link] whether a search through all blocks failed
  std::vector<uint32_t> num_checked_;  ///< [link] arrivals of its source seen since
  int64_t delay_;                      ///< rounds from a pick to the first round in which its chunk may be sent on
  Picoseconds length_;                 ///< of a round
  int64_t last_round_;                 ///< whose transfers still finish within the horizon
  std::vector<std::vector<uint32_t>> picks_;  ///< [round mod delay][link]
  int64_t remaining_ = 0;                     ///< pairs of rank and chunk not yet picked
  int64_t round_ = 0;
  uint64_t round_salt_ = seed_;
  int32_t shared_block_ = 0;  ///< where searches begin this round: all ranks read the same region of memory
  int64_t idle_rounds_ = 0;
  Transfers result_;
};

}  // namespace

int64_t rounds_per_hop(const Network& network) {
  return (network.travel.front() + network.hold.front() - 1) / network.hold.front();
}

Transfers match_rounds(const Network& network, std::span<const int32_t> origin, int64_t rounds_per_hop, uint64_t seed,
                       int threads) {
  return Rounds(network, origin, rounds_per_hop, seed).solve(threads);
}

Transfers match_rounds_best(const Network& network, std::span<const int32_t> origin, uint64_t seed, int attempts,
                            Picoseconds target_ps, int threads) {
  if (!network.uniform()) {
    throw ScheduleError("the engine `rounds` needs links that are all alike and join ranks directly; use `matching`");
  }
  Transfers best;
  best.time = std::numeric_limits<Picoseconds>::max();
  for (int attempt = 0; attempt < attempts && best.time > target_ps; attempt++) {
    // Short rounds overlap latency with other chunks' serialization; whole hops lose less when latency is small.
    const int64_t rounds = attempt % 2 == 0 ? rounds_per_hop(network) : 1;
    Transfers found = match_rounds(network, origin, rounds, hash(seed) + attempt, threads);
    if (found.time < best.time) best = std::move(found);
  }
  return best;
}

}  // namespace hocket::synthesizer
