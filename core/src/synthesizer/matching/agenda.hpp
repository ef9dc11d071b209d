#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "hocket/synthesizer/matching/bit_rows.hpp"
#include "hocket/synthesizer/matching/bundles.hpp"
#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {

/// Which links should try to start something, and in which order: those that are free and might have become able to.
///
/// A link that found nothing to carry rests until its source gets a chunk that its dst lacks. Links of a bundle are
/// looked for among the free entries of ranks, so a switch costs a search per port, not per pair of ports.
///
/// Invariant: a link that could start something is awake, its bundle in `woken_`, among the tries or waiting for a wire
/// that is taken. TACOS asks all pairs of unsatisfied chunk and rank at every event; here an event costs what it frees.
class Agenda {
 public:
  /// The network and its bundles must outlive it.
  Agenda(const Network& network, const Bundles& bundles);

  /// All links are to try, also those that rest.
  void wake_all();
  /// The link carries something from now on.
  void occupy(int32_t link);
  /// The wires of the link are free again.
  void release(int32_t link);
  /// A chunk landed on a rank; `lackers`: set of ranks that lack it.
  void land(int32_t rank, const uint64_t* lackers);

  /// Lets links try, the quick ones first, those of equal time by displacement in an order that the salt decides: on a
  /// switch the links of one displacement are a perfect matching of its ports. `start(link)` says whether the link
  /// carries something from now on.
  /// Retries keep the order: a bundle that was refused tries its next rank in turn with the others (a heap beside the
  /// sorted list), so that the choice does not depend on how many a bundle has tried before.
  template <typename Start>
  void run(uint64_t salt, const Start& start) {
    first_rank_ = static_cast<int32_t>(salt % static_cast<uint64_t>(network_.num_ranks));
    salt_ = salt;
    tries_.clear();
    for (const int32_t bundle : woken_) {
      const Try next = next_try(bundle);
      if (next.rank >= 0) tries_.push_back(next);
    }
    woken_.clear();
    std::ranges::sort(tries_);
    for (size_t at = 0; at < tries_.size() || !retries_.empty();) {
      Try now;
      if (retries_.empty() || (at < tries_.size() && tries_[at] < retries_.front())) {
        now = tries_[at++];
      } else {
        std::ranges::pop_heap(retries_, std::greater<>{});
        now = retries_.back();
        retries_.pop_back();
      }
      if (prefix_free(now.bundle) && open(now.bundle, now.rank)) {
        const int32_t link = bundles_.link_to(now.bundle, now.rank);
        // Direct links wait for their own wire, which is their entry; those with a shared prefix for its release.
        if (start(link)) {
          occupy(link);
          if (bundles_.prefix[now.bundle].empty()) insert(waiting_[0], now.bundle);
          pending_[now.bundle] = 0;
          continue;
        }
        rest(now.bundle, now.rank);
      }
      const Try next = next_try(now.bundle);
      if (next.rank < 0) continue;
      retries_.push_back(next);
      std::ranges::push_heap(retries_, std::greater<>{});
    }
  }

 private:
  struct Try {
    uint64_t order;
    int32_t bundle;
    int32_t rank;  // dst of the link, -1: none
    auto operator<=>(const Try&) const = default;
  };

  bool prefix_free(int32_t bundle) const {
    return std::ranges::none_of(bundles_.prefix[bundle], [&](int32_t wire) { return busy_[wire] != 0; });
  }
  /// Whether the bundle has a link to the rank that does not rest.
  bool awake(int32_t bundle, int32_t rank) const;
  /// The same, and its entry is free.
  bool open(int32_t bundle, int32_t rank) const {
    return awake(bundle, rank) && test(free_[bundles_.door[bundle]], rank);
  }
  void rest(int32_t bundle, int32_t rank) {
    awake_[bundles_.at[bundle] + rank / 64 - bundles_.first_word[bundle]] &= ~(uint64_t{1} << (rank % 64));
  }
  void wake(int32_t bundle);
  /// The bundle's next link to try; where there is none it waits for an entry, or for its other wires.
  Try next_try(int32_t bundle);
  /// The first rank from `from` on, cyclically, to which the bundle has a link that is awake and free; -1: none.
  int32_t next_rank(int32_t bundle, int32_t from) const;

  const Network& network_;
  const Bundles& bundles_;
  std::vector<char> busy_;       // [wire]
  BitRows free_;                 // [door] ranks whose entry is free
  std::vector<uint64_t> awake_;  // as Bundles::reach: links that do not rest
  std::vector<char> pending_;    // [bundle] whether it is in woken_ or tries_
  BitRows waiting_;              // [0] bundles to which an entry that becomes free is of use
  std::vector<int32_t> woken_;
  std::vector<Try> tries_, retries_;
  uint64_t salt_ = 0;
  int32_t first_rank_ = 0;
};

}  // namespace hocket::synthesizer
