#include "hocket/synthesizer/matching.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kNone = -1;

/// Sets of chunks, one a row.
class BitRows {
 public:
  BitRows(int32_t rows, int32_t words) : words_(words), bits_(static_cast<size_t>(rows) * words, 0) {}
  uint64_t* operator[](int32_t row) { return bits_.data() + static_cast<size_t>(row) * words_; }

 private:
  int32_t words_;
  std::vector<uint64_t> bits_;
};

bool test(const uint64_t* set, int32_t chunk) { return set[chunk >> 6] >> (chunk & 63) & 1; }
void insert(uint64_t* set, int32_t chunk) { set[chunk >> 6] |= uint64_t{1} << (chunk & 63); }
void erase(uint64_t* set, int32_t chunk) { set[chunk >> 6] &= ~(uint64_t{1} << (chunk & 63)); }

/// Where each chunk is or will be once what flies has landed, counted at one level of closeness.
struct Spread {
  Spread(int32_t num_clusters, int32_t num_chunks, int32_t words)
      : num_chunks(num_chunks),
        seen(num_clusters, words),
        holders(static_cast<size_t>(num_clusters) * num_chunks, 0),
        clusters(num_chunks, 0) {}

  uint32_t* holders_in(int32_t cluster) { return holders.data() + static_cast<size_t>(cluster) * num_chunks; }
  void add(int32_t cluster, int32_t chunk) {
    if (!test(seen[cluster], chunk)) clusters[chunk]++;
    insert(seen[cluster], chunk);
    holders_in(cluster)[chunk]++;
  }

  int32_t num_chunks;
  BitRows seen;                    ///< [cluster] chunks that a member holds
  std::vector<uint32_t> holders;   ///< [cluster][chunk] members that hold it
  std::vector<uint32_t> clusters;  ///< [chunk] clusters with a member that holds it
};

/// What happens at a time: link `link` becomes free (chunk kNone) or its chunk lands.
struct Event {
  Picoseconds time;
  int32_t link;
  int32_t chunk;
  auto operator<=>(const Event&) const = default;
};

