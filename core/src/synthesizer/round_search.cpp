#include "round_search.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

#include "hocket/synthesizer/chunk_names.hpp"
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

}  // namespace

RoundSearch::RoundSearch(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
                         const RoundOptions& options, RoundSink& sink, Stop& stop)
    : network_(network),
      orbits_(orbits),
      origin_(origin),
      policy_(options.policy),
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
  done_ = total_ == 0 || last_round_ < 0;
}

std::optional<Picoseconds> RoundSearch::run(int32_t threads) {
  PhaseBarrier barrier(threads);
  {
    std::vector<std::jthread> helpers;
    for (int32_t thread = 1; thread < threads; thread++) helpers.emplace_back([&] { work(barrier); });
    work(barrier);
  }
  const bool complete = num_picked_ == total_;
  if (complete && round_ > 0) emit();
  if (error_) std::rethrow_exception(error_);
  if (complete) return times_.finish(round_ - 1);
  stop_.check();
  if (idle_rounds_ > delay_ + kWindow) throw_stuck();
  within_horizon(static_cast<__int128>(round_) * times_.length_ps + times_.travel_ps);
  return std::nullopt;
}

/// What each thread does.
void RoundSearch::work(PhaseBarrier& barrier) {
  while (!done_) {
    const int64_t shares = (static_cast<int64_t>(active_.size()) + kShare - 1) / kShare;
    // Share 0: the round before is handed out while this one is settled.
    for (int64_t share = next_share_++; share <= shares; share = next_share_++) {
      if (share == 0) {
        if (round_ > 0) emit();
      } else {
        int64_t picked = 0;
        for_orbits(share - 1, [&](int32_t orbit) { picked += pick(orbit); });
        num_picked_.fetch_add(picked, std::memory_order_relaxed);
      }
    }
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

void RoundSearch::after_landing() {
  next_share_ = 0;
  round_++;
  round_salt_ = hash(seed_ + static_cast<uint64_t>(round_));
  shared_block_ = static_cast<int32_t>(round_ / kWindow * stride_ % holdings_.num_blocks());
  stop_.report(num_picked_ * orbits_.order(), total_ * orbits_.order());
  done_ = num_picked_ == total_ || error_ || stop_.asked() || idle_rounds_ > delay_ + kWindow || round_ > last_round_;
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
