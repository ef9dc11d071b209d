#include "convoys.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "algorithms.hpp"
#include "engine.hpp"

namespace hocket::simulator::astra {
namespace {

constexpr uint32_t kFewGroups = 1000;      // their streams' tags have not gone round
constexpr int64_t kMostTag = 100'000'000;  // of messages: less than those of streams
constexpr size_t kMostEntries = 1U << 24;  // of a course's steps

int32_t position_of(const LogicalRing& ring, int32_t rank) {
  if (!ring.members) return (rank - ring.base) / ring.stride;
  return static_cast<int32_t>(std::find(ring.members, ring.members + ring.size, rank) - ring.members);
}

}  // namespace

/// One rank's part, of which only the end happens.
class Convoys::Member final : public Phase {
 public:
  Member(Convoys& convoys, const PhasePlan& plan, uint32_t course, uint32_t stream, const Key& key,
         const Endpoint& endpoint)
      : convoys_(convoys), plan_(plan), course_(course), stream_(stream), key_(key), endpoint_(endpoint) {}

  void start() override { convoys_.join(plan_, course_, stream_, key_); }
  void processed() override { endpoint_.finish(); }

 private:
  Convoys& convoys_;
  PhasePlan plan_;
  uint32_t course_, stream_;
  Key key_;
  Endpoint endpoint_;
};

Convoys::Convoys(Engine& engine) : engine_(engine), touched_(engine.program.num_ranks(), -1) {
  if (!engine.system.congestion) return;
  free_from_.assign(engine.num_ranks, 0);
  free_to_.assign(engine.num_ranks, 0);
}

size_t Convoys::Hash::operator()(const Key& key) const {
  uint64_t hash = key.tag;
  for (const uint64_t part : {static_cast<uint64_t>(key.step), static_cast<uint64_t>(key.base),
                              static_cast<uint64_t>(key.stride), reinterpret_cast<uint64_t>(key.members)}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

// What several ranks use is used in the order of their events at one instant, which is not known here.
bool Convoys::suits(const Engine& engine) {
  const System& system = engine.system;
  if (system.rendezvous || system.endpoint_delay <= 0) return false;
  if (system.congestion && (system.queues_per_dimension > 1 || system.active_chunks > 1)) return false;
  if (engine.groups.size() > kFewGroups) return false;
  const Program& program = engine.program;
  for (uint32_t node = 0; node < program.num_nodes(); node++) {
    const Action action = program.action_of(node);
    if (action == Action::kMemory && engine.memory.is_shared()) return false;
    const bool is_message = action == Action::kSend || action == Action::kReceive;
    if (is_message && (system.congestion || program.tag[node] < 0 || program.tag[node] > kMostTag)) return false;
  }
  return true;
}

Nanoseconds Convoys::now() const { return engine_.clock.now(); }

bool Convoys::has_failed() const { return has_failed_ || engine_.clock.is_open(); }

std::unique_ptr<Phase> Convoys::make_phase(const PhasePlan& plan, uint32_t stream, uint32_t tag, uint32_t step,
                                           bool fixed_delay, const Endpoint& endpoint) {
  const int32_t caller = engine_.program.group[engine_.streams.node_of(stream)];
  if (caller_of_.try_emplace(tag, caller).first->second != caller) fail();
  const LogicalRing& ring = plan.ring;
  return std::make_unique<Member>(*this, plan, course_of(plan, fixed_delay), stream,
                                  Key{tag, step, ring.base, ring.stride, ring.members}, endpoint);
}

uint32_t Convoys::course_of(const PhasePlan& plan, bool fixed_delay) {
  PhasePlan anywhere = plan;
  anywhere.queue = 0;
  anywhere.ring.position = 0;
  const auto known = std::ranges::find_if(
      courses_, [&](const Course& course) { return course.plan == anywhere && course.fixed_delay == fixed_delay; });
  if (known == courses_.end()) {
    Course course{};
    course.plan = anywhere;
    course.fixed_delay = fixed_delay;
    if (!lay_out(course)) fail();
    courses_.push_back(std::move(course));
    return static_cast<uint32_t>(courses_.size() - 1);
  }
  return static_cast<uint32_t>(known - courses_.begin());
}

bool Convoys::lay_out(Course& course) const {
  const auto with = [&](auto&& rounds_of, auto&& peers_of) {
    return lay_out(course, rounds_of(course.plan), peers_of);
  };
  switch (course.plan.algorithm) {
    case Algorithm::kRing:
      return with(rounds_of_ring, neighbours_of);
    case Algorithm::kDirect:
      return with(rounds_of_direct, others_of);
    case Algorithm::kHalvingDoubling:
      return with(rounds_of_halving_doubling, partners_of);
    default:
      return false;
  }
}

template <typename PeersOf>
bool Convoys::lay_out(Course& course, const Rounds& rounds, PeersOf&& peers_of) const {
  const auto at = [&](int32_t position) {
    PhasePlan plan = course.plan;
    plan.ring.position = position;
    return peers_of(plan);
  };
  using Peers = std::decay_t<decltype(at(0))>;
  const int64_t others = course.plan.ring.size - 1;
  course.leaves_together = rounds.window > 1 && rounds.window == others;
  if (rounds.messages <= 0 || (rounds.window > 1 && !course.leaves_together)) return false;
  const bool is_one_for_all = std::is_same_v<Peers, Neighbours>;
  const bool is_ring_of_all = is_one_for_all && !course.plan.ring.members && course.plan.direction == 1 &&
                              course.plan.ring.size == engine_.num_ranks;
  if (engine_.system.congestion && !is_ring_of_all) return false;
  const int64_t steps = is_one_for_all ? 1 : course.leaves_together ? others : rounds.messages;
  if (static_cast<size_t>(steps) * static_cast<size_t>(course.plan.ring.size) > kMostEntries) return false;
  course.messages = rounds.messages;
  course.steps.resize(steps);
  return lay_out_steps<Peers>(course, at) && lay_out_processing(course, rounds, at(0));
}

template <typename Peers, typename At>
bool Convoys::lay_out_steps(Course& course, At&& at) const {
  const LogicalRing& ring = course.plan.ring;
  std::vector<std::vector<int32_t>> to(course.steps.size());
  for (int32_t position = 0; position < ring.size; position++) {
    Peers peers = at(position);
    for (size_t k = 0; k < course.steps.size(); k++, peers.advance()) {
      Step& step = course.steps[k];
      if (position == 0) step.bytes = peers.bytes;
      const auto [time, occupancy, uncharged] = engine_.links.time(peers.from(), ring.rank_at(position), peers.bytes);
      step.occupancy = occupancy;
      if (step.bytes != peers.bytes || time > kLatest / 4 / course.messages) return false;
      step.from.push_back(position_of(ring, peers.from()));
      step.time.push_back(time);
      to[k].push_back(position_of(ring, peers.to()));
    }
  }
  for (size_t k = 0; k < course.steps.size(); k++) {
    for (int32_t position = 0; position < ring.size; position++) {
      if (to[k][course.steps[k].from[position]] != position) return false;
    }
  }
  return true;
}

// The counters are those of Exchange: what is taken in, and what of it is reduced.
template <typename Peers>
bool Convoys::lay_out_processing(Course& course, const Rounds& rounds, Peers arriving) const {
  const Nanoseconds delay = course.fixed_delay ? kFixedDelay : engine_.system.endpoint_delay;
  course.beginning = delay;
  int64_t plain = 0, reduced = 0;
  bool odd = false;
  for (int64_t k = 0; k < rounds.window + rounds.messages; k++, arriving.advance()) {
    if (plain == 0 && reduced == 0) {
      plain = rounds.window;
      reduced = rounds.reducing;
      odd = !odd;
    }
    const bool is_plain = plain > 0;
    (is_plain ? plain : reduced)--;
    if (k < rounds.window) continue;
    const Kind kind = course.plan.kind;
    const bool reduces = !is_plain && (kind == Kind::kReduceScatter || (kind == Kind::kAllReduce && odd));
    const Nanoseconds time = delay + (reduces ? reduction(arriving.bytes, engine_.system.local_memory_bandwidth) : 0);
    if (time > kLatest / 4 / (rounds.messages + 1)) return false;
    if (course.processed.empty() || course.processed.back().time != time) course.processed.push_back({time, 0});
    course.processed.back().messages++;
  }
  // Of messages that leave together it is known which half they are, not which of a half they are.
  const int64_t half = course.plan.ring.size - 1;
  return !course.leaves_together || course.processed.size() == 1 || course.processed.front().messages == half;
}

void Convoys::join(const PhasePlan& plan, uint32_t course, uint32_t stream, const Key& key) {
  if (has_failed_) return;
  const int32_t size = plan.ring.size;
  const auto [found, is_new] = convoys_.try_emplace(key);
  Convoy& convoy = found->second;
  if (is_new)
    convoy = {course, size, std::vector<Nanoseconds>(size), std::vector<int64_t>(size, -1),
              std::vector<uint32_t>(size)};
  const int32_t position = plan.ring.position;
  if (convoy.course != course || convoy.turns[position] >= 0) return fail();
  convoy.begins[position] = engine_.clock.now();
  convoy.turns[position] = turn_++;
  convoy.streams[position] = stream;
  if (--convoy.missing > 0) return;
  run(convoy);
  convoys_.erase(found);
}

void Convoys::run(const Convoy& convoy) {
  Course& course = courses_[convoy.course];
  course.convoys++;
  Times sent = convoy.begins;
  for (Nanoseconds& time : sent) time += course.beginning;
  const Times ends = course.leaves_together      ? ends_together(course, sent)
                     : engine_.system.congestion ? ends_in_line(course, std::move(sent))
                                                 : Convoys::ends(course, std::move(sent));
  if (!are_twins(course, convoy)) course.twins = ++twins_;
  course.begins = convoy.begins;
  course.turns = convoy.turns;
  const Nanoseconds now = engine_.clock.now();
  for (size_t at = 0; at < ends.size(); at++) {
    if (ends[at] <= now) return fail();
    const int32_t rank = course.plan.ring.rank_at(static_cast<int32_t>(at));
    engine_.clock.after(rank, ends[at] - now, {Callback::kProcessed, convoy.streams[at], -1}, course.twins);
  }
}

// A sweep over the ranks for each message: the inner loop is three loads, a maximum and two additions.
Convoys::Times Convoys::ends(const Course& course, Times sent) {
  Times next(sent.size());
  size_t k = 0;
  for (const Processing& processing : course.processed) {
    for (int64_t message = 0; message < processing.messages; message++) {
      const Step& step = course.steps[k];
      if (++k == course.steps.size()) k = 0;
      for (size_t at = 0; at < sent.size(); at++) {
        next[at] = std::max(sent[at], sent[step.from[at]] + step.time[at]) + processing.time;
      }
      std::swap(sent, next);
    }
  }
  return sent;
}

// As `ends`, where a message waits until its link has sent the ones before, and in a switch until the one from there
// has.
Convoys::Times Convoys::ends_in_line(const Course& course, Times sent) {
  Times next(sent.size());
  const Step& step = course.steps.front();
  const bool has_switch = engine_.dimensions.front().shape == Shape::kSwitch;
  const auto pass = [&](Nanoseconds& free, Nanoseconds comes, Nanoseconds time) {
    const Nanoseconds leaves = std::max(comes, free);
    free = leaves + step.occupancy;
    return leaves + time;
  };
  for (const Processing& processing : course.processed) {
    for (int64_t message = 0; message < processing.messages; message++) {
      for (size_t at = 0; at < sent.size(); at++) {
        const int32_t from = step.from[at];
        Nanoseconds comes = pass(free_from_[from], sent[from], step.time[at]);
        if (has_switch) comes = pass(free_to_[at], comes, step.time[at]);
        next[at] = std::max(sent[at], comes) + processing.time;
      }
      std::swap(sent, next);
    }
  }
  return sent;
}

Convoys::Times Convoys::ends_together(const Course& course, const Times& sent) {
  const size_t size = sent.size(), half = course.steps.size();
  const auto came = [&](size_t k, size_t at) {
    return std::max(sent[at], sent[course.steps[k].from[at]] + course.steps[k].time[at]);
  };
  Times ends(size, 0);
  const Nanoseconds first = course.processed.front().time, second = course.processed.back().time;
  if (course.messages == static_cast<int64_t>(half)) {
    for (size_t k = 0; k < half; k++) {
      for (size_t at = 0; at < size; at++) ends[at] = std::max(ends[at], came(k, at) + first);
    }
    return ends;
  }
  // The k-th message of the second half leaves when the k-th of the first is processed, and with the first that is
  // processed after all have come: before it nothing leaves. Whether one of that instant is before is not known.
  std::vector<Times> leaves(half, Times(size));
  Times processed(half);
  for (size_t at = 0; at < size; at++) {
    for (size_t k = 0; k < half; k++) processed[k] = came(k, at) + first;
    std::ranges::sort(processed);
    const Nanoseconds all = processed.back() - first;
    const auto next = std::ranges::lower_bound(processed, all);
    if (*next == all) fail();
    for (size_t k = 0; k < half; k++) leaves[k][at] = std::max(processed[k], *next);
  }
  for (size_t k = 0; k < half; k++) {
    const Step& step = course.steps[k];
    for (size_t at = 0; at < size; at++) {
      const Nanoseconds comes = std::max(leaves[k][at], leaves[k][step.from[at]] + step.time[at]);
      // What comes of the second half lets messages leave, too, where some of the first are still processed.
      if (comes + second < leaves.back()[at]) fail();
      ends[at] = std::max(ends[at], comes + second);
    }
  }
  return ends;
}

// Begun at the same times, and on each rank in the same order: all that they do they do in that order.
bool Convoys::are_twins(const Course& course, const Convoy& convoy) const {
  if (course.begins != convoy.begins) return false;
  for (size_t at = 0; at < convoy.turns.size(); at++) {
    if (course.turns[at] > convoy.turns[at]) return false;
  }
  return true;
}

void Convoys::count() const {
  for (const Course& course : courses_) {
    const LogicalRing& ring = course.plan.ring;
    const int64_t messages = course.convoys * course.messages / static_cast<int64_t>(course.steps.size());
    for (const Step& step : course.steps) {
      for (int32_t at = 0; at < ring.size; at++) {
        const int32_t src = ring.rank_at(step.from[at]), dst = ring.rank_at(at);
        engine_.links.count(src, dst, step.bytes, messages, engine_.links.time(src, dst, step.bytes));
      }
    }
  }
}

}  // namespace hocket::simulator::astra
