#include "hocket/simulator/message_graph.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "hocket/error.hpp"
#include "network/packet/parts.hpp"

namespace hocket::simulator {
namespace {

using Kind = MessageGraph::Kind;

/// A message before it has steps. They are made in the order in which messages of one instant leave: by priority, by
/// collective (-1: single messages), by place in its schedule.
struct Launch {
  int32_t urgency, collective, position, message;

  auto operator<=>(const Launch&) const = default;
};

class GraphOfJob {
 public:
  GraphOfJob(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
             const PacketSettings& packets, int64_t most_steps)
      : job_(job), plans_(plans), graph_(graph), packets_(packets), most_steps_(most_steps) {}

  MessageGraph made() {
    add_nodes();
    find_members();
    for (const Launch& launch : launches()) add_message(launch);
    for (int32_t instance = 0; instance < std::ssize(job_.plan_of); instance++) tie(instance);
    for (int32_t message = 0; message < std::ssize(job_.messages.bytes); message++) tie_single(message);
    return std::move(result_);
  }

 private:
  /// First and last step of a message.
  struct Ends {
    int32_t leaves, arrives;
  };

  int32_t step(Kind kind, int64_t amount = 0, int32_t place = 0, std::span<const int32_t> links = {}) {
    if (std::ssize(result_.kind) >= most_steps_) {
      throw SimulationError("the job has more than " + std::to_string(most_steps_) + " steps and messages");
    }
    result_.kind.push_back(static_cast<uint8_t>(kind));
    result_.amount.push_back(amount);
    result_.place.push_back(place);
    result_.needs.push_back(0);
    result_.links.insert(result_.links.end(), links.begin(), links.end());
    result_.link_offset.push_back(std::ssize(result_.links));
    return static_cast<int32_t>(result_.kind.size()) - 1;
  }

  void edge(int32_t from, int32_t to) {
    result_.from.push_back(from);
    result_.to.push_back(to);
    result_.needs[to]++;
  }

  void add_nodes() {
    for (int32_t node = 0; node < job_.num_nodes(); node++) {
      const int32_t begin = first_step(node);
      result_.begin.push_back(begin);
      result_.end.push_back(last_step(node, begin));
    }
    for (int32_t node = 0; node < job_.num_nodes(); node++) {
      for (const int32_t next : job_.dependents_of(node)) edge(result_.end[node], result_.begin[next]);
    }
  }

  int32_t first_step(int32_t node) {
    const int64_t operand = job_.operand[node];
    switch (job_.kind[node]) {
      case NodeKind::kCompute:
        return step(Kind::kCompute, operand, job_.rank[node]);
      case NodeKind::kDelay:
        return step(Kind::kDelay, operand);
      case NodeKind::kMemory:
        return step(Kind::kAccess, job_.accesses.service_ps[operand], job_.accesses.memory[operand]);
      default:
        return step(Kind::kMoment);
    }
  }

  int32_t last_step(int32_t node, int32_t begin) {
    const NodeKind kind = job_.kind[node];
    const bool communicates = kind == NodeKind::kCollective || kind == NodeKind::kSend || kind == NodeKind::kReceive;
    if (!communicates && kind != NodeKind::kMemory) return begin;
    const int32_t end =
        communicates ? step(Kind::kMoment) : step(Kind::kDelay, job_.accesses.latency_ps[job_.operand[node]]);
    edge(begin, end);
    return end;
  }

  const Plan& plan(int32_t instance) const { return *plans_[job_.plan_of[instance]]; }

  /// Which node is each member's part in each instance; the last of an instance is the relays', which begin with the
  /// first member.
  void find_members() {
    members_.resize(job_.plan_of.size());
    for (size_t instance = 0; instance < members_.size(); instance++) {
      members_[instance].assign(plan(static_cast<int32_t>(instance)).num_members(), -1);
    }
    for (int32_t node = 0; node < job_.num_nodes(); node++) {
      if (job_.kind[node] == NodeKind::kCollective) members_[job_.operand[node]][job_.member[node]] = node;
    }
    relays_.assign(members_.size(), -1);
    for (size_t instance = 0; instance < members_.size(); instance++) {
      if (!plan(static_cast<int32_t>(instance)).uses_relays()) continue;
      const int32_t relay = relays_[instance] = step(Kind::kMoment);
      for (const int32_t node : members_[instance]) {
        if (node >= 0) edge(result_.begin[node], relay);
      }
      result_.needs[relay] = 1;
    }
  }

