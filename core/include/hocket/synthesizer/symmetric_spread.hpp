#pragma once

#include <cstdint>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/translations.hpp"

namespace hocket::synthesizer {

/// In which order a generator takes what it could carry.
enum class Order : uint8_t { kFirst, kRandom, kLast };

/// How trees grow.
struct Growth {
  Order order = Order::kFirst;
  int patience_percent = 100;  ///< a slow generator waits while fast ones are done in less than this part of its time
  int32_t reach = 0;           ///< of generators that share all resources only so many are used; 0: all
};

/// all_gather, with `chunks` chunks a rank: one broadcast tree for each chunk of each first rank, grown together over
/// time. Whenever a generator is free, it takes a pair of tree and point that it leads on to a point the tree lacks.
///
/// Rules for generators of unequal speed: fast ones choose first; one that leaves the subgroup of strictly faster ones
/// (a bridge) carries a tree into each coset only once while it can; a slow one rests when the fast ones deliver the
/// rest sooner. Deterministic for a seed. O(trees * points * generators of an orbit). Throws Infeasible when a point
/// cannot be reached, Stopped when `stop` was asked.
TranslatedTransfers spread(const Network& links, const Translations& network, int32_t chunks, const Growth& growth,
                           uint64_t seed, const Stop& stop);

/// The best of `attempts` over a fixed list of ways to grow, stopping at the first that takes at most `target_ps`.
TranslatedTransfers spread_best(const Network& links, const Translations& network, int32_t chunks, uint64_t seed,
                                int attempts, Picoseconds target_ps, const Stop& stop);

/// Transfers of all ranks: those given, translated. Chunk ids as in an all_gather.
Transfers translate_spread(const Translations& network, int32_t chunks, const TranslatedTransfers& transfers);

}  // namespace hocket::synthesizer
