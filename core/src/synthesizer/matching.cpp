#include "hocket/synthesizer/matching.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "hocket/synthesizer/agenda.hpp"
#include "hocket/synthesizer/bit_rows.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kNone = -1;

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

/// A chunk gets from a link to its dst, or (kNone) only the wires of the link become free.
struct Event {
  int32_t link;
  int32_t chunk;
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
        lackers_(num_chunks_, (network_.num_ranks + 63) / 64),
        agenda_(network_, task.bundles) {
    for (int32_t count : clusters_.num_clusters) spread_.emplace_back(count, num_chunks_, words_);
    for (int32_t rank = 0; rank < network_.num_ranks; rank++) {
      for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
        insert(lacks_[rank], chunk);
        insert(lackers_[chunk], rank);
      }
    }
    for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
      insert(holds_[origin_[chunk]], chunk);
      promise(origin_[chunk], chunk);
    }
  }

  /// Does what `past` did before the time `until`.
  void follow(const Transfers& past, Picoseconds until) {
    for (size_t id = 0; id < past.chunk.size() && past.start[id] < until; id++) {
      while (!events_.empty() && events_.begin()->first <= past.start[id]) advance();
      now_ = past.start[id];
      agenda_.occupy(past.link[id]);
      start(past.link[id], past.chunk[id]);
    }
  }

  std::optional<Transfers> solve(Picoseconds below_ps, Stop& stop) {
    const int64_t total = remaining_;
    result_.reserve(static_cast<size_t>(total));
    while (true) {
      agenda_.run(random_.next(), [&](int32_t link) {
        const int32_t chunk = choose(link);
        if (chunk != kNone) start(link, chunk);
        return chunk != kNone;
      });
      if (result_.time >= below_ps) return std::nullopt;
      stop.check();
      stop.report(total - remaining_, total);
      if (events_.empty()) {
        if (remaining_ == 0) return std::move(result_);
        if (forced_) throw_stuck();
        forced_ = true;
        agenda_.wake_all();
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
    erase(lackers_[chunk], rank);
    num_lacking_[rank]--;
    remaining_--;
    for (size_t level = 0; level < spread_.size(); level++) {
      spread_[level].add(clusters_.cluster[level][rank], chunk);
    }
  }

  void start(int32_t link, int32_t chunk) {
    promise(network_.dst[link], chunk);
    const Picoseconds freed = now_ + network_.hold[link], landed = within_horizon(now_ + network_.travel[link]);
    if (freed < landed) events_[freed].push_back({link, kNone});
    events_[landed].push_back({link, chunk});
    result_.add(chunk, link, now_, landed);
  }

  /// Goes to the next time at which something happens and does all that happens then.
  void advance() {
    const auto next = events_.begin();
    now_ = next->first;
    for (const auto [link, chunk] : next->second) {
      if (chunk == kNone || network_.hold[link] == network_.travel[link]) agenda_.release(link);
      if (chunk == kNone) continue;
      insert(holds_[network_.dst[link]], chunk);
      agenda_.land(network_.dst[link], lackers_[chunk]);
    }
    events_.erase(next);
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
  BitRows lackers_;                   ///< [chunk] ranks that lack it
  Agenda agenda_;
  std::vector<Spread> spread_;  ///< [level]
  std::map<Picoseconds, std::vector<Event>> events_;
  Picoseconds now_ = 0;
  bool forced_ = false;  ///< nothing flies and work is left: links go without the rules for slow ones
  Transfers result_;
};

}  // namespace

std::optional<Transfers> match(const Task& task, const Policy& policy, uint64_t seed, Picoseconds below_ps, Stop& stop,
                               const Past& past) {
  Run run(task, policy, seed);
  if (past.transfers != nullptr) run.follow(*past.transfers, past.until);
  return run.solve(below_ps, stop);
}

}  // namespace hocket::synthesizer
