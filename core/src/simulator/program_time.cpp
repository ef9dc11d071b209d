#include "hocket/simulator/program_time.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/simulator/job.hpp"
#include "hocket/simulator/replay.hpp"
#include "pass_period.hpp"

namespace hocket::simulator {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) throw TraceError("program: " + std::string(what));
}

bool all_below(std::span<const int32_t> values, size_t end) {
  return std::ranges::all_of(values, [&](int32_t value) { return value >= 0 && static_cast<size_t>(value) < end; });
}

/// All that is an index is one of what it points to: the columns come from Python, and the replay trusts them.
void check(const PassNodes& nodes, const PassMessages& messages, const topology::Paths& paths) {
  const size_t count = nodes.kind.size(), num_messages = messages.connection.size();
  const size_t cells = messages.bytes.size();
  require(nodes.message.size() == count && nodes.before.size() == nodes.after.size() &&
              nodes.before.size() == nodes.lag.size() && nodes.latency.size() == num_messages &&
              messages.busy_ps.size() == cells && messages.latency_ps.size() == cells,
          "columns differ in length");
  require(all_below(messages.row, num_messages == 0 ? messages.row.size() : cells / num_messages), "a pass has no row");
  require(all_below(messages.connection, paths.num_pairs()), "a message has no connection");
  require(all_below(nodes.starts, count) && all_below(nodes.latency, count), "a node is none");
  for (const int32_t message : nodes.message) {
    require(message >= -1 && message < static_cast<int64_t>(num_messages), "a node has an unknown message");
  }
  for (size_t edge = 0; edge < nodes.before.size(); edge++) {
    const auto known = [&](int64_t node) { return node >= 0 && static_cast<size_t>(node) < count; };
    require(known(nodes.before[edge]) && known(nodes.after[edge]) && nodes.lag[edge] >= 0, "an edge has no nodes");
  }
}

/// All passes, one after the other, as the nodes of one rank: of computations there are none, so that it does not
/// matter whose they are. The first node is the launch.
class Unrolled {
 public:
  Unrolled(const PassNodes& nodes, const PassMessages& messages, Picoseconds launch_ps, const topology::Paths& paths)
      : nodes_(nodes),
        messages_(messages),
        paths_(paths),
        count_(std::ssize(nodes.kind)),
        passes_(std::ssize(messages.row)) {
    kind_.assign(1 + count_ * passes_, static_cast<uint8_t>(NodeKind::kNothing));
    operand_.assign(kind_.size(), 0);
    kind_[0] = static_cast<uint8_t>(NodeKind::kDelay);
    operand_[0] = launch_ps;
    for (int64_t pass = 0; pass < passes_; pass++) add_pass(pass);
    add_dependencies();
  }

  /// What is unrolled, to be replayed once: the columns of messages are handed over.
  Job job(const topology::Graph& graph) && {
    const std::vector<int64_t> rank_offset{0, std::ssize(kind_)};
    const std::vector<int32_t> member(kind_.size(), 0);
    sent_.priority.assign(sent_.bytes.size(), 0);
    return Job(graph, {rank_offset, kind_, operand_, member, dependency_offset_, dependency_}, std::move(sent_), {}, {},
               {}, {});
  }

 private:
  /// The row of a pass's node; the launch is row 0.
  int64_t at(int64_t pass, int64_t node) const { return 1 + pass * count_ + node; }

  /// The nodes of a pass. Passes with the same row of bytes are alike, but their messages are others.
  void add_pass(int64_t pass) {
    const int64_t num_messages = std::ssize(messages_.connection), first = messages_.row[pass] * num_messages;
    number_.assign(num_messages, -1);
    for (int64_t message = 0; message < num_messages; message++) {
      const int64_t bytes = messages_.bytes[first + message];
      if (bytes > 0) number_[message] = add_message(message, bytes);
    }
    for (int64_t node = 0; node < count_; node++) {
      const int32_t message = nodes_.message[node];
      if (message >= 0 && number_[message] < 0) continue;  // what belongs to a message that is not sent is nothing
      kind_[at(pass, node)] = nodes_.kind[node];
      if (message >= 0) operand_[at(pass, node)] = operand(node, message, first);
    }
  }

  /// Of sends and receives the message, of delays how long: a step's latency, or the time of a block's bytes.
  int64_t operand(int64_t node, int32_t message, int64_t first) const {
    if (nodes_.kind[node] != static_cast<uint8_t>(NodeKind::kDelay)) return number_[message];
    return (nodes_.latency[message] == node ? messages_.latency_ps : messages_.busy_ps)[first + message];
  }

  /// A message that is sent, over its connection's paths; its number among all that are.
  int64_t add_message(int64_t message, int64_t bytes) {
    const int32_t connection = messages_.connection[message];
    topology::Paths& all = sent_.paths;
    for (int64_t path = paths_.first(connection); path < paths_.end(connection); path++) {
      const std::span<const int32_t> links = paths_.path(path);
      all.links.insert(all.links.end(), links.begin(), links.end());
      all.link_offset.push_back(std::ssize(all.links));
      if (!paths_.offset.empty()) all.share.push_back(paths_.share[path]);
    }
    if (!paths_.offset.empty()) {
      if (all.offset.empty()) all.offset.push_back(0);
      all.offset.push_back(std::ssize(all.link_offset) - 1);
    }
    sent_.bytes.push_back(bytes);
    sent_.stream.push_back(connection);
    return std::ssize(sent_.bytes) - 1;
  }

