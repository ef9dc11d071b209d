#include "hocket/simulator/job.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::simulator {
namespace {

// The text is put together where it is needed alone: strings made for each of a job's nodes took longer than its
// replay.
void require(bool holds, std::string_view what) {
  if (!holds) throw TraceError("job: " + std::string(what));
}

void require_of(size_t node, bool holds, std::string_view what) {
  if (!holds) throw TraceError("job: node " + std::to_string(node) + " " + std::string(what));
}

}  // namespace

// Checks everything that comes from outside once; the replay then indexes without looking. What it does not check is
// order: a cycle of dependencies is a deadlock, which the replay reports as nodes without times.
Job::Job(const topology::Graph& graph, const Nodes& nodes, Messages messages_in, Accesses accesses_in,
         std::vector<int32_t> plan_of_in, std::vector<int32_t> priority_of_in, const std::vector<int32_t>& plan_members)
    : rank_offset(nodes.rank_offset.begin(), nodes.rank_offset.end()),
      operand(nodes.operand.begin(), nodes.operand.end()),
      member(nodes.member.begin(), nodes.member.end()),
      messages(std::move(messages_in)),
      accesses(std::move(accesses_in)),
      plan_of(std::move(plan_of_in)),
      priority_of(std::move(priority_of_in)) {
  const size_t count = nodes.kind.size();
  const size_t num_messages = messages.bytes.size();
  // Node numbers are int32_t throughout: half the memory of a large job.
  require(count < static_cast<size_t>(std::numeric_limits<int32_t>::max()), "more than 2^31 nodes");
  require(!rank_offset.empty() && rank_offset.front() == 0 && rank_offset.back() == static_cast<int64_t>(count) &&
              operand.size() == count && member.size() == count && nodes.dependency_offset.size() == count + 1 &&
              nodes.dependency_offset.back() == static_cast<int64_t>(nodes.dependency.size()) &&
              messages.paths.num_pairs() == static_cast<int64_t>(num_messages) &&
              messages.priority.size() == num_messages && messages.stream.size() == num_messages &&
              priority_of.size() == plan_of.size(),
          "columns differ in length");
  messages.paths.check(std::ssize(graph.links()));
  for (const int32_t stream : messages.stream) require(stream >= 0, "a message has a negative stream");
  require(accesses.service_ps.size() == accesses.memory.size() && accesses.latency_ps.size() == accesses.memory.size(),
          "columns of accesses differ in length");
  for (size_t access = 0; access < accesses.memory.size(); access++) {
    require(accesses.memory[access] >= 0 && static_cast<size_t>(accesses.memory[access]) < accesses.memory.size(),
            "an access has no memory");
    require(accesses.service_ps[access] >= 0 && accesses.latency_ps[access] >= 0, "an access has a negative time");
  }
  for (const int32_t plan : plan_of) {
    require(plan >= 0 && static_cast<size_t>(plan) < plan_members.size(), "a collective has no plan");
  }

  rank.resize(count);
  for (int32_t r = 0; r < num_ranks(); r++) {
    require(rank_offset[r] <= rank_offset[r + 1], "rank offsets go backwards");
    for (int64_t node = rank_offset[r]; node < rank_offset[r + 1]; node++) rank[node] = r;
  }
  sender.assign(num_messages, -1);
  receiver.assign(num_messages, -1);
  kind.resize(count);
  for (size_t node = 0; node < count; node++) {
    require_of(node, nodes.kind[node] <= static_cast<uint8_t>(NodeKind::kDelay), "has an unknown kind");
    kind[node] = static_cast<NodeKind>(nodes.kind[node]);
    require_of(node, operand[node] >= 0, "has a negative operand");
    const auto index = static_cast<size_t>(operand[node]);
    if (kind[node] == NodeKind::kCollective) {
      require_of(node, index < plan_of.size(), "takes part in an unknown collective");
      require_of(node, member[node] >= 0 && member[node] < plan_members[plan_of[index]], "is no member of its group");
    } else if (kind[node] == NodeKind::kSend || kind[node] == NodeKind::kReceive) {
      require_of(node, index < num_messages, "has an unknown message");
      (kind[node] == NodeKind::kSend ? sender : receiver)[index] = static_cast<int32_t>(node);
    } else if (kind[node] == NodeKind::kMemory) {
      require_of(node, index < accesses.memory.size(), "has an unknown memory access");
    }
  }

  // Turns "waits for" into "is waited for by", by counting sort: dependents ascend, so that ties break by node.
  dependents_offset.assign(count + 1, 0);
  waits.resize(count);
  for (const int64_t before : nodes.dependency) {
    require(before >= 0 && before < static_cast<int64_t>(count), "a dependency is not a node");
    dependents_offset[before + 1]++;
  }
  for (size_t node = 0; node < count; node++) dependents_offset[node + 1] += dependents_offset[node];
  std::vector<int64_t> fill(dependents_offset.begin(), dependents_offset.end() - 1);
  dependents.resize(nodes.dependency.size());
  for (size_t node = 0; node < count; node++) {
    for (int64_t k = nodes.dependency_offset[node]; k < nodes.dependency_offset[node + 1]; k++) {
      dependents[fill[nodes.dependency[k]]++] = static_cast<int32_t>(node);
    }
    waits[node] = static_cast<uint32_t>(nodes.dependency_offset[node + 1] - nodes.dependency_offset[node]);
  }
}

}  // namespace hocket::simulator
