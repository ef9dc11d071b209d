#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/symmetry/translations.hpp"

namespace hocket::synthesizer {

/// How often a way uses each generator that it uses. Shifts commute, so any order leads to the same rank.
struct Way {
  struct Step {
    int32_t generator;
    int32_t times;
  };
  std::vector<Step> steps;
};

/// For each job of an all_to_all with `chunks` chunks a pair of ranks the way that it goes: job (shift - 1) * chunks +
/// k takes chunk k by `shift`, 1..order-1. The ways balance the loads of the resources: each is the cheapest when
/// resources have prices that grow with their load, found again a few times.
///
/// Sides of the box that no generator shifts together are dealt with one after the other. Needs a single orbit. Throws
/// Stopped.
std::vector<Way> balanced_ways(const Translations& network, int32_t chunks, const Stop& stop);

/// all_to_all, with `chunks` chunks a pair of ranks: an open shop, in which generators are machines and chunks of the
/// first rank are jobs. Whenever a generator is free it takes, of the chunks that are at a rank and still need it, the
/// one with the longest way to go; the generators with most work ahead choose first. Tree t of the result is chunk
/// t % chunks for the rank at shift t / chunks.
TranslatedTransfers exchange(const Translations& network, int32_t chunks, const Stop& stop);

/// The images of the transfers that leave the first `senders` ranks of the orbits: with 1 each once, with as many as
/// the group has elements what all ranks do. In the order of their starts. Chunk ids as in an all_to_all.
Transfers translate_exchange(const Translations& network, int32_t chunks, const TranslatedTransfers& transfers,
                             int32_t senders);

}  // namespace hocket::synthesizer
