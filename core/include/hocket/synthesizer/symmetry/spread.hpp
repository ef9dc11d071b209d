#pragma once

#include <cstdint>
#include <optional>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/symmetry/growth.hpp"
#include "hocket/synthesizer/symmetry/translations.hpp"

namespace hocket::synthesizer {

/// all_gather, with `chunks` chunks a rank: one broadcast tree for each chunk of each first rank, grown together over
/// time (`grow`).
///
/// Rules for generators of unequal speed: fast ones choose first; one that leaves the subgroup of strictly faster ones
/// (a bridge) carries a tree into each coset only once while it can; a slow one rests when the fast ones deliver the
/// rest sooner. Attempts differ in these rules, and in chance. After each rule was tried, every second attempt varies
/// the best so far: it keeps what that did up to a time somewhere in its last part. Network and translations must
/// outlive it.
class SymmetricSpread {
 public:
  SymmetricSpread(const Network& links, const Translations& network, int32_t chunks, uint64_t seed);

  /// Makes the next attempt; its transfers if they are quicker than those of all before. The sequence is the same for
  /// the same arguments. Throws Infeasible when a point cannot be reached, Stopped when `stop` was asked.
  std::optional<TranslatedTransfers> next(const Stop& stop);

 private:
  Picoseconds settled(Random& random) const;

  const GrowthPlan plan_;
  const uint64_t seed_;
  uint64_t number_ = 0;
  TranslatedTransfers best_;
};

/// The images of the transfers that leave the first `senders` ranks of the orbits: with 1 each once, with as many as
/// the group has elements what all ranks do. In the order of their starts. Chunk ids as in an all_gather.
Transfers translate_spread(const Translations& network, int32_t chunks, const TranslatedTransfers& transfers,
                           int32_t senders);

}  // namespace hocket::synthesizer
