#include "collectives.hpp"

#include <algorithm>
#include <utility>

#include "engine.hpp"

namespace hocket::simulator::astra {
namespace {

constexpr int32_t kFirstCollectiveTag = 500000000;

}  // namespace

/// What the next dimension starts with: a reduce_scatter leaves a share, an all_gather has the shares of all.
int64_t bytes_after(Kind kind, Algorithm algorithm, int64_t bytes, int32_t size) {
  if (algorithm == Algorithm::kDoubleBinaryTree) return bytes;
  if (kind == Kind::kAllGather) return bytes * size;
  return kind == Kind::kReduceScatter ? bytes / size : bytes;
}

Collectives::Collectives(Engine& engine)
    : engine_(engine), num_dimensions_(static_cast<int>(engine.dimensions.size())) {
  const auto ranks = static_cast<size_t>(engine.program.num_ranks());
  const int32_t half = engine.system.queues_per_dimension / 2;
  turns_.assign(ranks * num_dimensions_, {0, 0, half});
  tree_turns_.assign(ranks * num_dimensions_ * kNumKinds, 0);
  priorities_.assign(ranks, 0);
  next_streams_.assign(ranks, 0);
}

int64_t Collectives::start(int32_t rank, uint32_t node) {
  const Program& program = engine_.program;
  const auto kind = static_cast<Kind>(program.kind[node]);
  const int32_t group_index = program.group[node];
  const Group* group = group_index < 0 ? nullptr : &engine_.groups[group_index];
  Membership* member = membership(rank, group_index);
  const Call call{rank, node, kind, group, member, priority(rank, node)};
  const int32_t custom = member ? member->plan(kind, program.custom[node]) : program.custom[node];
  return custom < 0 ? start_chunks(call) : start_custom(call, engine_.custom[custom]);
}

int64_t Collectives::start_custom(const Call& call, const Program& custom) {
  Stream stream = stream_of(call);
  stream.custom = &custom;
  stream.group = call.group;
  const auto is_before = [&](int32_t other) { return other < call.rank; };
  stream.position = call.group ? static_cast<int32_t>(std::ranges::count_if(call.group->ranks, is_before)) : call.rank;
  engine_.streams.launch(std::move(stream));
  return 1;
}

// Sys::generate_collective of the peer, with its oddities: a chunk of fewer bytes than the whole cluster has ranks is
// enlarged, together with the collective, and the remainder is charged as a whole chunk. They change results by
// percents, and a golden test compares those to the nanosecond.
int64_t Collectives::start_chunks(const Call& call) {
  int64_t size = engine_.program.bytes[call.node];
  int64_t chunk = size / engine_.system.splits;
  if (call.kind != Kind::kAllGather && engine_.num_ranks > chunk) {
    chunk = engine_.num_ranks;
    size = engine_.system.splits * chunk;
  }
  const bool is_small = call.group && static_cast<int32_t>(call.group->ranks.size()) != engine_.num_ranks;
  const Layout on = layout(call.rank, call.kind, is_small ? call.group : nullptr);
  const uint32_t dimensions = call.group ? UINT32_MAX : engine_.program.dimensions[call.node];
  const int64_t chunks = (size + chunk - 1) / chunk;  // the last one is charged in full
  for (int64_t k = 0; k < chunks; k++) {
    std::vector<PhasePlan> plans = phases(call.rank, call.kind, on, dimensions, chunk);
    // No dimension with two ranks is involved: the node has no stream, and so no end.
    if (plans.empty()) return 0;
    Stream stream = stream_of(call);
    stream.in_small_group = is_small;
    stream.plans = std::move(plans);
    engine_.streams.launch(std::move(stream));
  }
  return chunks;
}

Stream Collectives::stream_of(const Call& call) {
  Stream stream{};
  stream.rank = call.rank;
  stream.node = call.node;
  stream.priority = call.priority;
  stream.tag = next_tag(call.rank, call.member);
  return stream;
}

Collectives::Layout Collectives::layout(int32_t rank, Kind kind, const Group* group) const {
  const std::vector<Implementation>& configured = engine_.system.implementations[static_cast<size_t>(kind)];
  Layout layout;
  if (group) {
    const auto position = std::ranges::find(group->ranks, rank) - group->ranks.begin();
    // A group of a part of the ranks has no dimensions: one ring in listed order, whatever is configured for several.
    const Implementation ring{Algorithm::kRing, -1, false};
    layout.implementations = {configured.size() > 1 ? ring : configured.front()};
    layout.rings = {
        {0, 1, static_cast<int32_t>(group->ranks.size()), static_cast<int32_t>(position), group->ranks.data()}};
    return layout;
  }
  layout.implementations = configured;
  int32_t stride = 1;
  for (size_t at = 0; at < configured.size(); at++) {
    if (configured[at].flat) {
      layout.rings.push_back({0, 1, engine_.num_ranks, rank});
      break;
    }
    const int32_t size = engine_.dimensions[at].size;
    const int32_t position = rank / stride % size;
    layout.rings.push_back({rank - position * stride, stride, size, position});
    stride *= size;
  }
  return layout;
}

std::vector<PhasePlan> Collectives::phases(int32_t rank, Kind kind, const Layout& layout, uint32_t dimensions,
                                           int64_t bytes) {
  std::vector<int> involved;
  for (int at = 0; at < static_cast<int>(layout.rings.size()); at++) {
    if (layout.rings[at].size > 1 && (dimensions >> at & 1)) involved.push_back(at);
  }
  // Outermost first: the mirror image of reduce_scatter.
  if (kind == Kind::kAllGather) std::ranges::reverse(involved);
  std::vector<PhasePlan> plans;
  // "baseline": the whole size in every dimension. "localBWAware" shrinks it, dimension by dimension (which looks at no
  // bandwidth, in spite of the name): reduce_scatter up, all_reduce in the last, all_gather down again.
  if (kind != Kind::kAllReduce || !engine_.system.shrinking || involved.empty()) {
    for (const int at : involved) add_phase(plans, rank, kind, kind, layout, at, any_queue(rank, at), bytes);
    return plans;
  }
  const int last = involved.back();
  involved.pop_back();
  for (const int at : involved) {
    add_phase(plans, rank, Kind::kReduceScatter, kind, layout, at, queue_of_first_half(rank, at), bytes);
  }
  add_phase(plans, rank, kind, kind, layout, last, queue_of_first_half(rank, last), bytes);
  std::ranges::reverse(involved);
  for (const int at : involved) {
    add_phase(plans, rank, Kind::kAllGather, kind, layout, at, queue_of_second_half(rank, at), bytes);
  }
  return plans;
}

void Collectives::add_phase(std::vector<PhasePlan>& plans, int32_t rank, Kind kind, Kind tree, const Layout& layout,
                            int dimension, QueueTurn turn, int64_t& bytes) {
  const Implementation& implementation = layout.implementations[dimension];
  PhasePlan plan{
      kind, implementation.algorithm, implementation.window, turn.queue, turn.direction, bytes, layout.rings[dimension],
      false};
  if (plan.algorithm == Algorithm::kDoubleBinaryTree) {
    uint8_t& trees = tree_turns_[(static_cast<size_t>(rank) * kNumKinds + static_cast<size_t>(tree)) * num_dimensions_ +
                                 static_cast<size_t>(dimension)];
    plan.root_is_last = trees == 0;
    trees ^= 1;
  }
  bytes = bytes_after(kind, plan.algorithm, bytes, plan.ring.size);
  plans.push_back(plan);
}

Collectives::QueueTurn Collectives::any_queue(int32_t rank, int dimension) {
  const int32_t queues = engine_.system.queues_per_dimension;
  int32_t& turn = turns(rank, dimension).any;
  const QueueTurn taken{dimension * queues + turn, queues > 1 && turn >= queues / 2 ? -1 : 1};
  turn = (turn + 1) % queues;
  return taken;
}

// Round robin: reduce_scatter in the first half of a dimension's queues, all_gather in the second, which turn the other
// way round the ring, so that the two directions of links are both in use.
Collectives::QueueTurn Collectives::queue_of_first_half(int32_t rank, int dimension) {
  const int32_t queues = engine_.system.queues_per_dimension;
  int32_t& turn = turns(rank, dimension).first;
  const QueueTurn taken{dimension * queues + turn, 1};
  if (++turn >= queues / 2) turn = 0;
  return taken;
}

Collectives::QueueTurn Collectives::queue_of_second_half(int32_t rank, int dimension) {
  const int32_t queues = engine_.system.queues_per_dimension;
  int32_t& turn = turns(rank, dimension).second;
  const QueueTurn taken{dimension * queues + turn, -1};
  if (++turn >= queues) turn = queues / 2;
  return taken;
}

// Greater goes first: LIFO numbers collectives upwards, FIFO downwards.
int64_t Collectives::priority(int32_t rank, uint32_t node) {
  switch (engine_.system.policy) {
    case Policy::kLifo:
      return priorities_[rank]++;
    case Policy::kFifo:
      return priorities_[rank]--;
    default:
      return engine_.program.priority[node];
  }
}

uint32_t Collectives::next_tag(int32_t rank, Membership* member) {
  // Ranks count for themselves and agree only because all issue a group's collectives in one order, as the peer's do.
  // A rank's own count goes on with the calls in groups too: ranks that made unlike numbers of them never meet again in
  // a collective of everybody, and wait for ever.
  int64_t stream = next_streams_[rank]++;
  if (member) stream = member->next_stream++;
  // The peer's ids are of 32 bits: those of groups beyond 2147 go round, below zero.
  return static_cast<uint32_t>(static_cast<int32_t>(stream) % kFirstCollectiveTag + kFirstCollectiveTag);
}

Collectives::Membership* Collectives::membership(int32_t rank, int32_t group) {
  if (group < 0) return nullptr;
  const uint64_t key = static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(group);
  return &memberships_.try_emplace(key, Membership{engine_.groups[group].first_stream, {}, {}}).first->second;
}

}  // namespace hocket::simulator::astra
