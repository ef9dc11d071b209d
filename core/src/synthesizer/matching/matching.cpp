#include "hocket/synthesizer/matching/matching.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "agenda.hpp"
#include "hocket/synthesizer/matching/bit_rows.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kNone = -1;

/// Where each chunk is or will be once what flies has landed, counted at one level of closeness.
/// Counting what is promised, not only what is there: two slow links into a cluster would else both bring the chunk.
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

/// One attempt: a discrete-event simulation in which free links choose. It ends with a schedule, or as soon as one as
/// quick as the best so far is out of reach.
class Run {
 public:
  Run(const Task& task, const Policy& policy, uint64_t seed, const Stop& stop)
      : network_(task.network),
        clusters_(task.clusters),
        demand_(task.demand),
        shortest_(task.shortest),
        policy_(policy),
        random_(seed),
        num_chunks_(demand_.num_chunks()),
        words_(demand_.words()),
        holds_(network_.num_ranks, words_),
        wants_(demand_.lacking()),
        lacks_(wants_),
        num_lacking_(network_.num_ranks, 0),
        lackers_(num_chunks_, (network_.num_ranks + 63) / 64),
        agenda_(network_, task.bundles) {
    for (int32_t count : clusters_.num_clusters) spread_.emplace_back(count, num_chunks_, words_);
    if (may_relay(demand_)) take_relays(plan_relays(network_, demand_, seed, stop));
    rank_priorities();
    for (int32_t rank = 0; rank < network_.num_ranks; rank++) {
      stop.check();
      remaining_ += count(wants_[rank]);
      num_lacking_[rank] = count(lacks_[rank]);
      for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
        if (test(lacks_[rank], chunk)) insert(lackers_[chunk], rank);
      }
    }
    for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
      insert(holds_[demand_.origin[chunk]], chunk);
      spread(demand_.origin[chunk], chunk);
    }
  }

  /// Does what `past` did before the time `until`.
  // Transfers are in the order of their starts, so what lands before a start is done first, as it was then.
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
      if (time_ >= below_ps) return std::nullopt;
      stop.check();
      stop.report(total - remaining_, total);
      if (remaining_ == 0) {
        if (relays_) prune(result_, network_, demand_);
        return std::move(result_);
      }
      // Nothing flies, so nobody will wake a link; what holds the rest back can only be the rules for slow links. Once
      // without them, and if that starts nothing either, there is no way.
      if (events_.empty()) {
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
  int32_t count(const uint64_t* set) const {
    return std::accumulate(set, set + words_, 0, [](int32_t sum, uint64_t word) { return sum + std::popcount(word); });
  }

  /// What a rank is to pass on it lacks as well.
  void take_relays(const BitRows& relays) {
    relays_ = true;
    for (int32_t rank = 0; rank < network_.num_ranks; rank++) {
      for (int32_t word = 0; word < words_; word++) lacks_[rank][word] |= relays[rank][word];
    }
  }

  /// The chunks of each priority, the first first; no rows where all are alike.
  void rank_priorities() {
    std::vector<int32_t> levels = demand_.priority;
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (levels.size() < 2) return;
    for (const int32_t level : levels) {
      BitRows& chunks = priorities_.emplace_back(1, words_);
      for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
        if (demand_.priority[chunk] == level) insert(chunks[0], chunk);
      }
    }
  }

  /// From now on the chunk counts as being at the rank: it is there, or on its way.
  void promise(int32_t rank, int32_t chunk) {
    num_lacking_[rank] -= test(lacks_[rank], chunk);  // a relay of the past need not be one now
    erase(lacks_[rank], chunk);
    erase(lackers_[chunk], rank);
    remaining_ -= test(wants_[rank], chunk);
    spread(rank, chunk);
  }

  void spread(int32_t rank, int32_t chunk) {
    for (size_t level = 0; level < spread_.size(); level++) {
      spread_[level].add(clusters_.cluster[level][rank], chunk);
    }
  }

  Network::Times times(int32_t link, int32_t chunk) const {
    return network_.times(link, demand_.bytes.empty() ? network_.chunk_bytes : demand_.bytes[chunk]);
  }

  void start(int32_t link, int32_t chunk) {
    promise(network_.dst[link], chunk);
    const auto [hold, travel] = times(link, chunk);
    const Picoseconds freed = now_ + hold, landed = within_horizon(now_ + travel);
    if (freed < landed) events_[freed].push_back({link, kNone});
    events_[landed].push_back({link, chunk});
    result_.add(chunk, link, now_, landed);
    if (test(wants_[network_.dst[link]], chunk)) time_ = std::max(time_, landed);
  }

  /// Goes to the next time at which something happens and does all that happens then.
  void advance() {
    const auto next = events_.begin();
    now_ = next->first;
    for (const auto [link, chunk] : next->second) {
      if (chunk == kNone) {
        agenda_.release(link);
        continue;
      }
      if (const auto [hold, travel] = times(link, chunk); hold == travel) agenda_.release(link);
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
      // Into a cluster that lacks the chunk altogether: the one kind of chunk that only a slow link can bring. The key
      // then is how few clusters have it, and how few in this one do: others here may bring it over their own slow
      // links.
      const uint64_t* seen = spread.seen[clusters_.cluster[level][dst]];
      const uint32_t* holders = spread.holders_in(clusters_.cluster[level][src]);
      const int32_t chunk = pick(link, spread.clusters, holders, [&](int w) { return held[w] & lacked[w] & ~seen[w]; });
      if (chunk != kNone) return chunk;
    }
    if (!worth_it) return kNone;
    // Else anything that dst lacks, rarest first, as in swarms (BitTorrent's local rarest first): what few hold blocks
    // most ranks later.
    const uint32_t* holders = spread_[level + 1].holders_in(clusters_.cluster[level + 1][dst]);
    return pick(link, spread_[0].clusters, holders, [&](int w) { return held[w] & lacked[w]; });
  }

  template <typename Word>
  int32_t pick(int32_t link, const std::vector<uint32_t>& clusters, const uint32_t* holders, const Word& word) {
    // Strict: a lower priority has a turn only where none of a higher one could go on this link.
    for (const BitRows& chunks : priorities_) {
      const int32_t chunk = pick_any(link, clusters, holders, [&](int w) { return word(w) & chunks[0][w]; });
      if (chunk != kNone) return chunk;
    }
    return priorities_.empty() ? pick_any(link, clusters, holders, word) : kNone;
  }

  template <typename Word>
  int32_t pick_any(int32_t link, const std::vector<uint32_t>& clusters, const uint32_t* holders, const Word& word) {
    if (policy_.on_path) {
      const uint64_t* shortest = shortest_.data() + static_cast<size_t>(link) * words_;
      const int32_t chunk = sample(clusters, holders, [&](int w) { return word(w) & shortest[w]; });
      if (chunk != kNone) return chunk;
    }
    return sample(clusters, holders, word);
  }

  /// A sample instead of all: the best of eight random ones is nearly the best of all, at a cost that does not grow
  /// with the number of chunks, and chance keeps the links of a rank from all taking the same one. The best of the
  /// first few candidates at and after a random place, or kNone. `word(w)`: candidates 64w..64w+63.
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
    int32_t rank = 0;
    while (num_lacking_[rank] == 0) rank++;
    int32_t chunk = 0;
    while (!test(lacks_[rank], chunk)) chunk++;
    std::vector<bool> allowed(network_.num_ranks);
    for (const int32_t set : {demand_.wanted[chunk], demand_.through[chunk]}) {
      for (const int32_t member : demand_.sets.of(set)) allowed[member] = true;
    }
    const int32_t origin = demand_.origin[chunk];
    throw_cut_off(network_.reached_from(origin, allowed), chunk, origin);
  }

  const Network& network_;
  const Clusters& clusters_;
  const Demand& demand_;
  std::span<const uint64_t> shortest_;
  const Policy& policy_;
  Random random_;
  int32_t num_chunks_;
  int32_t words_;
  BitRows holds_;                     ///< [rank] chunks that have landed
  BitRows wants_;                     ///< [rank] chunks that it wants and did not hold at first
  BitRows lacks_;                     ///< [rank] chunks to have that are neither there nor on their way
  bool relays_ = false;               ///< whether some are only to be passed on
  std::vector<BitRows> priorities_;   ///< [priority][0]
  std::vector<int32_t> num_lacking_;  ///< [rank]
  int64_t remaining_ = 0;             ///< pairs of rank and wanted chunk that is neither there nor on its way
  BitRows lackers_;                   ///< [chunk] ranks that lack it
  Agenda agenda_;
  std::vector<Spread> spread_;  ///< [level]
  std::map<Picoseconds, std::vector<Event>> events_;
  Picoseconds now_ = 0;
  Picoseconds time_ = 0;  ///< when the last wanted chunk lands
  bool forced_ = false;   ///< nothing flies and work is left: links go without the rules for slow ones
  Transfers result_;
};

}  // namespace

std::optional<Transfers> match(const Task& task, const Policy& policy, uint64_t seed, Picoseconds below_ps, Stop& stop,
                               const Past& past) {
  Run run(task, policy, seed, stop);
  if (past.transfers != nullptr) run.follow(*past.transfers, past.until);
  return run.solve(below_ps, stop);
}

}  // namespace hocket::synthesizer
