#include "hocket/schedule/verify_folded.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <string>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/huge_pages.hpp"

namespace hocket::schedule {
namespace {

/// Two bits a pair of representative rank and chunk: whether it holds it, and whether it holds it or is being sent it.
/// A billion transfers pass here, each with two random accesses to memory, which is all that takes time: hence batches
/// with prefetches, and pages of 2 MiB.
class SpreadChecker final : public FoldedChecker {
 public:
  SpreadChecker(const RouteTable& routes, std::span<const int32_t> orbit, const Symmetry& symmetry,
                const FoldedConditions& conditions)
      : FoldedChecker(routes, orbit, symmetry, conditions),
        words_((conditions.num_chunks + 63) / 64),
        words_of_all_(huge_table<Word>(representatives_.size() * words_)) {
    for (size_t at = 0; at < representatives_.size(); at++) {
      const int32_t rank = representatives_[at];
      const bool each = conditions_.spread == Spread::kFromEach;
      if (!each && rank != conditions_.root) continue;
      const int64_t first = each ? int64_t{rank} * conditions_.chunks_per_rank : 0;
      for (int64_t chunk = first; chunk < first + conditions_.chunks_per_rank; chunk++) {
        const uint64_t bit = bit_of(static_cast<int32_t>(at), chunk);
        word_of(bit).held |= 1ull << (bit % 64);
        word_of(bit).coming |= 1ull << (bit % 64);
      }
    }
  }

  void finish() override {
    arrive(kNever);
    for (size_t at = 0; at < representatives_.size(); at++) {
      for (int64_t word = 0; word < words_; word++) {
        const int64_t chunks = std::min<int64_t>(64, conditions_.num_chunks - word * 64);
        const uint64_t missing = (~0ull >> (64 - chunks)) & ~words_of_all_[at * words_ + word].held;
        if (missing == 0) continue;
        const std::string chunk = "chunk " + std::to_string(word * 64 + std::countr_zero(missing));
        const std::string rank = "rank " + std::to_string(representatives_[at]);
        throw ScheduleError(conditions_.mirrored
                                ? "the contribution of " + rank + " to " + chunk + " never gets to where it is summed"
                                : rank + " must hold " + chunk + " at the end, but never gets it");
      }
    }
  }

 private:
  void move(Picoseconds start, std::span<const int32_t> routes, std::span<const int32_t> chunks) override {
    arrive(start);
    for (size_t begin = 0; begin < routes.size(); begin += kBatch) {
      const size_t end = std::min(begin + kBatch, routes.size());
      for (size_t i = begin; i < end; i++) {
        const Way& way = ways_[routes[i]];
        from_[i - begin] = bit_of(way.from.orbit, image(way.from.home, chunks[i]));
        to_[i - begin] = bit_of(way.to.orbit, image(way.to.home, chunks[i]));
        __builtin_prefetch(&word_of(from_[i - begin]));
        __builtin_prefetch(&word_of(to_[i - begin]), 1);
      }
      for (size_t i = begin; i < end; i++) send(start, i, routes[i], chunks[i], from_[i - begin], to_[i - begin]);
    }
  }

  void send(Picoseconds start, size_t i, int32_t route, int32_t chunk, uint64_t from, uint64_t to) {
    const Way& way = ways_[route];
    if ((word_of(from).held >> (from % 64) & 1) == 0) {
      const std::string rank = "rank " + std::to_string(way.from.rank);
      throw ScheduleError(describe(i, route, chunk) + ": " + rank +
                          (conditions_.mirrored ? " sends its sum of the chunk on before this part arrives"
                                                : " does not hold the chunk when it sends it"));
    }
    // Once is enough to prove the mirror image: see the class comment of FoldedChecker.
    uint64_t& coming = word_of(to).coming;
    if ((coming >> (to % 64) & 1) != 0) {
      const std::string rank = "rank " + std::to_string(way.to.rank);
      throw ScheduleError(describe(i, route, chunk) + ": " + rank +
                          (conditions_.mirrored ? " sends its sum of the chunk a second time"
                                                : " gets the chunk a second time, or holds it from the begin"));
    }
    coming |= 1ull << (to % 64);
    const Picoseconds finish = start + way.duration;
    if (finish != latest_) {
      latest_ = finish;
      arrivals_ = &coming_at_[finish];
    }
    arrivals_->push_back(to);
  }

  int64_t image(int64_t element, int32_t chunk) const {
    if (element == 0) return chunk;
    const int32_t block = chunk / conditions_.chunks_per_rank;
    return int64_t{symmetry_.act(element, block)} * conditions_.chunks_per_rank + chunk % conditions_.chunks_per_rank;
  }

  uint64_t bit_of(int32_t orbit, int64_t chunk) const { return (orbit * words_) * 64 + chunk; }

