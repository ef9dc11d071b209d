#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "hocket/schedule/plan.hpp"
#include "plan_log.hpp"
#include "values.hpp"

namespace hocket::schedule::plan {
namespace {

/// A block or a proxy: what was done before its threads last met, and what since, all at once.
struct Lane {
  int64_t base = -1;
  std::vector<int64_t> open;
  int64_t shown = -1;  ///< what even a relaxed signal shows: what was released by others, or by the lane itself
  std::vector<int32_t> chains;
  int64_t meetings = 0;
};

/// A count that one block raises and another lowers: what each raise was, and who waits for the next.
struct Counter {
  struct Raise {
    int64_t event;  ///< -1: it was there at first
    int64_t seen;   ///< the event that says what is seen of it where it or the wait is relaxed, and shown on
    bool relaxed;
    bool device;  ///< it reaches the rank's own blocks only
  };
  std::deque<Raise> raises;
  int32_t waiter = -1;
};

class Machine {
 public:
  Machine(const Program& program, int32_t launches)
      : program_(program),
        launches_(launches),
        memory_(program.initial.size()),
        stamp_(program.initial.size(), -1),
        writer_(program.initial.size(), -1),
        shown_(program.initial.size(), -1),
        blocks_(program.blocks.size()),
        proxies_(program.ends.size()),
        inbound_(program.ends.size()),
        semaphores_(program.semaphore.size()),
        arrived_(program.barrier_size.size()),
        next_step_(program.blocks.size()),
        waits_at_(program.blocks.size(), false),
        blocks_of_(program.num_ranks),
        running_(program.num_ranks),
        launch_(program.num_ranks, -1),
        starts_(program.num_ranks),
        start_chain_(program.num_ranks),
        wanted_of_(program.num_ranks),
        callers_of_(program.num_ranks) {
    for (int32_t b = 0; b < std::ssize(program.blocks); b++) blocks_of_[program.blocks[b].rank].push_back(b);
    for (int32_t s = 0; s < std::ssize(semaphores_); s++) {
      for (int32_t k = 0; k < program.semaphore[s]; k++) semaphores_[s].raises.push_back({-1, -1, false, true});
    }
    for (const Wanted& wanted : program.wanted) {
      wanted_of_[program.location_rank[wanted.location]].push_back(wanted);
    }
    for (int64_t location = 0; location < std::ssize(program.callers); location++) {
      if (program.callers[location]) callers_of_[program.location_rank[location]].push_back(location);
    }
    for (int32_t& chain : start_chain_) chain = new_chain();
  }

  Execution run() {
    for (int32_t rank = 0; rank < program_.num_ranks; rank++) start_launch(rank);
    while (!ready_.empty() && result_.outcome != Outcome::kRewritten) {
      const int32_t block = ready_.back();
      ready_.pop_back();
      while (!finished(block) && advance(block) && result_.outcome != Outcome::kRewritten) {
      }
    }
    judge();
    result_.events = std::ssize(log_.events);
    return std::move(result_);
  }

 private:
  int32_t new_chain() {
    chain_length_.push_back(0);
    return log_.num_chains++;
  }

  bool finished(int32_t block) const { return next_step_[block] == program_.blocks[block].last_step; }

  void because(int64_t event, Shows shows = Shows::kAll) {
    if (event >= 0) log_.causes.push_back({event, shows});
  }

  /// `lane` is now shown what `event` sees.
  void show(Lane& lane, int32_t rank, int64_t event, Shows shows = Shows::kAll) {
    because(lane.shown);
    because(event, shows);
    lane.shown = happen(-1, rank, -1);
  }

  /// The event whose causes were given last.
  int64_t happen(int32_t chain, int32_t rank, int64_t step) {
    const int32_t index = chain < 0 ? 0 : chain_length_[chain]++;
    log_.events.push_back({chain, index, rank, launch_[rank], step});
    log_.first_cause.push_back(std::ssize(log_.causes));
    return std::ssize(log_.events) - 1;
  }

  int32_t next_chain(Lane& lane) {
    const size_t position = lane.open.size();
    while (lane.chains.size() <= position) lane.chains.push_back(new_chain());
    return lane.chains[position];
  }

  void because_all(const Lane& lane) {
    because(lane.base);
    for (const int64_t event : lane.open) because(event);
  }

  void meet(Lane& lane, int32_t rank) {
    lane.meetings++;
    if (lane.open.empty()) return;
    because_all(lane);
    settle(lane, happen(-1, rank, -1));
  }

  static void settle(Lane& lane, int64_t base) {
    lane.base = base;
    lane.open.clear();
  }

