#include "hocket/schedule/interpreter.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "event_log.hpp"
#include "values.hpp"

namespace hocket::schedule {
namespace {

struct Message {
  std::vector<int32_t> values;
  int64_t event;
};

struct Connection {
  std::deque<Message> messages;
  int32_t sender = -1;
  int32_t receiver = -1;
};

/// MSCCL's interpreter (`msccl_interpreter.h`: thread blocks, FIFO connections, `depid` and `deps` as counters in
/// memory) with values that say what they are sums of. Every kind of wait is for something monotone, which makes it a
/// Kahn process network: whichever block goes first, the messages and the end are the same, so one order proves all.
class Machine {
 public:
  Machine(const FlatProgram& program, int32_t fifo_depth, int32_t max_count)
      : program_(program),
        fifo_depth_(fifo_depth),
        max_count_(max_count),
        memory_(program.initial.size()),
        connections_(program.num_connections),
        next_step_(program.blocks.size()),
        next_chunk_(program.blocks.size()),
        end_event_(program.steps.size(), -1),
        dependents_(program.steps.size()) {
    for (size_t location = 0; location < memory_.size(); location++) {
      if (program.initial[location] >= 0) {
        memory_[location] = values_.original(program.location_rank[location], program.initial[location]);
      }
    }
    for (int32_t block = 0; block < std::ssize(program.blocks); block++) {
      const ThreadBlock& b = program.blocks[block];
      if (b.send_connection >= 0) connections_[b.send_connection].sender = block;
      if (b.receive_connection >= 0) connections_[b.receive_connection].receiver = block;
      next_step_[block] = b.first_step;
      for (int64_t number = b.first_step; number < b.last_step; number++) {
        const int64_t awaited = program.steps[number].depends_on;
        if (awaited >= 0) dependents_[awaited].push_back(block);
      }
    }
  }

  Execution run() {
    for (int32_t block = 0; block < std::ssize(program_.blocks); block++) ready_.push_back(block);
    while (!ready_.empty() && result_.outcome == Outcome::kProved) {
      const int32_t block = ready_.back();
      ready_.pop_back();
      // As far as it gets; who set something free wakes the block that may have waited for it. Waking one too many only
      // costs a look.
      while (!finished(block) && !waits(block) && result_.outcome == Outcome::kProved) advance(block);
    }
    if (result_.outcome == Outcome::kProved) judge();
    return std::move(result_);
  }

 private:
  bool finished(int32_t block) const { return next_step_[block] == program_.blocks[block].last_step; }

  /// What the block's next piece of work waits for now.
  std::optional<Wait> waits(int32_t block) const {
    const ThreadBlock& b = program_.blocks[block];
    const Step& step = program_.steps[next_step_[block]];
    if (next_chunk_[block] == 0 && step.depends_on != -1 &&
        (step.depends_on == kNeverPublished || end_event_[step.depends_on] < 0)) {
      return Wait::kDependency;
    }
    if (receives(step.type) && connections_[b.receive_connection].messages.empty()) return Wait::kMessage;
    if (sends(step.type) && std::ssize(connections_[b.send_connection].messages) >= fifo_depth_) return Wait::kSlot;
    return std::nullopt;
  }

  void stop(Outcome outcome, std::vector<int64_t> facts) {
    result_.outcome = outcome;
    result_.facts = std::move(facts);
  }

  /// Executes the next piece of the block's next step.
  void advance(int32_t block) {
    const int64_t number = next_step_[block];
    const Step& step = program_.steps[number];
    const int32_t first = next_chunk_[block];
    const int32_t count = step.type == StepType::kNop ? 0 : std::min(max_count_, step.count - first);
    const auto event = std::ssize(log_.events);
    // Only the first piece waits: the kernel checks a dependency once, before a step's loop over chunks.
    if (first == 0 && step.depends_on >= 0) log_.causes.push_back(end_event_[step.depends_on]);
    if (!move(block, step, first, count)) return;
    log_.events.push_back({block, first, count, number});
    log_.first_cause.push_back(std::ssize(log_.causes));
    next_chunk_[block] += count;
    if (step.type != StepType::kNop && next_chunk_[block] < step.count) return;
    next_chunk_[block] = 0;
    next_step_[block]++;
    end_event_[number] = event;
    for (const int32_t other : dependents_[number]) ready_.push_back(other);
  }