  /// What finishes up to now is held from now on.
  void arrive(Picoseconds now) {
    while (!coming_at_.empty() && coming_at_.begin()->first <= now) {
      if (coming_at_.begin()->first == latest_) latest_ = kNever;
      const std::vector<uint64_t>& bits = coming_at_.begin()->second;
      for (size_t i = 0; i < bits.size(); i++) {
        if (i + kBatch < bits.size()) __builtin_prefetch(&word_of(bits[i + kBatch]), 1);
        word_of(bits[i]).held |= 1ull << (bits[i] % 64);
      }
      coming_at_.erase(coming_at_.begin());
    }
  }

  /// What a rank has of 64 chunks. What is coming now is held soon: both are in one cache line.
  struct Word {
    uint64_t held;
    uint64_t coming;
  };
  Word& word_of(uint64_t bit) { return words_of_all_[bit / 64]; }

  static constexpr size_t kBatch = 32;  // accesses to memory on their way at once

  const int64_t words_;  // of a rank
  std::vector<Word> words_of_all_;
  std::array<uint64_t, kBatch> from_, to_;
  std::map<Picoseconds, std::vector<uint64_t>> coming_at_;
  Picoseconds latest_ = kNever;  // the time that `arrivals_` are for
  std::vector<uint64_t>* arrivals_ = nullptr;
};

/// Every chunk whose source represents others is at one rank, and may leave it from some time on.
class PacketChecker final : public FoldedChecker {
 public:
  PacketChecker(const RouteTable& routes, std::span<const int32_t> orbit, const Symmetry& symmetry,
                const FoldedConditions& conditions)
      : FoldedChecker(routes, orbit, symmetry, conditions),
        chunks_of_rank_(int64_t{num_ranks()} * conditions.chunks_per_rank),
        packets_(representatives_.size() * chunks_of_rank_),
        orbit_of_(num_ranks()) {
    for (size_t at = 0; at < representatives_.size(); at++) {
      orbit_of_[representatives_[at]] = static_cast<int32_t>(at);
      std::fill_n(packets_.begin() + at * chunks_of_rank_, chunks_of_rank_, Packet{representatives_[at], 0});
    }
  }

  void finish() override {
    for (size_t at = 0; at < packets_.size(); at++) {
      const int64_t wanted = at % chunks_of_rank_ / conditions_.chunks_per_rank;
      if (packets_[at].at == wanted) continue;
      const int64_t chunk = representatives_[at / chunks_of_rank_] * chunks_of_rank_ + at % chunks_of_rank_;
      throw ScheduleError("rank " + std::to_string(wanted) + " must hold chunk " + std::to_string(chunk) +
                          " at the end, but it stays at rank " + std::to_string(packets_[at].at));
    }
  }

 private:
  void move(Picoseconds start, std::span<const int32_t> routes, std::span<const int32_t> chunks) override {
    for (size_t i = 0; i < routes.size(); i++) {
      const Way& way = ways_[routes[i]];
      const auto source = static_cast<int32_t>(chunks[i] / chunks_of_rank_);
      const auto slot = static_cast<int32_t>(chunks[i] % chunks_of_rank_);
      // The packet's image that starts at a representative stands for it; its place and its way are taken along.
      const int64_t home = symmetry_.home(source);
      const int32_t wanted = symmetry_.act(home, slot / conditions_.chunks_per_rank);
      Packet& packet = packets_[orbit_of_[symmetry_.act(home, source)] * chunks_of_rank_ +
                                int64_t{wanted} * conditions_.chunks_per_rank + slot % conditions_.chunks_per_rank];
      if (packet.at != symmetry_.act(home, way.from.rank) || packet.ready > start) {
        throw ScheduleError(describe(i, routes[i], chunks[i]) + ": rank " + std::to_string(way.from.rank) +
                            " does not hold the chunk, or no longer, when it sends it");
      }
      packet = {symmetry_.act(home, way.to.rank), start + way.duration};
    }
  }

  struct Packet {
    int32_t at;
    Picoseconds ready;
  };

