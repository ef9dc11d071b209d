#include <deque>
#include <utility>

#include "hocket/schedule/plan/plan.hpp"
#include "log.hpp"
#include "memory.hpp"
#include "record.hpp"
#include "stuck.hpp"

namespace hocket::schedule::plan {
namespace {

constexpr int64_t kTurns = 1024;  ///< blocks that go on, or events looked at for races, between two polls

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

/// Executes an MSCCL++ execution plan as `execution_kernel.hpp` does, block by block as far as each gets; values say
/// what they are sums of. As in the interpreter of programs the outcome does not depend on who goes first, since every
/// counter has one that raises and one that lowers it.
///
/// Several launches, because state stays between them: semaphores and channel counters, and scratch memory, of which
/// launches use two halves in turn. A rank that is ahead of others overwrites what they still read, or does not: that
/// is what the races of later launches tell.
class Machine {
 public:
  Machine(const Program& program, int32_t launches, const std::function<void()>& poll)
      : program_(program),
        launches_(launches),
        poll_(poll),
        progress_{std::vector<int64_t>(program.blocks.size()), std::vector<bool>(program.blocks.size()),
                  std::vector<int32_t>(program.num_ranks, -1)},
        recorder_(progress_.launch),
        memory_(program),
        blocks_(program.blocks.size()),
        proxies_(program.ends.size()),
        inbound_(program.ends.size()),
        semaphores_(program.semaphore.size()),
        arrived_(program.barrier_size.size()),
        blocks_of_(program.num_ranks),
        running_(program.num_ranks),
        starts_(program.num_ranks),
        start_chain_(program.num_ranks) {
    for (int32_t b = 0; b < std::ssize(program.blocks); b++) blocks_of_[program.blocks[b].rank].push_back(b);
    for (int32_t s = 0; s < std::ssize(semaphores_); s++) {
      for (int32_t k = 0; k < program.semaphore[s]; k++) semaphores_[s].raises.push_back({-1, -1, false, true});
    }
    for (int32_t& chain : start_chain_) chain = recorder_.new_chain();
  }

  Execution run() {
    for (int32_t rank = 0; rank < program_.num_ranks; rank++) start_launch(rank);
    while (!ready_.empty() && result_.outcome != Outcome::kRewritten) {
      const int32_t block = ready_.back();
      ready_.pop_back();
      poll_();
      while (!finished(block) && advance(block) && result_.outcome != Outcome::kRewritten) {
      }
    }
    judge();
    result_.events = std::ssize(recorder_.log().events);
    return std::move(result_);
  }

 private:
  bool finished(int32_t block) const { return progress_.next_step[block] == program_.blocks[block].last_step; }

  /// The rank's caller takes what the launch before left, and writes its buffers for the next.
  // The stream's order: kernels of a rank come one after the other, and nothing orders those of different ranks.
  void start_launch(int32_t rank) {
    if (progress_.launch[rank] >= 0 && wrong_value_.empty())
      wrong_value_ = memory_.wrong_value(rank, progress_.launch[rank]);
    for (const int32_t block : blocks_of_[rank]) recorder_.because_all(blocks_[block]);
    if (progress_.launch[rank] >= 0) recorder_.because(starts_[rank].back());
    progress_.launch[rank]++;
    starts_[rank].push_back(recorder_.happen(start_chain_[rank], rank, -1));
    if (progress_.launch[rank] == launches_) return;
    memory_.start_launch(rank, progress_.launch[rank]);
    running_[rank] = static_cast<int32_t>(blocks_of_[rank].size());
    for (const int32_t block : blocks_of_[rank]) {
      progress_.next_step[block] = program_.blocks[block].first_step;
      blocks_[block].meetings++;
      blocks_[block].settle(starts_[rank].back());
      blocks_[block].shown = starts_[rank].back();
      ready_.push_back(block);
      if (finished(block)) running_[rank]--;
    }
    if (running_[rank] == 0) start_launch(rank);
  }