  std::vector<Launch> launches() const {
    std::vector<Launch> found;
    const auto room = static_cast<size_t>(most_steps_);
    for (int32_t message = 0; message < std::ssize(job_.messages.bytes); message++) {
      if (job_.sender[message] >= 0) found.push_back({-job_.messages.priority[message], -1, message, message});
    }
    for (int32_t instance = 0; instance < std::ssize(job_.plan_of) && found.size() <= room; instance++) {
      const Plan& plan = this->plan(instance);
      for_each_message(plan, [&](int32_t message) {
        found.push_back({-job_.priority_of[instance], instance, plan.position(message), message});
      });
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  template <class Use>
  static void for_each_message(const Plan& plan, Use use) {
    for (int32_t member = 0; member <= plan.num_members(); member++) {
      if (member == plan.num_members() && !plan.uses_relays()) return;
      int32_t before = -1;
      for (const int32_t route : plan.routes_at(member)) {
        // A route from a member to itself is named twice, one after the other.
        if (plan.src(route) != member || route == before) continue;
        before = route;
        for (int32_t message = plan.first_message(route);; message = plan.next_on_route(message)) {
          use(message);
          if (plan.last_on_route(message)) break;
        }
      }
    }
  }

  void add_message(const Launch& launch) {
    const bool alone = launch.collective < 0;
    const topology::Paths& paths = alone ? job_.messages.paths : plan(launch.collective).paths();
    const int64_t pair = alone ? launch.message : plan(launch.collective).route_of(launch.message);
    const int64_t bytes =
        alone ? job_.messages.bytes[launch.message] : plan(launch.collective).bytes_of(launch.message);
    Ends& ends = ends_[key(launch.collective, launch.message)];
    ends.leaves = step(Kind::kMoment);
    if (bytes == 0 || paths.end(pair) - paths.first(pair) == 1) {
      ends.arrives = add_path(launch, paths, paths.first(pair), 0, bytes, ends.leaves);
      return;
    }
    const uint64_t number = static_cast<uint64_t>(launch.collective + 1) << 32 | static_cast<uint32_t>(launch.message);
    std::vector<int32_t> parts;
    int64_t share_before = 0;
    for (int64_t path = paths.first(pair); path < paths.end(pair); path++) {
      const int64_t part = part_of_message(packets_, share_before, paths.share[path], bytes, number);
      share_before += paths.share[path];
      if (part > 0) parts.push_back(add_path(launch, paths, path, path - paths.first(pair), part, ends.leaves));
    }
    ends.arrives = step(Kind::kMoment);
    for (const int32_t part : parts) edge(part, ends.arrives);
  }

  /// The transfers of one path, from rank to rank, behind a step; the last of them.
  int32_t add_path(const Launch& launch, const topology::Paths& paths, int64_t path, int64_t number, int64_t bytes,
                   int32_t before) {
    const std::span<const int32_t> links = paths.path(path);
    for (size_t from = 0, to = 0; from < links.size(); from = to) {
      do to++;
      while (to < links.size() && graph_.is_switch(graph_.links()[links[to - 1]].dst));
      const int64_t place = paths.link_offset[path] + static_cast<int64_t>(from);
      const int32_t transfer = step(Kind::kTransfer, bytes, connection(launch, number, place, from, links[from]),
                                    links.subspan(from, to - from));
      edge(before, transfer);
      before = transfer;
    }
    return before;
  }

  /// As the engine tells connections apart: messages of a collective by the place of their stretch, single ones by
  /// their stream, the number of their path, the hops behind them and the link.
  int32_t connection(const Launch& launch, int64_t path, int64_t place, size_t hops, int32_t link) {
    const auto name = launch.collective >= 0
                          ? std::tuple<int64_t, int64_t, int64_t, int64_t>{launch.collective, 0, place, 0}
                          : std::tuple<int64_t, int64_t, int64_t, int64_t>{-1 - job_.messages.stream[launch.message],
                                                                           path, static_cast<int64_t>(hops), link};
    return connections_.try_emplace(name, static_cast<int32_t>(connections_.size())).first->second;
  }

  static int64_t key(int32_t instance, int32_t number) {
    return static_cast<int64_t>(instance) << 32 | static_cast<uint32_t>(number);
  }

  /// The step at which a member's part begins (ends); -1 where it never does.
  int32_t begin_of(int32_t instance, int32_t member) const {
    if (member == std::ssize(members_[instance])) return relays_[instance];
    return members_[instance][member] < 0 ? -1 : result_.begin[members_[instance][member]];
  }

  void end_after(int32_t instance, int32_t member, int32_t arrives) {
    const bool is_member = member < std::ssize(members_[instance]) && members_[instance][member] >= 0;
    if (is_member) edge(arrives, result_.end[members_[instance][member]]);
  }

  void wait_for_end(int32_t instance, int32_t member, int32_t leaves) {
    const int32_t begin = begin_of(instance, member);
    if (begin >= 0) return edge(begin, leaves);
    result_.needs[leaves]++;  // whoever never takes part keeps it waiting
  }

  /// What the messages of a collective wait for.
  void tie(int32_t instance) {
    const Plan& plan = this->plan(instance);
    gates_.clear();
    for_each_message(plan, [&](int32_t message) {
      const auto [leaves, arrives] = ends_.at(key(instance, message));
      const int32_t route = plan.route_of(message);
      if (message == plan.first_message(route)) {
        wait_for_end(instance, plan.src(route), leaves);
        wait_for_end(instance, plan.dst(route), leaves);
      }
      if (!plan.last_on_route(message)) edge(leaves, ends_.at(key(instance, plan.next_on_route(message))).leaves);
      end_after(instance, plan.src(route), arrives);
      end_after(instance, plan.dst(route), arrives);
      for (const int32_t gate : plan.feeds(message)) edge(arrives, step_of_gate(plan, instance, gate));
    });
  }

  /// The step at which a gate opens. A gate counts once for the next one of its chain.
  int32_t step_of_gate(const Plan& plan, int32_t instance, int32_t gate) {
    int32_t before = -1, first = -1;
    for (; gate >= 0; gate = plan.next_gate(gate)) {
      const auto [at, is_new] = gates_.try_emplace(gate, -1);
      if (is_new) {
        at->second = step(Kind::kMoment);
        for (const int32_t message : plan.waiting(gate)) edge(at->second, ends_.at(key(instance, message)).leaves);
      }
      if (before >= 0) edge(before, at->second);
      if (first < 0) first = at->second;
      if (!is_new) break;
      before = at->second;
    }
    return first;
  }

  void tie_single(int32_t message) {
    const int32_t sender = job_.sender[message], receiver = job_.receiver[message];
    if (sender >= 0) {
      const auto [leaves, arrives] = ends_.at(key(-1, message));
      edge(result_.begin[sender], leaves);
      edge(arrives, result_.end[sender]);
      if (receiver >= 0) edge(arrives, result_.end[receiver]);
    } else if (receiver >= 0) {
      result_.needs[result_.end[receiver]]++;  // it waits for what nobody sends
    }
  }

  const Job& job_;
  const std::vector<const Plan*>& plans_;
  const topology::Graph& graph_;
  const PacketSettings& packets_;
  const int64_t most_steps_;
  MessageGraph result_;
  std::vector<std::vector<int32_t>> members_;   // of each instance: the node of each member, -1: none
  std::vector<int32_t> relays_;                 // of each instance: the step at which they begin, -1: there are none
  std::unordered_map<int64_t, Ends> ends_;      // of each message
  std::unordered_map<int32_t, int32_t> gates_;  // of the instance that is tied
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, int32_t> connections_;
};

}  // namespace

MessageGraph message_graph(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                           const PacketSettings& packets, int64_t most_steps) {
  return GraphOfJob(job, plans, graph, packets, most_steps).made();
}

}  // namespace hocket::simulator
