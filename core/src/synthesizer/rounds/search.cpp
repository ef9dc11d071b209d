#include "hocket/synthesizer/rounds/search.hpp"

#include <algorithm>
#include <latch>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "chunk_names.hpp"
#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kShare = 64;          // orbits that a thread takes at a time
constexpr int64_t kForgetAfter = 64;    // rounds, then orbits that await nothing are left out
constexpr int32_t kPlentyWindows = 16;  // lacked chunks a link that allow to settle a window in advance

/// How far the shared first block moves: any step that visits every block.
int32_t coprime_stride(int32_t num_blocks) {
  int32_t stride = 7;
  while (std::gcd(stride, num_blocks) != 1) stride++;
  return stride;
}

int32_t largest_degree(const RoundSlots& slots) {
  int32_t degree = 0;
  for (size_t orbit = 0; orbit + 1 < slots.first.size(); orbit++) {
    degree = std::max(degree, slots.first[orbit + 1] - slots.first[orbit]);
  }
  return degree;
}

const Network& checked(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
                       const RoundOptions& options) {
  check_within(orbits.size() * orbits.order(), network.num_ranks, network.num_ranks, "the ranks in orbits");
  check_within(static_cast<int64_t>(origin.size()), 1, std::numeric_limits<int32_t>::max(), "the number of chunks");
  check_ids(origin, network.num_ranks, "the origins of chunks");
  check_within(options.rounds_per_hop, 1, kHorizon, "the rounds of a hop");
  check_within(options.threads, 1, std::numeric_limits<int32_t>::max(), "the threads");
  return network;
}

}  // namespace

RoundSearch::RoundSearch(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
                         const RoundOptions& options, RoundSink& sink, Stop& stop)
    : network_(checked(network, orbits, origin, options)),
      orbits_(orbits),
      origin_(origin.begin(), origin.end()),
      policy_(options.policy),
      threads_(std::min(options.threads, worthwhile_threads(network, orbits))),
      sink_(sink),
      stop_(stop),
      seed_(hash(options.seed)),
      chunk_of_(name_chunks(origin, orbits, seed_)),
      slots_(network, orbits),
      holdings_(chunk_of_, origin, orbits),
      delay_(options.rounds_per_hop),
      times_(round_times(network, delay_)),
      last_round_(options.below_ps > times_.travel_ps ? (options.below_ps - 1 - times_.travel_ps) / times_.length_ps
                                                      : -1),
      num_rows_(kWindow + delay_),
      stride_(coprime_stride(holdings_.num_blocks())),
      // Settling ahead is blind to what other links of the rank bring meanwhile; harmless while a rank lacks many
      // windows' worth, of no use at the end, where each choice counts.
      plenty_(kPlentyWindows * kWindow * largest_degree(slots_)),
      picks_(static_cast<size_t>(num_rows_) * slots_.size(), kNone),
      settled_(slots_.size(), 0),
      exhausted_(slots_.size(), 0),
      num_checked_(slots_.size(), 0),
      holders_(policy_ == RoundPolicy::kRarest ? chunk_of_.size() / orbits.order() : 0, 0),
      active_(orbits.size()),
      emitted_(slots_.size()),
      round_salt_(seed_) {
  std::iota(active_.begin(), active_.end(), 0);
  std::iota(emitted_.begin(), emitted_.end(), 0);
  std::sort(emitted_.begin(), emitted_.end(), [&](int32_t a, int32_t b) { return slots_.link[a] < slots_.link[b]; });
  links_.reserve(slots_.size());
  chunks_.reserve(slots_.size());
  for (int32_t orbit = 0; orbit < orbits.size(); orbit++) total_ += holdings_.num_lacked(orbit);
}