  /// The rank's caller takes what the launch before left, and writes its buffers for the next.
  void start_launch(int32_t rank) {
    if (launch_[rank] >= 0) check_values(rank);
    for (const int32_t block : blocks_of_[rank]) because_all(blocks_[block]);
    if (launch_[rank] >= 0) because(starts_[rank].back());
    launch_[rank]++;
    starts_[rank].push_back(happen(start_chain_[rank], rank, -1));
    if (launch_[rank] == launches_) return;
    for (const int64_t location : callers_of_[rank]) {
      const int32_t chunk = program_.initial[location];
      memory_[location] = chunk < 0 ? 0 : values_.original(rank, chunk + launch_[rank] * program_.num_chunks);
    }
    running_[rank] = static_cast<int32_t>(blocks_of_[rank].size());
    for (const int32_t block : blocks_of_[rank]) {
      next_step_[block] = program_.blocks[block].first_step;
      blocks_[block].meetings++;
      settle(blocks_[block], starts_[rank].back());
      blocks_[block].shown = starts_[rank].back();
      ready_.push_back(block);
      if (finished(block)) running_[rank]--;
    }
    if (running_[rank] == 0) start_launch(rank);
  }

  void step_done(int32_t block) {
    next_step_[block]++;
    const int32_t rank = program_.blocks[block].rank;
    if (finished(block) && --running_[rank] == 0) start_launch(rank);
  }

  /// Executes the block's next step; false when it has to wait.
  bool advance(int32_t block) {
    const int64_t number = next_step_[block];
    const Step& step = program_.steps[number];
    const int32_t rank = program_.blocks[block].rank;
    Lane& lane = blocks_[block];
    switch (step.kind) {
      case StepKind::kSync:
        meet(lane, rank);
        break;
      case StepKind::kBarrier:
        return arrive(block, step);
      case StepKind::kSignal:
        signal(block, number, step);
        break;
      case StepKind::kRelease:
        because(lane.base);
        release(lane, rank, number, semaphores_[step.object]);
        break;
      case StepKind::kWait:
        if (!lower(block, number, inbound_[step.object], step.relaxed)) return false;
        break;
      case StepKind::kAcquire:
        if (!lower(block, number, semaphores_[step.object], false)) return false;
        break;
      case StepKind::kMove:
      case StepKind::kPost:
        if (const auto missing = missing_packet(step, launch_[rank])) {
          packet_waiters_[*missing].push_back(block);
          return false;
        }
        move(block, number, step);
        break;
    }
    step_done(block);
    return true;
  }

  bool arrive(int32_t block, const Step& step) {
    if (waits_at_[block]) return false;
    auto& arrived = arrived_[step.object];
    arrived.push_back(block);
    waits_at_[block] = true;
    if (std::ssize(arrived) < program_.barrier_size[step.object]) return false;
    const int32_t rank = program_.blocks[block].rank;
    for (const int32_t member : arrived) because_all(blocks_[member]);
    const int64_t event = happen(-1, rank, -1);
    for (const int32_t member : arrived) because(blocks_[member].shown);
    because(event, Shows::kOwn);
    const int64_t shown = happen(-1, rank, -1);
    for (const int32_t member : std::exchange(arrived, {})) {
      waits_at_[member] = false;
      blocks_[member].meetings++;
      blocks_[member].shown = shown;
      settle(blocks_[member], event);
      ready_.push_back(member);
      step_done(member);
    }
    return false;  // as ready as the others
  }

  void raise(Counter& counter, Counter::Raise raise) {
    counter.raises.push_back(raise);
    if (counter.waiter >= 0) ready_.push_back(std::exchange(counter.waiter, -1));
  }

  void release(Lane& lane, int32_t rank, int64_t number, Counter& semaphore) {
    const int64_t event = happen(-1, rank, number);
    show(lane, rank, lane.base, Shows::kOwn);
    raise(semaphore, {event, lane.shown, false, true});
  }

  bool lower(int32_t block, int64_t number, Counter& counter, bool relaxed) {
    if (counter.raises.empty()) {
      counter.waiter = block;
      return false;
    }
    const Counter::Raise raised = counter.raises.front();
    counter.raises.pop_front();
    const int32_t rank = program_.blocks[block].rank;
    Lane& lane = blocks_[block];
    const int64_t seen = relaxed || raised.relaxed ? raised.seen : raised.event;
    because(lane.base);
    because(raised.event, Shows::kNothing);
    because(seen);
    lane.open.push_back(happen(-1, rank, number));
    if (seen >= 0) show(lane, rank, raised.device ? raised.seen : seen);
    return true;
  }

  void signal(int32_t block, int64_t number, const Step& step) {
    const int32_t rank = program_.blocks[block].rank;
    const ChannelEnd& end = program_.ends[step.object];
    if (end.port) because(proxy_of(block, step.object).base);
    because(blocks_[block].base);
    const int64_t event = happen(-1, rank, number);
    if (end.port) proxies_[step.object].open.push_back(event);
    const bool relaxed = step.relaxed && !end.port;
    if (end.partner >= 0) raise(inbound_[end.partner], {event, blocks_[block].shown, relaxed, false});
    if (!relaxed) show(blocks_[block], rank, blocks_[block].base);
  }