  const int64_t chunks_of_rank_;
  std::vector<Packet> packets_;
  std::vector<int32_t> orbit_of_;  // of representatives
};

}  // namespace

std::unique_ptr<FoldedChecker> FoldedChecker::make(const RouteTable& routes, std::span<const int32_t> orbit,
                                                   const Symmetry& symmetry, const FoldedConditions& conditions) {
  check(routes);
  if (conditions.spread == Spread::kEachToEach) {
    return std::make_unique<PacketChecker>(routes, orbit, symmetry, conditions);
  }
  return std::make_unique<SpreadChecker>(routes, orbit, symmetry, conditions);
}

FoldedChecker::FoldedChecker(const RouteTable& routes, std::span<const int32_t> orbit, const Symmetry& symmetry,
                             const FoldedConditions& conditions)
    : routes_(routes), symmetry_(symmetry), conditions_(conditions), orbit_(orbit) {
  const int64_t ranks = num_ranks(), each = conditions.chunks_per_rank;
  check_within(each, 1, std::numeric_limits<int32_t>::max(), "the chunks of a rank");
  check_within(conditions.root, 0, ranks - 1, "the root");
  const int64_t blocks = conditions.spread == Spread::kFromRoot     ? 1
                         : conditions.spread == Spread::kEachToEach ? ranks * ranks
                                                                    : ranks;
  if (static_cast<__int128>(blocks) * each != conditions.num_chunks) {
    throw ScheduleError("there are " + std::to_string(blocks) + " blocks of " + std::to_string(each) + " chunks, but " +
                        std::to_string(conditions.num_chunks) + " chunks");
  }
  check_within(conditions.chunk_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of a chunk");
  if (symmetry.order() > 1) check_within(symmetry.num_ranks(), ranks, ranks, "the ranks of the symmetry's box");
  // A symmetry that moves the root would make other roots of it.
  if (symmetry.order() > 1 && conditions.spread == Spread::kFromRoot) {
    throw ScheduleError("chunks of one root have no images at other ranks");
  }
  const size_t num_links = routes.graph->links().size();
  if (orbit.size() != num_links) throw ScheduleError("every link needs the name of its orbit");
  for (const int32_t name : orbit) {
    if (name < 0 || name >= static_cast<int64_t>(num_links)) throw ScheduleError("an orbit has the name of a link");
  }
  std::vector<int32_t> number(num_ranks(), -1);
  for (int32_t rank = 0; rank < num_ranks(); rank++) {
    if (symmetry.home(rank) != 0) continue;
    number[rank] = static_cast<int32_t>(representatives_.size());
    representatives_.push_back(rank);
  }
  const auto end = [&](int32_t rank) {
    const int64_t home = symmetry.home(rank);
    return End{rank, number[symmetry.act(home, rank)], home};
  };
  const RouteCost cost(routes);
  for (int32_t route = 0; route < routes.num_routes(); route++) {
    int32_t from = routes.route_src(route), to = routes.route_dst(route);
    if (routes.graph->is_switch(from) || routes.graph->is_switch(to)) {
      throw ScheduleError("route " + std::to_string(route) +
                          ": a folded schedule has no transfers that end at switches");
    }
    const Picoseconds duration = cost.duration(route, conditions.chunk_bytes);
    const Picoseconds hold = cost.hold(route, conditions.chunk_bytes, conditions.blocking);
    if (conditions.mirrored) std::swap(from, to);
    ways_.push_back({end(from), end(to), duration, conditions.mirrored ? duration - hold : 0, hold});
  }
  free_.resize(num_links);
  busy_.resize(num_links);
}

void FoldedChecker::take(Picoseconds start, std::span<const int32_t> routes, std::span<const int32_t> chunks) {
  if (start < now_) {
    throw ScheduleError("transfer " + std::to_string(taken_) + " starts before the one listed before it, or before 0");
  }
  now_ = start;
  for (size_t i = 0; i < routes.size(); i++) {
    const std::string_view wrong = routes[i] < 0 || routes[i] >= routes_.num_routes()     ? "route"
                                   : chunks[i] < 0 || chunks[i] >= conditions_.num_chunks ? "chunk"
                                                                                          : "";
    if (!wrong.empty()) {
      throw ScheduleError("transfer " + std::to_string(taken_ + i) + ": its " + std::string(wrong) + " does not exist");
    }
    time_ = std::max(time_, within_horizon(add_ps(start, ways_[routes[i]].duration)));
    hold_links(i, routes[i], chunks[i]);
  }
  move(start, routes, chunks);
  taken_ += static_cast<int64_t>(routes.size());
}

void FoldedChecker::take(std::span<const Picoseconds> starts, std::span<const int32_t> routes,
                         std::span<const int32_t> chunks) {
  if (routes.size() != starts.size() || chunks.size() != starts.size()) {
    throw ScheduleError("the columns of the transfers differ in length");
  }
  for (size_t begin = 0, end = 0; begin < starts.size(); begin = end) {
    while (end < starts.size() && starts[end] == starts[begin]) end++;
    take(starts[begin], routes.subspan(begin, end - begin), chunks.subspan(begin, end - begin));
  }
}

void FoldedChecker::hold_links(size_t i, int32_t route, int32_t chunk) {
  const Way& way = ways_[route];
  num_hops_ += static_cast<int64_t>(routes_.links(route).size());
  if (way.hold == 0) return;
  const Picoseconds begin = now_ + way.delay;
  for (const int32_t link : routes_.links(route)) {
    const int32_t orbit = orbit_[link];
    if (begin < free_[orbit]) {
      throw ScheduleError(describe(i, route, chunk) + ": link " + std::to_string(link) +
                          " is held by another transfer, or by an image of one, " +
                          std::to_string(free_[orbit] - begin) + " ps longer");
    }
    free_[orbit] = begin + way.hold;
    busy_[orbit] = add_ps(busy_[orbit], way.hold);
  }
}

std::string FoldedChecker::describe(size_t i, int32_t route, int32_t chunk) const {
  return "transfer " + std::to_string(taken_ + i) + " (chunk " + std::to_string(chunk) + ", rank " +
         std::to_string(routes_.route_src(route)) + " -> " + std::to_string(routes_.route_dst(route)) + ", " +
         std::to_string(now_) + ".." + std::to_string(now_ + ways_[route].duration) +
         (conditions_.mirrored ? " before the end)" : ")");
}

}  // namespace hocket::schedule
