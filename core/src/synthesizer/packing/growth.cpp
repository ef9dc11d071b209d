#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "hocket/error.hpp"
#include "links.hpp"

namespace hocket::synthesizer {
namespace {

/// Trees that are alike so far.
/// Growing whole classes is what makes the packing cheap: their number grows with the edges that split them, not with
/// the number of chunks.
struct Class {
  int32_t root;
  int32_t supply;                    // the arc from the source: as many as its capacity
  std::vector<int32_t> ranks;        // in the order in which they joined
  std::vector<int32_t> arcs;         // to each but the first of them
  std::vector<char> inside;          // [rank]
  std::set<int32_t> closed;          // arcs on which no tree of the class can grow any more
  std::map<int32_t, int32_t> joins;  // [rank] the arc from what supplies the trees to a rank that may join them
};

/// Edmonds' branchings, made constructive as by Lovasz (1976) and counted as by Berczi and Frank: an edge may be added
/// to a tree if what is left of the network still lets all other trees be completed. That is checked by the flows
/// themselves: the arc's capacity moves to one from the class's own source, which stands for all that hangs together in
/// it, and as much of it moves as leaves every rank its full flow.
class Growth {
 public:
  Growth(RootedFlows& flows, const std::vector<int32_t>& supply) : flows_(flows), num_ranks_(flows.num_sinks()) {
    for (int32_t rank = 0; rank < num_ranks_; rank++) {
      if (supply[rank] == RootedFlows::kNone) continue;
      Class one{rank, supply[rank], {rank}, {}, std::vector<char>(num_ranks_, 0), {}, {}};
      one.inside[rank] = 1;
      classes_.push_back(std::move(one));
    }
  }

  std::vector<GrownTrees> grow() {
    // Those that have fewest ranks first, so that none takes all short ways.
    std::set<std::pair<size_t, size_t>> next;
    for (size_t at = 0; at < classes_.size(); at++) next.insert({1, at});
    while (!next.empty()) {
      const auto [size, at] = *next.begin();
      next.erase(next.begin());
      if (size == static_cast<size_t>(num_ranks_)) continue;
      const size_t before = classes_.size();
      add_rank(at);
      next.insert({size + 1, at});
      if (classes_.size() > before) next.insert({size, before});
    }
    std::vector<GrownTrees> grown;
    for (Class& one : classes_) grown.push_back({one.root, flows_.capacity(one.supply), std::move(one.arcs)});
    return grown;
  }

 private:
  /// Adds a rank to as many trees of the class as possible; the others become a class of their own.
  void add_rank(size_t at) {
    for (size_t member = 0; member < classes_[at].ranks.size(); member++) {
      // Copied, since adding an arc may move them; each root begins elsewhere, so that trees differ.
      const std::vector<int32_t> marks = flows_.at(classes_[at].ranks[member]);
      for (size_t turn = 0; turn < marks.size(); turn++) {
        const int32_t arc = marks[(turn + classes_[at].root) % marks.size()];
        if (arc >= 0 && add_arc(at, arc)) return;
      }
    }
    throw Error("no tree from rank " + std::to_string(classes_[at].root) + " can grow: a fault of this program");
  }

  bool add_arc(size_t at, int32_t arc) {
    Class& one = classes_[at];
    const int32_t to = flows_.to(arc);
    // What is left of the links into a switch leads nowhere.
    if (to >= num_ranks_ || flows_.capacity(arc) == 0 || one.inside[to] || one.closed.contains(arc)) return false;
    const int64_t count = flows_.capacity(one.supply);
    const auto [found, fresh] = one.joins.try_emplace(to, RootedFlows::kNone);
    // The class joins `to` through this arc: capacity on it is trees in which `to` is reached.
    if (fresh) found->second = flows_.add_arc(flows_.to(one.supply), to, 0);
    const int32_t joins = found->second;
    const int64_t grown = flows_.shift(arc, RootedFlows::kNone, joins, count);
    // It stays closed: capacities elsewhere only fall, so what no tree may use now none may use later.
    if (grown == 0) {
      one.closed.insert(arc);
      return false;
    }
    if (grown < count) {
      Class rest = one;
      rest.closed.insert(arc);
      rest.joins.clear();
      // Those trees that may not take the arc go on without it.
      rest.supply = flows_.divide(one.supply, joins, count - grown);
      join(one, arc);
      classes_.push_back(std::move(rest));
    } else {
      // All trees have it: from now on the rank is as good as the root, and what joins it needs no limit.
      flows_.raise(joins, RootedFlows::kUnlimited);
      join(one, arc);
    }
    return true;
  }

  void join(Class& one, int32_t arc) {
    one.ranks.push_back(flows_.to(arc));
    one.arcs.push_back(arc);
    one.inside[flows_.to(arc)] = 1;
  }

  RootedFlows& flows_;
  const int32_t num_ranks_;
  std::vector<Class> classes_;
};

}  // namespace

std::vector<GrownTrees> grow_together(RootedFlows& flows, const std::vector<int32_t>& supply) {
  return Growth(flows, supply).grow();
}

}  // namespace hocket::synthesizer