  /// The proxy of a channel end, which has done what was posted before the block's threads last met.
  Lane& proxy_of(int32_t block, int32_t end) {
    Lane& proxy = proxies_[end];
    if (proxy.meetings != blocks_[block].meetings) {
      meet(proxy, program_.blocks[block].rank);
      proxy.meetings = blocks_[block].meetings;
    }
    return proxy;
  }

  std::optional<int64_t> missing_packet(const Step& step, int32_t launch) const {
    for (int64_t o = step.first_source; o < step.first_destination; o++) {
      if (!program_.operands[o].packet) continue;
      const int64_t first = place(program_.operands[o], launch);
      for (int64_t location = first; location < first + step.count; location++) {
        if (stamp_[location] != launch) return location;
      }
    }
    return std::nullopt;
  }

  void move(int32_t block, int64_t number, const Step& step) {
    const int32_t rank = program_.blocks[block].rank;
    const bool posted = step.kind == StepKind::kPost;
    Lane& lane = posted ? proxy_of(block, step.object) : blocks_[block];
    because(lane.base);
    because(blocks_[block].base);
    int64_t last = -1;
    std::vector<int64_t> shown;
    for (int64_t o = step.first_source; o < step.first_destination; o++) {
      if (!program_.operands[o].packet) continue;
      const int64_t first = place(program_.operands[o], launch_[rank]);
      for (int64_t location = first; location < first + step.count; location++) {
        if (writer_[location] == last) continue;
        last = writer_[location];
        because(last, Shows::kNothing);
        because(shown_[location]);
        shown.push_back(shown_[location]);
      }
    }
    const int64_t event = happen(next_chain(lane), rank, number);
    lane.open.push_back(event);
    for (const int64_t one : shown) show(blocks_[block], rank, one);
    std::vector<int32_t> sums(step.count);
    for (int32_t k = 0; k < step.count; k++) sums[k] = sum(step, k, launch_[rank]);
    for (int64_t o = step.first_destination; o < step.last_operand; o++)
      write(program_.operands[o], sums, event, blocks_[block].shown);
    if (step.signals && program_.ends[step.object].partner >= 0) {
      raise(inbound_[program_.ends[step.object].partner], {event, blocks_[block].shown, false, false});
    }
    if (step.flushes) blocks_[block].open.push_back(event);
  }

  int32_t sum(const Step& step, int32_t k, int32_t launch) {
    std::optional<int32_t> total;
    for (int64_t o = step.first_source; o < step.first_destination; o++) {
      const int32_t value = memory_[place(program_.operands[o], launch) + k];
      total = total ? values_.sum(*total, value) : value;
    }
    return *total;
  }

  void write(const Operand& operand, const std::vector<int32_t>& values, int64_t event, int64_t shown) {
    const int32_t launch = log_.events[event].launch;
    const int64_t first = place(operand, launch);
    if (operand.packet && repeats(values, first, launch)) {
      log_.idle.insert({event, &operand - program_.operands.data()});
      return;
    }
    for (int64_t k = 0; k < std::ssize(values); k++) {
      memory_[first + k] = values[k];
      if (!operand.packet) continue;
      if (stamp_[first + k] == launch) {
        return stop(Outcome::kRewritten, {first + k, log_.events[writer_[first + k]].step, log_.events[event].step});
      }
      stamp_[first + k] = launch;
      writer_[first + k] = event;
      shown_[first + k] = shown;
      if (const auto waiters = packet_waiters_.extract(first + k)) {
        ready_.insert(ready_.end(), waiters.mapped().begin(), waiters.mapped().end());
      }
    }
  }

  /// Whether this launch has written these very packets already.
  bool repeats(const std::vector<int32_t>& values, int64_t first, int32_t launch) const {
    for (int64_t k = 0; k < std::ssize(values); k++) {
      if (stamp_[first + k] != launch || memory_[first + k] != values[k]) return false;
    }
    return true;
  }

  void stop(Outcome outcome, std::vector<int64_t> facts) {
    if (result_.outcome != Outcome::kProved) return;
    result_.outcome = outcome;
    result_.facts = std::move(facts);
  }

  void check_values(int32_t rank) {
    if (!wrong_value_.empty()) return;
    for (const Wanted& wanted : wanted_of_[rank]) {
      if (holds(wanted, launch_[rank])) continue;
      wrong_value_ = {wanted.location, launch_[rank]};
      for (const auto& c : values_.of(memory_[wanted.location])) {
        wrong_value_.insert(wrong_value_.end(),
                            {c.rank, c.chunk % program_.num_chunks, c.chunk / program_.num_chunks, c.times});
      }
      return;
    }
  }

