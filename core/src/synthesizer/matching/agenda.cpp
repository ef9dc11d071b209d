#include "agenda.hpp"

#include <bit>

namespace hocket::synthesizer {

Agenda::Agenda(const Network& network, const Bundles& bundles)
    : network_(network),
      bundles_(bundles),
      busy_(bundles.num_wires(), 0),
      free_(bundles.num_doors, (network.num_ranks + 63) / 64),
      pending_(bundles.size(), 0),
      waiting_(1, (bundles.size() + 63) / 64) {
  for (int32_t wire = 0; wire < bundles.num_wires(); wire++) {
    if (bundles.entry_rank[wire] >= 0) insert(free_[bundles.entry_door[wire]], bundles.entry_rank[wire]);
  }
  wake_all();
}

void Agenda::wake_all() {
  awake_ = bundles_.reach;
  for (int32_t bundle = 0; bundle < bundles_.size(); bundle++) wake(bundle);
}

// Once in `woken_` until it has been tried: `pending_` keeps a bundle from standing in two lists.
void Agenda::wake(int32_t bundle) {
  if (pending_[bundle]) return;
  pending_[bundle] = 1;
  erase(waiting_[0], bundle);
  woken_.push_back(bundle);
}

void Agenda::release(int32_t link) {
  for (const int32_t wire : bundles_.path[link]) {
    busy_[wire] = 0;
    // What becomes free is of use to two kinds: those whose shared wires it is, and those that end in this entry and
    // wait for one. Only the second needs a look at who is awake, for a bundle that rests towards this rank gains
    // nothing.
    for (const int32_t bundle : bundles_.prefix_users[wire]) wake(bundle);
    const int32_t rank = bundles_.entry_rank[wire];
    if (rank < 0) continue;
    insert(free_[bundles_.entry_door[wire]], rank);
    const int32_t first = bundles_.first_user[wire], last = bundles_.last_user[wire];
    for (int32_t word = first / 64; word * 64 < last; word++) {
      for (uint64_t waiting = waiting_[0][word]; waiting != 0; waiting &= waiting - 1) {
        const int32_t bundle = word * 64 + std::countr_zero(waiting);
        if (bundle >= first && bundle < last && awake(bundle, rank)) wake(bundle);
      }
    }
  }
}

void Agenda::land(int32_t rank, const uint64_t* lackers) {
  for (int32_t bundle = bundles_.first[rank]; bundle < bundles_.first[rank + 1]; bundle++) {
    uint64_t woken = 0;
    const int32_t begin = bundles_.at[bundle], end = bundles_.at[bundle + 1];
    for (int32_t word = begin; word < end; word++) {
      // Awake again are the links to ranks that lack the chunk which now is here: nothing else changed for the others,
      // and what they found then, nothing to carry, still holds.
      const uint64_t fresh = lackers[bundles_.first_word[bundle] + word - begin] & bundles_.reach[word] & ~awake_[word];
      awake_[word] |= fresh;
      woken |= fresh;
    }
    if (woken != 0 && test(waiting_[0], bundle)) wake(bundle);
  }
}

bool Agenda::awake(int32_t bundle, int32_t rank) const {
  const int32_t word = rank / 64 - bundles_.first_word[bundle];
  return word >= 0 && word < bundles_.num_words(bundle) && awake_[bundles_.at[bundle] + word] >> (rank % 64) & 1;
}

void Agenda::occupy(int32_t link) {
  for (const int32_t wire : bundles_.path[link]) {
    busy_[wire] = 1;
    if (bundles_.entry_rank[wire] >= 0) erase(free_[bundles_.entry_door[wire]], bundles_.entry_rank[wire]);
  }
}

Agenda::Try Agenda::next_try(int32_t bundle) {
  const bool could = prefix_free(bundle);
  int32_t from = bundles_.src[bundle] + first_rank_;
  if (from >= network_.num_ranks) from -= network_.num_ranks;
  const int32_t rank = could ? next_rank(bundle, from) : -1;
  if (rank < 0) {
    // Its port is free but no entry is: it asks again when one becomes free. Where the port itself is busy, its release
    // wakes it.
    if (could) insert(waiting_[0], bundle);
    pending_[bundle] = 0;
    return {0, bundle, -1};
  }
  // The order is (travel time, displacement): quick links first, for what they take a slow one need not bring.
  // Links of one displacement come together: those of bundles in the order in which they look, others in any order.
  const bool single = bundles_.prefix[bundle].empty();
  const int32_t shift = rank - (single ? bundles_.src[bundle] : from);
  const auto turn = static_cast<uint64_t>(shift < 0 ? shift + network_.num_ranks : shift);
  const uint64_t lot = single ? hash(salt_ + turn) >> 32 : turn;
  return {static_cast<uint64_t>(bundles_.pace[bundle]) << 32 | lot, bundle, rank};
}

int32_t Agenda::next_rank(int32_t bundle, int32_t from) const {
  const int32_t words = bundles_.num_words(bundle), first = bundles_.first_word[bundle];
  const uint64_t* awake = awake_.data() + bundles_.at[bundle];
  const uint64_t* free = free_[bundles_.door[bundle]] + first;
  const int32_t start = from / 64 - first;
  const bool within = start >= 0 && start < words;
  const uint64_t below = (uint64_t{1} << (from % 64)) - 1;
  // From `from` to the end, then from the beginning; the word of `from` is looked at twice, half of it each time.
  for (int32_t step = 0, word = within ? start : 0; step < words + within;
       step++, word = word + 1 == words ? 0 : word + 1) {
    uint64_t open = awake[word] & free[word];
    if (within && step == 0) open &= ~below;
    if (within && step == words) open &= below;
    if (open != 0) return (first + word) * 64 + std::countr_zero(open);
  }
  return -1;
}

}  // namespace hocket::synthesizer