class Run {
 public:
  Run(const Task& task, const Policy& policy, uint64_t seed)
      : network_(task.network),
        clusters_(task.clusters),
        origin_(task.origin),
        shortest_(task.shortest),
        policy_(policy),
        random_(seed),
        num_chunks_(static_cast<int32_t>(origin_.size())),
        words_((num_chunks_ + 63) / 64),
        holds_(network_.num_ranks, words_),
        lacks_(network_.num_ranks, words_),
        num_lacking_(network_.num_ranks, num_chunks_),
        remaining_(static_cast<int64_t>(network_.num_ranks) * num_chunks_),
        busy_(network_.users.size(), 0),
        pending_(network_.num_links(), 0) {
    for (int32_t count : clusters_.num_clusters) spread_.emplace_back(count, num_chunks_, words_);
    for (int32_t rank = 0; rank < network_.num_ranks; rank++) {
      for (int32_t chunk = 0; chunk < num_chunks_; chunk++) insert(lacks_[rank], chunk);
    }
    for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
      insert(holds_[origin_[chunk]], chunk);
      promise(origin_[chunk], chunk);
    }
  }

  std::optional<Transfers> solve(Picoseconds below_ps, Stop& stop) {
    const int64_t total = remaining_;
    result_.reserve(static_cast<size_t>(total));
    wake_all();
    while (true) {
      start_pending();
      if (result_.time >= below_ps) return std::nullopt;
      stop.check();
      stop.report(total - remaining_, total);
      if (events_.empty()) {
        if (remaining_ == 0) return std::move(result_);
        if (forced_) throw_stuck();
        forced_ = true;
        wake_all();
      } else {
        forced_ = false;
        advance();
      }
    }
  }

 private:
  /// From now on the chunk counts as being at the rank: it is there, or on its way.
  void promise(int32_t rank, int32_t chunk) {
    erase(lacks_[rank], chunk);
    num_lacking_[rank]--;
    remaining_--;
    for (size_t level = 0; level < spread_.size(); level++) {
      spread_[level].add(clusters_.cluster[level][rank], chunk);
    }
  }

  void wake(int32_t link) {
    if (pending_[link]) return;
    pending_[link] = 1;
    order_.push_back({network_.travel[link], 0, link});
  }

  void wake_all() {
    for (int32_t link = 0; link < network_.num_links(); link++) wake(link);
  }

  /// Lets every link that might have become able to carry something try, fast ones first.
  void start_pending() {
    // All pairs of one displacement come together: on a switch they are a perfect matching of its ports.
    const uint64_t salt = random_.next();
    for (Try& candidate : order_) {
      const int32_t shift = network_.dst[candidate.link] - network_.src[candidate.link];
      candidate.lot = hash(salt + static_cast<uint64_t>(shift < 0 ? shift + network_.num_ranks : shift));
    }
    std::sort(order_.begin(), order_.end());
    for (const Try& candidate : order_) {
      pending_[candidate.link] = 0;
      const int32_t chunk = free(candidate.link) ? choose(candidate.link) : kNone;
      if (chunk != kNone) start(candidate.link, chunk);
    }
    order_.clear();
  }

  bool free(int32_t link) const {
    for (int32_t physical : network_.path[link]) {
      if (busy_[physical]) return false;
    }
    return true;
  }

  void start(int32_t link, int32_t chunk) {
    for (int32_t physical : network_.path[link]) busy_[physical] = 1;
    promise(network_.dst[link], chunk);
    events_.push({now_ + network_.hold[link], link, kNone});
    events_.push({within_horizon(now_ + network_.travel[link]), link, chunk});
    result_.add(chunk, link, now_, now_ + network_.travel[link]);
  }

  /// Goes to the next time at which something happens and does all that happens then.
  void advance() {
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.chunk == kNone) {
        for (int32_t physical : network_.path[event.link]) {
          busy_[physical] = 0;
          for (int32_t link : network_.users[physical]) wake(link);
        }
      } else {
        const int32_t rank = network_.dst[event.link];
        insert(holds_[rank], event.chunk);
        for (int32_t link : network_.out[rank]) wake(link);
      }
    }
  }

  /// The chunk that a free link carries next, or kNone.
  int32_t choose(int32_t link) {
    const int32_t src = network_.src[link], dst = network_.dst[link];
    if (num_lacking_[dst] == 0) return kNone;
    const int32_t level = clusters_.link_class[link];
    const uint64_t *held = holds_[src], *lacked = lacks_[dst];
    // Hundredths of the link's time that the faster links need for all that dst still lacks.
    const int64_t faster = clusters_.faster_percent[link];
    const bool worth_it = forced_ || !policy_.clusters || faster == 0 ||
                          static_cast<int64_t>(num_lacking_[dst]) * 10'000 >= policy_.patience_percent * faster;
    if (policy_.clusters && level > 0 && clusters_.bridge(network_, link)) {
      Spread& spread = spread_[level];
      const uint64_t* seen = spread.seen[clusters_.cluster[level][dst]];
      const uint32_t* holders = spread.holders_in(clusters_.cluster[level][src]);
      const int32_t chunk = pick(link, spread.clusters, holders, [&](int w) { return held[w] & ~seen[w]; });
      if (chunk != kNone) return chunk;
    }
    if (!worth_it) return kNone;
    const uint32_t* holders = spread_[level + 1].holders_in(clusters_.cluster[level + 1][dst]);
    return pick(link, spread_[0].clusters, holders, [&](int w) { return held[w] & lacked[w]; });
  }

  template <typename Word>
  int32_t pick(int32_t link, const std::vector<uint32_t>& clusters, const uint32_t* holders, const Word& word) {
    if (policy_.on_path) {
      const uint64_t* shortest = shortest_.data() + static_cast<size_t>(link) * words_;
      const int32_t chunk = sample(clusters, holders, [&](int w) { return word(w) & shortest[w]; });
      if (chunk != kNone) return chunk;
    }
    return sample(clusters, holders, word);
  }

  /// The best of the first few candidates at and after a random place, or kNone. `word(w)`: candidates 64w..64w+63.
  template <typename Word>
  int32_t sample(const std::vector<uint32_t>& clusters, const uint32_t* holders, const Word& word) {
    const uint64_t lot = random_.next();
    int w = static_cast<int>((lot >> 32) % words_);
    std::pair<uint32_t, uint32_t> best_key{std::numeric_limits<uint32_t>::max(), 0};
    int32_t best = kNone;
    int left = policy_.sample;
    for (int scanned = 0; scanned < words_; scanned++, w = w + 1 == words_ ? 0 : w + 1) {
      uint64_t candidates = word(w);
      for (int bit = static_cast<int>(lot & 63); candidates != 0;) {
        bit = bit_from(candidates, bit);
        candidates &= ~(uint64_t{1} << bit);
        const int32_t chunk = w * 64 + bit;
        const std::pair key{policy_.rarest_first ? clusters[chunk] : 0, holders[chunk]};
        if (key < best_key) std::tie(best_key, best) = std::pair{key, chunk};
        if (--left == 0) return best;
      }
    }
    return best;
  }

  [[noreturn]] void throw_stuck() {
    for (int32_t rank = 0;; rank++) {
      for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
        if (test(lacks_[rank], chunk)) throw_unreachable(chunk, origin_[chunk], rank);
      }
    }
  }

  struct Try {
    Picoseconds travel;
    uint64_t lot;
    int32_t link;
    auto operator<=>(const Try&) const = default;
  };

  const Network& network_;
  const Clusters& clusters_;
  std::span<const int32_t> origin_;
  std::span<const uint64_t> shortest_;
  const Policy& policy_;
  Random random_;
  int32_t num_chunks_;
  int32_t words_;
  BitRows holds_;                     ///< [rank] chunks that have landed
  BitRows lacks_;                     ///< [rank] chunks that are neither there nor on their way
  std::vector<int32_t> num_lacking_;  ///< [rank]
  int64_t remaining_;                 ///< sum of num_lacking_
  std::vector<char> busy_;            ///< [physical link]
  std::vector<char> pending_;         ///< [link] whether it is in order_
  std::vector<Try> order_;            ///< links to try at this time
  std::vector<Spread> spread_;        ///< [level]
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Picoseconds now_ = 0;
  bool forced_ = false;  ///< nothing flies and work is left: links go without the rules for slow ones
  Transfers result_;
};

}  // namespace

std::optional<Transfers> match(const Task& task, const Policy& policy, uint64_t seed, Picoseconds below_ps,
                               Stop& stop) {
  return Run(task, policy, seed).solve(below_ps, stop);
}

}  // namespace hocket::synthesizer