  void step_done(int32_t block) {
    progress_.next_step[block]++;
    const int32_t rank = program_.blocks[block].rank;
    if (finished(block) && --running_[rank] == 0) start_launch(rank);
  }

  /// Executes the block's next step; false when it has to wait.
  bool advance(int32_t block) {
    const int64_t number = progress_.next_step[block];
    const Step& step = program_.steps[number];
    const int32_t rank = program_.blocks[block].rank;
    Lane& lane = blocks_[block];
    switch (step.kind) {
      case StepKind::kSync:
        recorder_.meet(lane, rank);
        break;
      case StepKind::kBarrier:
        return arrive(block, step);
      case StepKind::kSignal:
        signal(block, number, step);
        break;
      case StepKind::kRelease:
        recorder_.because(lane.base);
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
        if (const auto missing = memory_.missing_packet(step, progress_.launch[rank])) {
          memory_.wait_for_packet(*missing, block);
          return false;
        }
        move(block, number, step);
        break;
    }
    step_done(block);
    return true;
  }

  /// As MSCCL++'s device syncer: all blocks of the barrier meet, and each sees what all had written before.
  bool arrive(int32_t block, const Step& step) {
    if (progress_.waits_at[block]) return false;
    auto& arrived = arrived_[step.object];
    arrived.push_back(block);
    progress_.waits_at[block] = true;
    if (std::ssize(arrived) < program_.barrier_size[step.object]) return false;
    const int32_t rank = program_.blocks[block].rank;
    for (const int32_t member : arrived) recorder_.because_all(blocks_[member]);
    const int64_t event = recorder_.happen(-1, rank, -1);
    for (const int32_t member : arrived) recorder_.because(blocks_[member].shown);
    recorder_.because(event, Shows::kOwn);
    const int64_t shown = recorder_.happen(-1, rank, -1);
    for (const int32_t member : std::exchange(arrived, {})) {
      progress_.waits_at[member] = false;
      blocks_[member].meetings++;
      blocks_[member].shown = shown;
      blocks_[member].settle(event);
      ready_.push_back(member);
      step_done(member);
    }
    // Every member goes on in a turn of its own, also the one that came last.
    return false;  // as ready as the others
  }

  void raise(Counter& counter, Counter::Raise raise) {
    counter.raises.push_back(raise);
    if (counter.waiter >= 0) ready_.push_back(std::exchange(counter.waiter, -1));
  }

  void release(Lane& lane, int32_t rank, int64_t number, Counter& semaphore) {
    const int64_t event = recorder_.happen(-1, rank, number);
    recorder_.show(lane, rank, lane.base, Shows::kOwn);
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
    // An acquire sees what its release had seen; a relaxed one at either end, what had been shown on by others.
    const int64_t seen = relaxed || raised.relaxed ? raised.seen : raised.event;
    recorder_.because(lane.base);
    recorder_.because(raised.event, Shows::kNothing);
    recorder_.because(seen);
    lane.open.push_back(recorder_.happen(-1, rank, number));
    if (seen >= 0) recorder_.show(lane, rank, raised.device ? raised.seen : seen);
    return true;
  }

  void signal(int32_t block, int64_t number, const Step& step) {
    const int32_t rank = program_.blocks[block].rank;
    const ChannelEnd& end = program_.ends[step.object];
    if (end.port) recorder_.because(proxy_of(block, step.object).base);
    recorder_.because(blocks_[block].base);
    const int64_t event = recorder_.happen(-1, rank, number);
    if (end.port) proxies_[step.object].open.push_back(event);
    const bool relaxed = step.relaxed && !end.port;
    if (end.partner >= 0) raise(inbound_[end.partner], {event, blocks_[block].shown, relaxed, false});
    if (!relaxed) recorder_.show(blocks_[block], rank, blocks_[block].base);
  }

