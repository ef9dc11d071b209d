#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "event_log.hpp"
#include "hocket/schedule/clocks.hpp"

namespace hocket::schedule {
namespace {

/// An access by the `index`-th event of block `block` (numbered within its rank), in step `step`.
struct Access {
  int32_t block;
  int32_t index;
  int64_t step;
};

struct History {
  std::optional<Access> write;
  std::vector<Access> reads;  ///< since the write, the latest of each block
};

/// Looks for races one rank at a time.
///
/// Blocks of a rank share its memory, blocks of others do not; clocks have an entry for each block of this rank only.
/// As in plan/races.cpp a location keeps its last write and the reads since.
class RaceFinder {
 public:
  RaceFinder(const FlatProgram& program, const EventLog& log)
      : program_(program), log_(log), local_(program.blocks.size()), clock_(log.events.size(), -1) {
    event_index_.reserve(log.events.size());
    previous_.reserve(log.events.size());
    std::vector<int32_t> count(program.blocks.size());
    std::vector<int64_t> last(program.blocks.size(), -1);
    for (int64_t e = 0; e < std::ssize(log.events); e++) {
      const int32_t block = log.events[e].block;
      event_index_.push_back(count[block]++);
      previous_.push_back(std::exchange(last[block], e));
    }
  }

  /// The first access of `rank`, whose blocks are `blocks`, that the order among `events` leaves open; these are some
  /// events of the log that hold all of the rank.
  std::optional<Race> check(int32_t rank, std::span<const int32_t> blocks, std::span<const int64_t> events) {
    Clocks clocks(std::ssize(events), std::ssize(blocks));
    std::unordered_map<int64_t, History> histories;
    for (int32_t number = 0; number < std::ssize(blocks); number++) local_[blocks[number]] = number;
    for (int64_t position = 0; position < std::ssize(events); position++) clock_[events[position]] = position;
    std::optional<Race> race;
    for (const int64_t e : events) {
      const int64_t clock = clock_[e];
      if (previous_[e] >= 0) clocks.join(clock, clock_[previous_[e]]);
      for (int64_t c = log_.first_cause[e]; c < log_.first_cause[e + 1]; c++) {
        clocks.join(clock, clock_[log_.causes[c]]);
      }
      const Event& event = log_.events[e];
      if (program_.blocks[event.block].rank != rank) continue;
      const Access access{local_[event.block], event_index_[e], event.step};
      const auto unordered = [&](const Access& other) {
        return other.block != access.block && !clocks.covers(clock, other.block, other.index);
      };
      race = record(event, access, unordered, histories);
      if (race) break;
      clocks.tick(clock, access.block, access.index);
    }
    for (const int64_t e : events) clock_[e] = -1;
    return race;
  }

 private:
  template <typename Unordered>
  std::optional<Race> record(const Event& event, const Access& access, const Unordered& unordered,
                             std::unordered_map<int64_t, History>& histories) const {
    const Step& step = program_.steps[event.step];
    const auto read = [&](int64_t location) -> std::optional<Race> {
      History& history = histories[location];
      if (history.write && unordered(*history.write)) {
        return Race{location, history.write->step, access.step, true, false};
      }
      // A later read of the same block stands for the earlier one: who comes after it comes after both.
      std::erase_if(history.reads, [&](const Access& other) { return other.block == access.block; });
      history.reads.push_back(access);
      return std::nullopt;
    };
    const auto write = [&](int64_t location) -> std::optional<Race> {
      History& history = histories[location];
      if (history.write && unordered(*history.write)) {
        return Race{location, history.write->step, access.step, true, true};
      }
      for (const Access& other : history.reads) {
        if (unordered(other)) return Race{location, other.step, access.step, false, true};
      }
      history.write = access;
      history.reads.clear();
      return std::nullopt;
    };
    for (int32_t k = event.first; k < event.first + event.count; k++) {
      if (reads(step.type)) {
        if (auto race = read(step.source + k)) return race;
      }
      if (step.type == StepType::kReduce) {
        if (auto race = read(step.destination + k)) return race;
      }
      if (writes(step.type)) {
        if (auto race = write(step.destination + k)) return race;
      }
    }
    return std::nullopt;
  }

  const FlatProgram& program_;
  const EventLog& log_;
  std::vector<int32_t> event_index_;  ///< position in its block
  std::vector<int64_t> previous_;     ///< event before it in its block
  std::vector<int32_t> local_;        ///< number of each block within its rank
  std::vector<int64_t> clock_;        ///< of each event that is looked at; -1: the others
};

}  // namespace

std::optional<Race> find_race(const FlatProgram& program, const EventLog& log) {
  std::vector<std::vector<int32_t>> blocks_of(program.num_ranks);
  for (int32_t block = 0; block < std::ssize(program.blocks); block++) {
    blocks_of[program.blocks[block].rank].push_back(block);
  }
  std::vector<std::vector<int64_t>> events_of(program.num_ranks);
  for (int64_t e = 0; e < std::ssize(log.events); e++) {
    events_of[program.blocks[log.events[e].block].rank].push_back(e);
  }
  std::vector<int64_t> everything(log.events.size());
  std::iota(everything.begin(), everything.end(), 0);
  RaceFinder finder(program, log);
  for (int32_t rank = 0; rank < program.num_ranks; rank++) {
    // What a rank does itself orders most of its accesses; only where it does not, the way of messages through all
    // ranks has to be followed.
    if (!finder.check(rank, blocks_of[rank], events_of[rank])) continue;
    if (auto race = finder.check(rank, blocks_of[rank], everything)) return race;
  }
  return std::nullopt;
}

}  // namespace hocket::schedule
