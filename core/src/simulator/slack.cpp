#include "hocket/simulator/slack.hpp"

#include <algorithm>
#include <utility>

#include "hocket/simulator/job.hpp"

namespace hocket::simulator {
namespace {

/// Walks from the ends of the job to its beginnings. A node's latest end is known once all that needs it has a latest
/// start; the members of a collective, and the ends of a message, get theirs together.
/// The backward pass of the critical path method, over the job as it was replayed. Invariant: `latest_finish_` of a
/// node only falls, and it is final when `needed_by_` is 0, since all that need it have handed on their latest start.
class LatestTimes {
 public:
  explicit LatestTimes(const Replayed& job)
      : job_(job),
        end_(job.finish_ps.empty() ? 0 : *std::max_element(job.finish_ps.begin(), job.finish_ps.end())),
        latest_finish_(job.kind.size(), end_),
        needed_by_(job.kind.size(), 0),
        previous_(job.kind.size(), -1) {
    for (const int64_t dependency : job.dependency) needed_by_[dependency]++;
    chain_computations();
    join(NodeKind::kCollective, collectives_);
    join(NodeKind::kSend, messages_);
    join(NodeKind::kReceive, messages_);
  }

  std::vector<Picoseconds> run() {
    for (int64_t node = 0; node < num_nodes(); node++) {
      if (needed_by_[node] == 0) known_.push_back(node);
    }
    while (!known_.empty()) {
      const int64_t node = known_.back();
      known_.pop_back();
      begin_latest(node);
    }
    for (int64_t node = 0; node < num_nodes(); node++) latest_finish_[node] -= job_.finish_ps[node];
    return std::move(latest_finish_);
  }

 private:
  /// The parts of one collective, or the two of one message.
  struct Together {
    std::vector<int64_t> nodes;
    size_t known = 0;  // how many have a latest end
  };

  int64_t num_nodes() const { return static_cast<int64_t>(job_.kind.size()); }
  NodeKind kind(int64_t node) const { return static_cast<NodeKind>(job_.kind[node]); }
  /// The start without which the node would not have ended when it did.
  Picoseconds begin(int64_t node) const { return job_.start_ps[job_.cause[node]]; }

  /// A computation needs the one before it on its rank. Those that take no time keep nobody waiting.
  void chain_computations() {
    std::vector<int64_t> order;
    for (size_t rank = 0; rank + 1 < job_.rank_offset.size(); rank++) {
      order.clear();
      for (int64_t node = job_.rank_offset[rank]; node < job_.rank_offset[rank + 1]; node++) {
        if (kind(node) == NodeKind::kCompute && job_.start_ps[node] < job_.finish_ps[node]) order.push_back(node);
      }
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return job_.start_ps[a] < job_.start_ps[b]; });
      for (size_t at = 1; at < order.size(); at++) {
        previous_[order[at]] = order[at - 1];
        needed_by_[order[at - 1]]++;
      }
    }
  }

  void join(NodeKind wanted, std::vector<Together>& all) {
    for (int64_t node = 0; node < num_nodes(); node++) {
      if (kind(node) != wanted) continue;
      const auto operand = static_cast<size_t>(job_.operand[node]);
      if (operand >= all.size()) all.resize(operand + 1);
      all[operand].nodes.push_back(node);
    }
  }

  /// The latest end of the node is known: hands on its latest start.
  void begin_latest(int64_t node) {
    switch (kind(node)) {
      case NodeKind::kCollective:
        return gather(collectives_[job_.operand[node]]);
      case NodeKind::kSend:
      case NodeKind::kReceive:
        return gather(messages_[job_.operand[node]]);
      default:
        return hand_on(node, latest_finish_[node] - (job_.finish_ps[node] - job_.start_ps[node]));
    }
  }

  /// A member may start so late that those whose end went back to it, or to one who came after it, are not late; and so
  /// that its own part ends in time. Members are gone through from the last to start to the first.
  /// Sorted twice so that one pass suffices: going from the last start to the first, `latest` is the minimum over all
  /// parts whose end goes back to a start at or after this one.
  void gather(Together& together) {
    std::vector<int64_t>& nodes = together.nodes;
    if (++together.known < nodes.size()) return;
    std::vector<int64_t> by_begin = nodes;
    std::sort(by_begin.begin(), by_begin.end(), [&](int64_t a, int64_t b) { return begin(a) > begin(b); });
    std::sort(nodes.begin(), nodes.end(), [&](int64_t a, int64_t b) { return job_.start_ps[a] > job_.start_ps[b]; });
    Picoseconds latest = end_;
    auto later = by_begin.begin();
    for (const int64_t node : nodes) {
      for (; later != by_begin.end() && begin(*later) >= job_.start_ps[node]; ++later) {
        latest = std::min(latest, latest_finish_[*later] - (job_.finish_ps[*later] - begin(*later)));
      }
      const Picoseconds own = job_.finish_ps[node] - std::max(job_.start_ps[node], begin(node));
      hand_on(node, std::min(latest, latest_finish_[node] - own));
    }
  }

  void hand_on(int64_t node, Picoseconds latest_start) {
    for (int64_t at = job_.dependency_offset[node]; at < job_.dependency_offset[node + 1]; at++) {
      need(job_.dependency[at], latest_start);
    }
    if (previous_[node] >= 0) need(previous_[node], latest_start);
  }

  void need(int64_t node, Picoseconds latest_finish) {
    latest_finish_[node] = std::min(latest_finish_[node], latest_finish);
    if (--needed_by_[node] == 0) known_.push_back(node);
  }

  const Replayed& job_;
  const Picoseconds end_;
  std::vector<Picoseconds> latest_finish_;
  std::vector<uint32_t> needed_by_;  // nodes that need this one and have no latest start yet
  std::vector<int64_t> previous_;    // the computation before this one on its rank, or -1
  std::vector<Together> collectives_, messages_;
  std::vector<int64_t> known_;
};

}  // namespace

std::vector<Picoseconds> slack(const Replayed& job) { return LatestTimes(job).run(); }

}  // namespace hocket::simulator