  /// Moves the chunks of one piece; false when the message is not the one the step expects.
  bool move(int32_t block, const Step& step, int32_t first, int32_t count) {
    const ThreadBlock& b = program_.blocks[block];
    std::vector<int32_t> moved(count, 0);
    if (receives(step.type)) {
      Connection& connection = connections_[b.receive_connection];
      Message message = std::move(connection.messages.front());
      connection.messages.pop_front();
      if (std::ssize(message.values) != count) {
        const int64_t sender = log_.events[message.event].step;
        stop(Outcome::kCountMismatch, {sender, program_.steps[sender].count, next_step_[block], step.count});
        return false;
      }
      log_.causes.push_back(message.event);
      moved = std::move(message.values);
      ready_.push_back(connection.sender);
    } else if (step.type != StepType::kNop) {
      std::copy_n(memory_.begin() + step.source + first, count, moved.begin());
    }
    if (reduces(step.type)) {
      // A reduce adds to its destination; a receive that reduces adds what came to its source, as in MSCCL's XML.
      const int64_t operand = step.type == StepType::kReduce ? step.destination : step.source;
      for (int32_t k = 0; k < count; k++) moved[k] = values_.sum(moved[k], memory_[operand + first + k]);
    }
    if (writes(step.type)) std::copy(moved.begin(), moved.end(), memory_.begin() + step.destination + first);
    if (sends(step.type)) {
      Connection& connection = connections_[b.send_connection];
      connection.messages.push_back({std::move(moved), std::ssize(log_.events)});
      result_.messages++;
      if (connection.receiver >= 0) ready_.push_back(connection.receiver);
    }
    return true;
  }

  void judge() {
    for (int32_t block = 0; block < std::ssize(program_.blocks); block++) {
      if (!finished(block)) return stop(Outcome::kDeadlock, stuck_blocks());
    }
    for (const Connection& connection : connections_) {
      if (!connection.messages.empty()) {
        return stop(Outcome::kUnreceived, {log_.events[connection.messages.front().event].step});
      }
    }
    // Races before values: with a race, the values are those of one order only.
    if (const auto race = find_race(program_, log_)) {
      return stop(Outcome::kRace,
                  {race->location, race->earlier_step, race->later_step, race->earlier_writes, race->later_writes});
    }
    for (const Wanted& wanted : program_.wanted) {
      if (!holds(wanted)) return stop(Outcome::kWrongValue, contents(wanted.location));
    }
  }

  /// A row a block, so that the message can follow who waits for whom round the circle.
  std::vector<int64_t> stuck_blocks() const {
    std::vector<int64_t> rows;
    for (int32_t block = 0; block < std::ssize(program_.blocks); block++) {
      if (finished(block)) continue;
      const ThreadBlock& b = program_.blocks[block];
      const Wait wait = *waits(block);
      int64_t other = -1, step = -1;
      if (wait == Wait::kDependency) {
        step = std::max<int64_t>(program_.steps[next_step_[block]].depends_on, -1);
        other = step < 0 ? -1 : block_of(step);
      } else {
        other = wait == Wait::kMessage ? connections_[b.receive_connection].sender
                                       : connections_[b.send_connection].receiver;
        if (other >= 0 && !finished(static_cast<int32_t>(other))) step = next_step_[other];
      }
      rows.insert(rows.end(), {next_step_[block], static_cast<int64_t>(wait), other, step});
    }
    return rows;
  }

  int32_t block_of(int64_t step) const {
    const auto after = std::upper_bound(program_.blocks.begin(), program_.blocks.end(), step,
                                        [](int64_t s, const ThreadBlock& b) { return s < b.last_step; });
    return static_cast<int32_t>(after - program_.blocks.begin());
  }

  bool holds(const Wanted& wanted) {
    return values_.is(memory_[wanted.location], wanted.chunk, wanted.source, program_.num_ranks);
  }

  std::vector<int64_t> contents(int64_t location) const {
    std::vector<int64_t> facts{location};
    for (const auto& c : values_.of(memory_[location])) facts.insert(facts.end(), {c.rank, c.chunk, c.times});
    return facts;
  }

  const FlatProgram& program_;
  const int32_t fifo_depth_;
  const int32_t max_count_;
  Values values_;
  std::vector<int32_t> memory_;
  std::vector<Connection> connections_;
  std::vector<int64_t> next_step_;
  std::vector<int32_t> next_chunk_;
  std::vector<int64_t> end_event_;
  std::vector<std::vector<int32_t>> dependents_;
  std::vector<int32_t> ready_;
  EventLog log_;
  Execution result_;
};

}  // namespace

Execution execute(const FlatProgram& program, int32_t fifo_depth, int32_t max_count) {
  return Machine(program, fifo_depth, max_count).run();
}

}  // namespace hocket::schedule