  /// The proxy of a channel end, which has done what was posted before the block's threads last met.
  Lane& proxy_of(int32_t block, int32_t end) {
    Lane& proxy = proxies_[end];
    // A proxy works its queue off in order, but posts between two meetings of the block's threads come from different
    // threads, in no order among each other.
    if (proxy.meetings != blocks_[block].meetings) {
      recorder_.meet(proxy, program_.blocks[block].rank);
      proxy.meetings = blocks_[block].meetings;
    }
    return proxy;
  }

  void move(int32_t block, int64_t number, const Step& step) {
    const int32_t rank = program_.blocks[block].rank;
    const bool posted = step.kind == StepKind::kPost;
    Lane& lane = posted ? proxy_of(block, step.object) : blocks_[block];
    recorder_.because(lane.base);
    recorder_.because(blocks_[block].base);
    int64_t last = -1;
    std::vector<int64_t> shown;
    for (int64_t o = step.first_source; o < step.first_destination; o++) {
      if (!program_.operands[o].packet) continue;
      const int64_t first = place(program_.operands[o], progress_.launch[rank]);
      for (int64_t location = first; location < first + step.count; location++) {
        if (memory_.writer(location) == last) continue;
        last = memory_.writer(location);
        recorder_.because(last, Shows::kNothing);
        recorder_.because(memory_.shown(location));
        shown.push_back(memory_.shown(location));
      }
    }
    const int64_t event = recorder_.happen(recorder_.next_chain(lane), rank, number);
    lane.open.push_back(event);
    for (const int64_t one : shown) recorder_.show(blocks_[block], rank, one);
    const std::vector<int32_t> sums = memory_.sums(step, progress_.launch[rank]);
    for (int64_t o = step.first_destination; o < step.last_operand; o++) {
      auto facts = memory_.write(program_.operands[o], sums, event, blocks_[block].shown, recorder_, ready_);
      if (!facts.empty()) stop(Outcome::kRewritten, std::move(facts));
    }
    if (step.signals && program_.ends[step.object].partner >= 0) {
      raise(inbound_[program_.ends[step.object].partner], {event, blocks_[block].shown, false, false});
    }
    // Without a flush the block goes on while the proxy still reads the source: writing there is a race.
    if (step.flushes) blocks_[block].open.push_back(event);
  }

  void stop(Outcome outcome, std::vector<int64_t> facts) {
    if (result_.outcome != Outcome::kProved) return;
    result_.outcome = outcome;
    result_.facts = std::move(facts);
  }

  void judge() {
    if (result_.outcome == Outcome::kRewritten) return;
    for (const int32_t launch : progress_.launch) {
      if (launch < launches_) return stop(Outcome::kDeadlock, stuck_blocks(program_, progress_, memory_));
    }
    // From what makes all else meaningless to what is merely left over.
    Races races = find_races(program_, recorder_.log(), poll_);
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

  const Program& program_;
  const int32_t launches_;
  const std::function<void()>& poll_;
  Progress progress_;
  Recorder recorder_;
  Memory memory_;
  std::vector<Lane> blocks_;
  std::vector<Lane> proxies_;
  std::vector<Counter> inbound_;
  std::vector<Counter> semaphores_;
  std::vector<std::vector<int32_t>> arrived_;
  std::vector<std::vector<int32_t>> blocks_of_;
  std::vector<int32_t> running_;
  std::vector<std::vector<int64_t>> starts_;  ///< of each rank's launches
  std::vector<int32_t> start_chain_;
  std::vector<int32_t> ready_;
  std::vector<int64_t> wrong_value_;
  Execution result_;
};

}  // namespace

Execution execute(const Program& program, int32_t launches, const std::function<void()>& poll) {
  int64_t turns = 0;
  return Machine(program, launches,
                 [&] {
                   if (++turns % kTurns == 0) poll();
                 })
      .run();
}

}  // namespace hocket::schedule::plan