void RoundSearch::replay(std::span<const int64_t> rounds, std::span<const int32_t> links,
                         std::span<const int32_t> chunks) {
  check_within(static_cast<int64_t>(links.size()), rounds.size(), rounds.size(), "the links of rounds");
  check_within(static_cast<int64_t>(chunks.size()), rounds.size(), rounds.size(), "the chunks of rounds");
  check_ids(links, network_.num_links(), "the links of rounds");
  check_ids(chunks, static_cast<int32_t>(origin_.size()), "the chunks of rounds");
  if (slot_of_.empty()) index_picks();
  for (size_t at = 0; at < rounds.size();) {
    check_within(rounds[at], round_, last_round_, "a round that is replayed");
    advance(rounds[at]);
    for (; at < rounds.size() && rounds[at] == round_; at++) {
      const int32_t slot = slot_of_[links[at]];
      const uint32_t name = name_of_[chunks[at]];
      if (slot < 0 || cell(round_, slot) != kNone || !holdings_.lacks(slots_.orbit[slot], name)) {
        throw ScheduleError("round " + std::to_string(round_) + ": link " + std::to_string(links[at]) +
                            " cannot have taken chunk " + std::to_string(chunks[at]) +
                            " in the search that is resumed");
      }
      cell(round_, slot) = name;
      holdings_.pick(slots_.orbit[slot], name);
      // What was picked earlier but lands later is landed by the next `advance`.
      num_picked_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}
void RoundSearch::resume(int64_t round) {
  check_within(round, round_, last_round_ + 1, "the round to resume at");
  if (num_picked_ < total_) check_within(round % kRenewal, 0, 0, "the round to resume at, after a renewal,");
  advance(round);
  first_round_ = round;
}

/// For the replay: the slot of each link, the name of each chunk, and a first round in which nothing is picked.
void RoundSearch::index_picks() {
  slot_of_.assign(network_.num_links(), -1);
  for (int32_t slot = 0; slot < slots_.size(); slot++) slot_of_[slots_.link[slot]] = slot;
  name_of_.resize(chunk_of_.size());
  for (uint32_t name = 0; name < chunk_of_.size(); name++) name_of_[chunk_of_[name]] = name;
}

/// Lands what arrives before round `round`.
void RoundSearch::advance(int64_t round) {
  while (round_ < round) {
    for (int32_t orbit = 0; orbit < orbits_.size(); orbit++) land(orbit);
    begin_round(round_ + 1);
    std::fill_n(&cell(round_, 0), slots_.size(), kNone);
  }
}

// Whatever ended the search, what it found up to there has been handed out: `resume` may go on from it.
std::optional<Picoseconds> RoundSearch::run() {
  done_ = num_picked_ == total_ || round_ > last_round_;
  search();
  const bool complete = num_picked_ == total_;
  if (complete && round_ > first_round_) emit();
  if (error_) std::rethrow_exception(error_);
  if (complete) return times_.finish(round_ - 1);
  stop_.check();
  if (idle_rounds_ > delay_ + kWindow) throw_stuck();
  within_horizon(static_cast<__int128>(round_) * times_.length_ps + times_.travel_ps);
  return std::nullopt;
}

/// All rounds until it is done.
void RoundSearch::search() {
  std::optional<PhaseBarrier> barrier;  // once it is known for how many
  std::latch begin(1);
  std::vector<std::jthread> helpers;
  helpers.reserve(threads_ - 1);
  try {
    for (int32_t thread = 1; thread < threads_; thread++) {
      helpers.emplace_back([&] {
        begin.wait();
        work(*barrier);
      });
    }
  } catch (const std::system_error&) {
    // Any number of threads finds the same.
  }
  barrier.emplace(static_cast<int32_t>(helpers.size()) + 1);
  begin.count_down();
  work(*barrier);
}

/// What each thread does.
void RoundSearch::work(PhaseBarrier& barrier) {
  while (!done_) {
    const int64_t shares = (static_cast<int64_t>(active_.size()) + kShare - 1) / kShare;
    // Work is taken in shares from one counter: whoever is quick takes more.
    // Share 0: the round before is handed out while this one is settled.
    for (int64_t share = next_share_++; share <= shares; share = next_share_++) {
      if (share == 0) {
        if (round_ > first_round_) emit();
      } else {
        int64_t picked = 0;
        for_orbits(share - 1, [&](int32_t orbit) { picked += pick(orbit); });
        num_picked_.fetch_add(picked, std::memory_order_relaxed);
      }
    }
    // A representative's own rows are written by the one thread that has its share; what others hold is only read while
    // picking and only written while landing. So two barriers a round are all the locking there is.
    barrier.meet([&] { after_picking(); });
    for (int64_t share = next_share_++; share < shares; share = next_share_++) {
      for_orbits(share, [&](int32_t orbit) { land(orbit); });
    }
    barrier.meet([&] { after_landing(); });
  }
}

template <typename Each>
void RoundSearch::for_orbits(int64_t share, Each each) {
  const auto begin = static_cast<size_t>(share * kShare), end = std::min(begin + kShare, active_.size());
  for (size_t at = begin; at < end; at++) each(active_[at]);
}

void RoundSearch::after_picking() {
  next_share_ = 0;
  idle_rounds_ = num_picked_ == num_picked_before_ ? idle_rounds_ + 1 : 0;
  num_picked_before_ = num_picked_;
  if (round_ % kForgetAfter == 0) {
    const auto idle = [&](int32_t orbit) { return holdings_.num_awaited(orbit) == 0; };
    std::erase_if(active_, idle);
    std::erase_if(emitted_, [&](int32_t slot) { return idle(slots_.orbit[slot]); });
  }
}

// Alone, between two phases: the only place that writes what all threads read.
void RoundSearch::after_landing() {
  next_share_ = 0;
  begin_round(round_ + 1);
  stop_.report(num_picked_ * orbits_.order(), total_ * orbits_.order());
  // Idle for as long as a chunk flies and a window settled in advance lasts: nothing will ever move again.
  done_ = num_picked_ == total_ || error_ || stop_.asked() || idle_rounds_ > delay_ + kWindow || round_ > last_round_;
}

void RoundSearch::begin_round(int64_t round) {
  round_ = round;
  // Chance depends on seed, round and link alone, never on threads or on what was drawn before.
  round_salt_ = hash(seed_ + static_cast<uint64_t>(round));
  shared_block_ = static_cast<int32_t>(round / kWindow * stride_ % holdings_.num_blocks());
  if (round % kRenewal == 0) std::fill(exhausted_.begin(), exhausted_.end(), 0);
}

/// Hands out the picks of the round before this one.
void RoundSearch::emit() {
  links_.clear();
  chunks_.clear();
  for (int32_t slot : emitted_) {
    const uint32_t name = cell(round_ - 1, slot);
    if (name == kNone) continue;
    links_.push_back(slots_.link[slot]);
    chunks_.push_back(chunk_of_[name]);
  }
  try {
    sink_.take(round_ - 1, links_, chunks_);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void RoundSearch::throw_stuck() const {
  for (int32_t orbit = 0;; orbit++) {
    for (uint32_t name = 0; name < chunk_of_.size(); name++) {
      if (!holdings_.lacks(orbit, name)) continue;
      throw_unreachable(chunk_of_[name], origin_[chunk_of_[name]], orbits_.representative(orbit));
    }
  }
}

}  // namespace hocket::synthesizer