  bool holds(const Wanted& wanted, int32_t launch) {
    return values_.is(memory_[wanted.location], wanted.chunk + launch * program_.num_chunks, wanted.source,
                      program_.num_ranks);
  }

  void judge() {
    if (result_.outcome == Outcome::kRewritten) return;
    for (const int32_t launch : launch_) {
      if (launch < launches_) return stop(Outcome::kDeadlock, stuck_blocks());
    }
    Races races = find_races(program_, log_);
    if (!races.race.empty()) return stop(Outcome::kRace, std::move(races.race));
    result_.weak = std::move(races.weak);
    if (!wrong_value_.empty()) return stop(Outcome::kWrongValue, wrong_value_);
    for (int32_t end = 0; end < std::ssize(inbound_); end++) {
      if (const auto left = std::ssize(inbound_[end].raises)) return stop(Outcome::kUnmatched, {0, end, left, 0});
    }
    for (int32_t number = 0; number < std::ssize(semaphores_); number++) {
      const auto left = std::ssize(semaphores_[number].raises);
      const int64_t before = program_.semaphore[number];
      if (left != before) return stop(Outcome::kUnmatched, {1, number, left, before});
    }
  }

  std::vector<int64_t> stuck_blocks() const {
    std::vector<int64_t> rows;
    for (int32_t block = 0; block < std::ssize(blocks_); block++) {
      if (finished(block)) continue;
      const int32_t other = awaited(block, program_.steps[next_step_[block]]);
      const int64_t step = other < 0 || finished(other) ? -1 : next_step_[other];
      rows.insert(rows.end(), {block, next_step_[block], launch_[program_.blocks[block].rank], other, step});
    }
    return rows;
  }

  /// The block that could end the wait, -1: none.
  int32_t awaited(int32_t block, const Step& step) const {
    if (step.kind == StepKind::kBarrier) {
      return block_with([&](int32_t other, const Step& s) {
        return s.kind == StepKind::kBarrier && s.object == step.object && !waits_at_[other];
      });
    }
    if (step.kind == StepKind::kAcquire) {
      return block_with(
          [&](int32_t, const Step& s) { return s.kind == StepKind::kRelease && s.object == step.object; });
    }
    if (step.kind == StepKind::kWait) {
      return block_with([&](int32_t, const Step& s) {
        const bool gives = s.kind == StepKind::kSignal || (s.kind == StepKind::kPost && s.signals);
        return gives && program_.ends[s.object].partner == step.object;
      });
    }
    const int32_t launch = launch_[program_.blocks[block].rank];
    const int64_t packet = *missing_packet(step, launch);
    return block_with([&](int32_t, const Step& s) {
      for (int64_t o = s.first_destination; o < s.last_operand; o++) {
        const Operand& operand = program_.operands[o];
        const int64_t first = place(operand, launch);
        if (operand.packet && first <= packet && packet < first + s.count) return true;
      }
      return false;
    });
  }

  template <typename Fits>
  int32_t block_with(Fits fits) const {
    for (int32_t block = 0; block < std::ssize(program_.blocks); block++) {
      for (int64_t s = program_.blocks[block].first_step; s < program_.blocks[block].last_step; s++) {
        if (fits(block, program_.steps[s])) return block;
      }
    }
    return -1;
  }

  const Program& program_;
  const int32_t launches_;
  Values values_;
  std::vector<int32_t> memory_;
  std::vector<int32_t> stamp_;   ///< of packets: the launch that wrote them last
  std::vector<int64_t> writer_;  ///< of packets: the event that did
  std::vector<int64_t> shown_;   ///< of packets: the event that says what they show
  std::vector<Lane> blocks_;
  std::vector<Lane> proxies_;
  std::vector<Counter> inbound_;
  std::vector<Counter> semaphores_;
  std::vector<std::vector<int32_t>> arrived_;
  std::vector<int64_t> next_step_;
  std::vector<bool> waits_at_;  ///< a barrier
  std::vector<std::vector<int32_t>> blocks_of_;
  std::vector<int32_t> running_;
  std::vector<int32_t> launch_;
  std::vector<std::vector<int64_t>> starts_;  ///< of each rank's launches
  std::vector<int32_t> start_chain_;
  std::vector<std::vector<Wanted>> wanted_of_;
  std::vector<std::vector<int64_t>> callers_of_;
  std::vector<int32_t> chain_length_;
  std::unordered_map<int64_t, std::vector<int32_t>> packet_waiters_;
  std::vector<int32_t> ready_;
  std::vector<int64_t> wrong_value_;
  Log log_;
  Execution result_;
};

}  // namespace

Execution execute(const Program& program, int32_t launches) { return Machine(program, launches).run(); }

}  // namespace hocket::schedule::plan
