#include "hocket/simulator/critical_path.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "hocket/time.hpp"
#include "network/flight.hpp"

namespace hocket::simulator {
namespace {

struct Collective {
  std::vector<int32_t> node;  // of each member that has joined, else -1
  int32_t joined = 0;
  Picoseconds last_start = 0;
};

// Longest path in topological order (Kahn's), where the members of a collective wait for each other as its bound says:
// `start_` and `finish_` only grow while a node's predecessors come in, and a node is visited once all have. A lower
// bound because every rule here is a relaxation of the replay's: a rank computes any number of nodes at once, a link
// serves all messages at once, a collective takes its bound.
class LongestPath {
 public:
  LongestPath(const Job& job, const CollectiveBounds& bounds, const topology::Graph& graph)
      : job_(job),
        bounds_(bounds),
        graph_(graph),
        waits_(job.waits),
        start_(job.num_nodes(), 0),
        finish_(job.num_nodes(), kUnknown),
        collectives_(job.plan_of.size()) {
    for (const std::vector<MemberBound>& members : bounds) {
      // Whose coming can end another's part in particular: only then, and at the last, does `join` look at all members.
      std::vector<bool>& heard = heard_.emplace_back(members.size(), false);
      for (const MemberBound& bound : members) {
        if (bound.source >= 0) heard[bound.source] = true;
      }
    }
  }

  NodeTimes run() {
    for (int32_t node = 0; node < job_.num_nodes(); node++) {
      if (waits_[node] == 0) ready_.push_back(node);
    }
    while (!ready_.empty()) {
      const int32_t node = ready_.back();
      ready_.pop_back();
      visit(node);
    }
    for (int32_t node = 0; node < job_.num_nodes(); node++) {
      if (waits_[node] != 0) start_[node] = kUnknown;
    }
    return {std::move(start_), std::move(finish_)};
  }

 private:
  static constexpr Picoseconds kUnknown = -1;

  /// All dependencies of the node are done, the last of them at `start_[node]`.
  void visit(int32_t node) {
    const int64_t operand = job_.operand[node];
    switch (job_.kind[node]) {
      case NodeKind::kNothing:
        return finish(node, start_[node]);
      case NodeKind::kCompute:
      case NodeKind::kDelay:
        return finish(node, add_ps(start_[node], operand));
      case NodeKind::kCollective:
        return join(operand, node);
      case NodeKind::kMemory:
        return finish(
            node, add_ps(add_ps(start_[node], job_.accesses.service_ps[operand]), job_.accesses.latency_ps[operand]));
      case NodeKind::kSend: {
        finish(node, add_ps(start_[node], flight_ps(operand)));
        const int32_t receiver = job_.receiver[operand];
        if (receiver >= 0 && waits_[receiver] == 0) receive(receiver, finish_[node]);
        return;
      }
      case NodeKind::kReceive: {
        const int32_t sender = job_.sender[operand];
        if (sender >= 0 && finish_[sender] != kUnknown) receive(node, finish_[sender]);
        return;
      }
    }
  }

  void receive(int32_t node, Picoseconds arrival) {
    if (finish_[node] == kUnknown) finish(node, std::max(start_[node], arrival));
  }

  void finish(int32_t node, Picoseconds time) {
    finish_[node] = within_horizon(time);
    for (const int32_t next : job_.dependents_of(node)) {
      start_[next] = std::max(start_[next], time);
      if (--waits_[next] == 0) ready_.push_back(next);
    }
  }

  void join(int64_t id, int32_t node) {
    const int32_t plan = job_.plan_of[id], member = job_.member[node];
    Collective& collective = collectives_[id];
    const auto members = static_cast<int32_t>(bounds_[plan].size());
    if (collective.node.empty()) collective.node.assign(members, -1);
    collective.node[member] = node;
    collective.last_start = std::max(collective.last_start, start_[node]);
    if (++collective.joined == members || heard_[plan][member]) {
      for (int32_t other = 0; other < members; other++) leave(collective, bounds_[plan], other);
    } else {
      leave(collective, bounds_[plan], member);
    }
  }

  /// Finishes a member's part if the member has joined, is not done, and what it needs has a start.
  void leave(const Collective& collective, const std::vector<MemberBound>& bounds, int32_t member) {
    const int32_t node = collective.node[member];
    if (node < 0 || finish_[node] != kUnknown) return;
    const MemberBound& bound = bounds[member];
    const Picoseconds own = start_[node] + bound.own_ps;
    if (bound.source == MemberBound::kNobody) {
      finish(node, own);
    } else if (bound.source != MemberBound::kEverybody) {
      const int32_t source = collective.node[bound.source];
      if (source >= 0) finish(node, std::max(own, start_[source] + bound.hear_ps));
    } else if (collective.joined == static_cast<int32_t>(bounds.size())) {
      finish(node, std::max(own, collective.last_start + bound.hear_ps));
    }
  }

  /// The least time of a message on its way: with several paths that of the quickest part of it, or of all of it over a
  /// link that no path goes around, with the least latency before and behind it.
  Picoseconds flight_ps(int64_t message) const {
    const topology::Paths& paths = job_.messages.paths;
    const int64_t first = paths.first(message), end = paths.end(message), bytes = job_.messages.bytes[message];
    if (end - first == 1) return flight_ps(paths.path(first), bytes);
    Picoseconds least = kNever;
    for (int64_t path = first; path < end; path++) {
      least = std::min(least, flight_ps(paths.path(path), paths.part(message, path, bytes)));
    }
    for (const int32_t link : paths.path(first)) least = std::max(least, over_ps(paths, message, link, bytes));
    return least;
  }

  // The same formula as every model (`Front::pass`), without waiting at a link: what a model adds is only ever later.
  Picoseconds flight_ps(std::span<const int32_t> links, int64_t bytes) const {
    Front front{0, 0};
    for (const int32_t id : links) {
      const topology::Link& link = graph_.links()[id];
      const Picoseconds serialization = serialization_ps(bytes, link.bandwidth);
      front.pass(front.head, serialization, link.latency_ps, !graph_.is_switch(link.dst));
    }
    return front.tail;
  }

  /// The time of all bytes over the link, if every path takes it; else 0.
  Picoseconds over_ps(const topology::Paths& paths, int64_t message, int32_t link, int64_t bytes) const {
    Picoseconds before = kNever, behind = kNever;
    for (int64_t path = paths.first(message); path < paths.end(message); path++) {
      const std::span<const int32_t> links = paths.path(path);
      const auto at = std::ranges::find(links, link);
      if (at == links.end()) return 0;
      before = std::min(before, latency_ps({links.begin(), at}));
      behind = std::min(behind, latency_ps({at, links.end()}));
    }
    return add_ps(add_ps(before, serialization_ps(bytes, graph_.links()[link].bandwidth)), behind);
  }

  Picoseconds latency_ps(std::span<const int32_t> links) const {
    Picoseconds sum = 0;
    for (const int32_t link : links) sum = add_ps(sum, graph_.links()[link].latency_ps);
    return sum;
  }

  const Job& job_;
  const CollectiveBounds& bounds_;
  const topology::Graph& graph_;
  std::vector<uint32_t> waits_;
  std::vector<Picoseconds> start_, finish_;
  std::vector<Collective> collectives_;
  std::vector<std::vector<bool>> heard_;  // of each plan: the members whose data a certain other needs
  std::vector<int32_t> ready_;
};

}  // namespace

NodeTimes critical_path(const Job& job, const CollectiveBounds& bounds, const topology::Graph& graph) {
  return LongestPath(job, bounds, graph).run();
}

}  // namespace hocket::simulator
