#include <algorithm>
#include <bit>

#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/rounds/search.hpp"

namespace hocket::synthesizer {
namespace {

int32_t num_words(const ChunkBlock& block) {
  return static_cast<int32_t>(
      std::count_if(block.word.begin(), block.word.end(), [](uint64_t bits) { return bits != 0; }));
}

}  // namespace

uint64_t RoundSearch::lot(uint64_t what) const { return hash(round_salt_ + what * kSplitMixStep); }

/// Settles this round for every link into the representative, and perhaps later ones; returns the number of picks.
int32_t RoundSearch::pick(int32_t orbit) {
  const int32_t first = slots_.first[orbit], degree = slots_.first[orbit + 1] - first;
  const std::span<uint8_t> settled = std::span(settled_).subspan(first, degree);
  int32_t picked = 0;
  if (std::any_of(settled.begin(), settled.end(), [](uint8_t rounds) { return rounds == 0; })) {
    // Links begin to choose in another order each round, so that none always gets what the others leave.
    auto at = static_cast<int32_t>((lot(orbit) >> 32) * degree >> 32);
    for (int32_t count = 0; count < degree; count++, at = at + 1 == degree ? 0 : at + 1) {
      if (settled[at] > 0) continue;
      const int32_t found = holdings_.num_lacked(orbit) > 0 ? pick_for(first + at) : 0;
      if (found == 0) settle(first + at, kNone);
      picked += found;
    }
  }
  for (uint8_t& rounds : settled) rounds--;
  return picked;
}

void RoundSearch::settle(int32_t slot, uint32_t name) {
  cell(round_ + settled_[slot]++, slot) = name;
  if (name != kNone) holdings_.pick(slots_.orbit[slot], name);
}

int32_t RoundSearch::pick_for(int32_t slot) {
  const int32_t orbit = slots_.orbit[slot], from = slots_.from[slot];
  // Once nothing was found anywhere, only arrivals are looked at, as long as the log still knows all of them. It is a
  // short cut and no other answer: what the source held then the rank had or awaited already.
  if (exhausted_[slot] && holdings_.num_arrived(from) - num_checked_[slot] <= Holdings::kLog) return pick_arrival(slot);
  exhausted_[slot] = 0;
  // The same block for all ranks in this round, for the sake of the caches; names are shuffled, so it is a fair sample.
  if (const int32_t found = pick_in(shared_block_, slot)) return found;
  for (int32_t block = holdings_.first_lacked(orbit); block < holdings_.num_blocks(); block++) {
    if (const int32_t found = pick_in(block, slot)) return found;
  }
  exhausted_[slot] = 1;
  num_checked_[slot] = holdings_.num_arrived(from);
  return 0;
}

int32_t RoundSearch::pick_in(int32_t block, int32_t slot) {
  const ChunkBlock both = common(holdings_.held(block, slots_.from[slot]), slots_.element[slot],
                                 holdings_.lacked(block, slots_.orbit[slot]));
  if (!both.any()) return 0;
  return policy_ == RoundPolicy::kRarest ? pick_rarest(slot, block, both) : pick_random(slot, block, both);
}

/// A search through all blocks failed before: only what has arrived since can help.
int32_t RoundSearch::pick_arrival(int32_t slot) {
  const int32_t orbit = slots_.orbit[slot], from = slots_.from[slot];
  while (num_checked_[slot] < holdings_.num_arrived(from)) {
    const uint32_t name = holdings_.arrival(from, num_checked_[slot]++) ^ static_cast<uint32_t>(slots_.element[slot]);
    if (!holdings_.lacks(orbit, name)) continue;
    settle(slot, name);
    return 1;
  }
  return 0;
}

/// Where much is lacked, a chunk of each word serves the next rounds, up to the end of the window.
int32_t RoundSearch::pick_random(int32_t slot, int32_t block, const ChunkBlock& both) {
  const uint64_t random = lot(static_cast<uint64_t>(slot) + orbits_.size());
  int32_t word = static_cast<int32_t>(random >> 61);
  const bool ahead = holdings_.num_lacked(slots_.orbit[slot]) >= plenty_;
  const int32_t rounds = ahead ? std::min(num_words(both), kWindow - static_cast<int32_t>(round_ % kWindow)) : 1;
  for (int32_t count = 0; count < rounds; count++, word = (word + 1) % ChunkBlock::kWords) {
    while (both.word[word] == 0) word = (word + 1) % ChunkBlock::kWords;
    const int bit = bit_from(both.word[word], static_cast<int>(random >> (6 * count) & 63));
    settle(slot, static_cast<uint32_t>(block * ChunkBlock::kChunks + word * 64 + bit));
  }
  return rounds;
}

int32_t RoundSearch::pick_rarest(int32_t slot, int32_t block, const ChunkBlock& both) {
  const uint64_t random = lot(static_cast<uint64_t>(slot) + orbits_.size());
  uint32_t best = kNone, fewest = 0;
  for (int32_t count = 0; count < ChunkBlock::kWords; count++) {
    const auto word = static_cast<int32_t>((random >> 61) + count) % ChunkBlock::kWords;
    if (both.word[word] == 0) continue;
    const int bit = bit_from(both.word[word], static_cast<int>(random >> (6 * count) & 63));
    const auto name = static_cast<uint32_t>(block * ChunkBlock::kChunks + word * 64 + bit);
    const uint32_t holders = holders_[name / orbits_.order()];
    if (best == kNone || holders < fewest) {
      best = name;
      fewest = holders;
    }
  }
  settle(slot, best);
  return 1;
}

/// Makes the picks that have arrived by the next round visible.
void RoundSearch::land(int32_t orbit) {
  const int64_t picked = round_ + 1 - delay_;
  if (picked < 0) return;
  for (int32_t slot = slots_.first[orbit]; slot < slots_.first[orbit + 1]; slot++) {
    const uint32_t name = cell(picked, slot);
    if (name == kNone) continue;
    holdings_.land(orbit, name);
    if (policy_ == RoundPolicy::kRarest) {
      std::atomic_ref(holders_[name / orbits_.order()]).fetch_add(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace hocket::synthesizer
