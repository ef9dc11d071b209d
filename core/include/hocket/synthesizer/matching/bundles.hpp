#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// The links of a network in bundles: links of a bundle leave one rank, take the same time, and share all wires but the
/// last. A direct link is a bundle of its own; on a switch the links from one port to all others are one bundle.
///
/// Wires are physical links, where those that are always used together count as one. Bundles are numbered by source.
/// Why: a switch of n ports is n(n-1) links between ranks here, all of which a free port would have to ask. As bundles
/// it is n, and the one question "to which ranks with a free entry is there something to bring" is an AND of two sets.
struct Bundles {
  explicit Bundles(const Network& network);

  int32_t size() const { return static_cast<int32_t>(src.size()); }
  int32_t num_wires() const { return static_cast<int32_t>(entry_rank.size()); }
  int32_t num_words(int32_t bundle) const { return at[bundle + 1] - at[bundle]; }
  /// The link of a bundle to a rank that it reaches.
  int32_t link_to(int32_t bundle, int32_t rank) const;

  Lists path;          ///< wires of each link; the last one, its entry, leads into the link's dst
  Lists prefix;        ///< of each bundle the wires that its links share
  Lists prefix_users;  ///< bundles that share each wire so

  std::vector<int32_t> first;  ///< those that leave rank r are [first[r], first[r + 1])
  std::vector<int32_t> src;    ///< of each bundle
  std::vector<int32_t> pace;   ///< of each bundle: its links' travel time, as a rank among all travel times
  std::vector<int32_t> door;   ///< of each bundle: its links enter by the door-th entry of their dst
  /// Doors number the entries of a rank, so that "whose door k is free" is one set of ranks (`Agenda::free_`).
  int32_t num_doors = 0;            ///< most entries of a rank
  std::vector<int32_t> entry_rank;  ///< of each wire: where it leads, -1 unless it is an entry
  std::vector<int32_t> entry_door;  ///< of each wire
  /// Of each wire the bundles that have it as an entry lie in this range.
  std::vector<int32_t> first_user, last_user;

  /// Of each bundle the ranks that it reaches, as words [at[bundle], at[bundle + 1]) of a set that starts at rank
  /// 64 * first_word.
  std::vector<int32_t> at, first_word;
  std::vector<uint64_t> reach;

 private:
  std::vector<int32_t> links_;         // by bundle, then dst
  std::vector<int32_t> links_before_;  // of each word of reach: where its links begin
};

}  // namespace hocket::synthesizer