  /// By counting sort.
  void add_dependencies() {
    dependency_offset_.assign(kind_.size() + 1, 0);
    each_dependency([&](int64_t, int64_t after) { dependency_offset_[after + 1]++; });
    for (size_t node = 0; node < kind_.size(); node++) dependency_offset_[node + 1] += dependency_offset_[node];
    std::vector<int64_t> fill(dependency_offset_.begin(), dependency_offset_.end() - 1);
    dependency_.resize(dependency_offset_.back());
    each_dependency([&](int64_t before, int64_t after) { dependency_[fill[after]++] = before; });
  }

  /// Blocks begin after the launch; an edge with a lag reaches from a pass to one so many later.
  template <typename Use>
  void each_dependency(Use use) const {
    if (passes_ > 0) {
      for (const int32_t node : nodes_.starts) use(0, at(0, node));
    }
    for (size_t edge = 0; edge < nodes_.before.size(); edge++) {
      for (int64_t pass = nodes_.lag[edge]; pass < passes_; pass++) {
        use(at(pass - nodes_.lag[edge], nodes_.before[edge]), at(pass, nodes_.after[edge]));
      }
    }
  }

  const PassNodes& nodes_;
  const PassMessages& messages_;
  const topology::Paths& paths_;
  const int64_t count_, passes_;
  std::vector<uint8_t> kind_;
  std::vector<int64_t> operand_, dependency_offset_, dependency_;
  std::vector<int64_t> number_;  // of each message of the pass at hand among those that are sent, -1: it is not
  Job::Messages sent_;
};

/// When all passes are done.
class PassTimer {
 public:
  PassTimer(const PassNodes& nodes, const PassMessages& messages, Picoseconds launch_ps, const topology::Paths& paths,
            const topology::Graph& graph, const LinkSettings& links)
      : nodes_(nodes), messages_(messages), launch_ps_(launch_ps), paths_(paths), graph_(graph), links_(links) {}

  /// By all of them; none: some node waits for what never comes.
  std::optional<Picoseconds> by_all() const { return end_of(run(messages_.row)); }

  /// By the first and the last, where those between repeat what was before; none where that was not found. Tries more
  /// and more of them, until that is about as much work as all.
  std::optional<Picoseconds> by_period() const {
    const std::span<const int32_t> row = messages_.row;
    if (row.empty() || !is_told_by_nodes()) return {};
    const auto other = std::ranges::find_if(row, [&](int32_t each) { return each != row.front(); });
    const int64_t alike = std::min(other - row.begin(), std::ssize(row) - 1), tail = std::ssize(row) - alike;
    int64_t period = 1;
    for (int64_t least = kFewest; 2 * least < alike;) {
      const int64_t first = least + (alike - least) % period;  // so that whole periods are left out
      std::vector<int32_t> rows(first, row.front());
      rows.insert(rows.end(), row.end() - tail, row.end());
      const Outcome outcome = run(rows);
      const std::optional<Picoseconds> end = end_of(outcome);
      if (!end) return {};
      const std::optional<PassPeriod> found = period_of(outcome, std::ssize(nodes_.kind), tail);
      if (found && (alike - first) % found->passes == 0) {
        return within_horizon(*end + __int128{(alike - first) / found->passes} * found->ps);
      }
      period = found ? found->passes : 1;
      if (!found) least *= 3;
    }
    return {};
  }

 private:
  static constexpr int64_t kFewest = 10;

  /// Whether nothing happens to messages on their way: each flows over one path, without a stop.
  bool is_told_by_nodes() const {
    if (!paths_.offset.empty()) return false;
    const Links links(graph_, links_);
    for (int64_t path = 0; path < paths_.num_pairs(); path++) {
      const std::span<const int32_t> hops = paths_.path(path);
      const auto stops = [&](int32_t link) { return links.states()[link].stores; };
      if (!hops.empty() && std::any_of(hops.begin(), hops.end() - 1, stops)) return false;
    }
    return true;
  }

  /// All of the passes that have these rows of bytes.
  Outcome run(std::span<const int32_t> row) const {
    PassMessages messages = messages_;
    messages.row = row;
    const Job job = Unrolled(nodes_, messages, launch_ps_, paths_).job(graph_);
    return replay(job, {}, graph_, "flow", {.links = links_, .slowdown = {}});
  }

  static std::optional<Picoseconds> end_of(const Outcome& outcome) {
    if (std::ranges::any_of(outcome.finish_ps, [](Picoseconds finish) { return finish < 0; })) return {};
    return std::ranges::max(outcome.finish_ps);
  }

  const PassNodes& nodes_;
  const PassMessages& messages_;
  const Picoseconds launch_ps_;
  const topology::Paths& paths_;
  const topology::Graph& graph_;
  const LinkSettings& links_;
};

}  // namespace

Picoseconds program_time(const PassNodes& nodes, const PassMessages& messages, Picoseconds launch_ps,
                         const topology::Paths& paths, const topology::Graph& graph, const LinkSettings& links) {
  paths.check(std::ssize(graph.links()));
  check(nodes, messages, paths);
  const PassTimer timer(nodes, messages, launch_ps, paths, graph, links);
  if (const std::optional<Picoseconds> end = timer.by_period()) return *end;
  return timer.by_all().value_or(-1);
}

}  // namespace hocket::simulator
