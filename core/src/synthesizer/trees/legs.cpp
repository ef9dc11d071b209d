#include "hocket/synthesizer/trees/legs.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "hocket/columns.hpp"

namespace hocket::synthesizer {

// All legs in one array, 16 bytes each: schedules of hundreds of millions of legs fit in memory.
Legs::Legs(const Network& network, const Trees& trees) : num_ranks_(trees.num_ranks), num_chunks_(trees.num_chunks()) {
  check_within(static_cast<int64_t>(trees.up.size() + trees.down.size()), 0, std::numeric_limits<int32_t>::max(),
               "the transfers of all trees");
  legs_.reserve(trees.up.size() + trees.down.size());
  for (const std::vector<int32_t>* family : {&trees.up, &trees.down}) {
    if (family->empty()) continue;
    for (int32_t chunk = 0; chunk < num_chunks_; chunk++) {
      append(network, trees.row(*family, chunk), trees.root[chunk]);
    }
  }
}

void Legs::append(const Network& network, std::span<const int32_t> link_of, int32_t root) {
  // The other end of the link: of the two ends and the rank, two cancel.
  const auto parent_of = [&](int32_t rank) { return network.src[link_of[rank]] ^ network.dst[link_of[rank]] ^ rank; };
  std::vector<int32_t> next(num_ranks_ + 1, 0), children(num_ranks_), order{root};
  for (int32_t rank = 0; rank < num_ranks_; rank++) {
    if (rank != root) next[parent_of(rank) + 1]++;
  }
  for (int32_t rank = 0; rank < num_ranks_; rank++) next[rank + 1] += next[rank];
  const std::vector<int32_t> offset = next;
  for (int32_t rank = 0; rank < num_ranks_; rank++) {
    if (rank != root) children[next[parent_of(rank)]++] = rank;
  }
  order.reserve(num_ranks_);
  const int32_t begin = size();
  legs_.push_back({kNoLink, begin, 0, 0});
  for (int32_t at = 0; at < static_cast<int32_t>(order.size()); at++) {
    const int32_t rank = order[at];
    Leg& leg = legs_[begin + at];
    leg.first_child = size();
    leg.num_children = offset[rank + 1] - offset[rank];
    for (int32_t child = offset[rank]; child < offset[rank + 1]; child++) {
      order.push_back(children[child]);
      legs_.push_back({link_of[children[child]], begin + at, 0, 0});
    }
  }
}

Urgency due_times(const Lanes& lanes, const Legs& legs, Picoseconds interval) {
  // Shifted times only order legs; what a schedule takes is computed from the real ones.
  // In units of which all sums fit: a way goes over every rank of both trees at most.
  const auto longest = static_cast<__int128>(lanes.longest_travel()) * legs.num_ranks() * legs.families() +
                       static_cast<__int128>(interval) * legs.num_chunks();
  int shift = 0;
  while (longest >> shift > std::numeric_limits<int32_t>::max() / 2) shift++;
  const auto travel = [&](int32_t leg) {
    return static_cast<int32_t>(lanes.travel(lanes.of(legs[leg].link)) >> shift);
  };
  Urgency due(legs.size());
  for (int32_t chunk = 0; chunk < legs.num_chunks(); chunk++) {
    auto at_root = static_cast<int32_t>(chunk * interval >> shift);
    const int32_t out_tree = (legs.families() - 1) * legs.per_family() + chunk * legs.num_ranks();
    std::fill_n(due.begin() + out_tree, legs.num_ranks(), at_root);
    // From the leaves: legs have parents before children, so the reverse order sees every child before its parent.
    for (int32_t leg = out_tree + legs.num_ranks(); --leg > out_tree;) {
      due[leg] -= travel(leg);
      due[legs[leg].parent] = std::min(due[legs[leg].parent], due[leg]);
    }
    if (legs.families() == 1) continue;
    const int32_t in_tree = chunk * legs.num_ranks();
    due[in_tree] = due[out_tree];
    // From the root up: a child of the in-tree must have come before its parent's leg goes.
    for (int32_t leg = in_tree + 1; leg < in_tree + legs.num_ranks(); leg++) {
      due[leg] = due[legs[leg].parent] - travel(leg);
    }
  }
  return due;
}

}  // namespace hocket::synthesizer
