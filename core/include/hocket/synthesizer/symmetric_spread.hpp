#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/translations.hpp"

namespace hocket::synthesizer {

/// all_gather, with `chunks` chunks a rank: one broadcast tree for each chunk of each first rank, grown together over
/// time. Whenever a generator is free, it takes a pair of tree and point that it leads on to a point the tree lacks.
///
/// Rules for generators of unequal speed: fast ones choose first; one that leaves the subgroup of strictly faster ones
/// (a bridge) carries a tree into each coset only once while it can; a slow one rests when the fast ones deliver the
/// rest sooner. Attempts differ in these rules, and in chance. Network and translations must outlive it.
class SymmetricSpread {
 public:
  SymmetricSpread(const Network& links, const Translations& network, int32_t chunks, uint64_t seed);
  ~SymmetricSpread();

  /// The transfers of attempt `number`, 0, 1, ...; none when they would take `below` or longer. The same for the same
  /// arguments. O(trees * points * generators of an orbit). Throws Infeasible when a point cannot be reached, Stopped
  /// when `stop` was asked.
  std::optional<TranslatedTransfers> attempt(int number, Picoseconds below, const Stop& stop) const;

 private:
  struct Plan;
  class Run;
  std::unique_ptr<const Plan> plan_;
};

/// The images of the transfers that leave the first `senders` ranks of the orbits: with 1 each once, with as many as
/// the group has elements what all ranks do. In the order of their starts. Chunk ids as in an all_gather.
Transfers translate_spread(const Translations& network, int32_t chunks, const TranslatedTransfers& transfers,
                           int32_t senders);

}  // namespace hocket::synthesizer
