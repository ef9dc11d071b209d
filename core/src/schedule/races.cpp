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
class RaceFinder {
 public:
  RaceFinder(const FlatProgram& program, const EventLog& log) : program_(program), log_(log) {
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

  std::optional<Race> check(int32_t rank, const std::vector<int32_t>& blocks) const {
    Clocks clocks(std::ssize(log_.events), std::ssize(blocks));
    std::unordered_map<int64_t, History> histories;
    std::vector<int32_t> local(program_.blocks.size(), -1);
    for (int32_t number = 0; number < std::ssize(blocks); number++) local[blocks[number]] = number;
    for (int64_t e = 0; e < std::ssize(log_.events); e++) {
      clocks.join(e, previous_[e]);
      for (int64_t c = log_.first_cause[e]; c < log_.first_cause[e + 1]; c++) clocks.join(e, log_.causes[c]);
      const Event& event = log_.events[e];
      if (program_.blocks[event.block].rank != rank) continue;
      const Access access{local[event.block], event_index_[e], event.step};
      const auto unordered = [&](const Access& other) {
        return other.block != access.block && !clocks.covers(e, other.block, other.index);
      };
      if (auto race = record(event, access, unordered, histories)) return race;
      clocks.tick(e, access.block, access.index);
    }
    return std::nullopt;
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
  std::vector<int32_t> event_index_;
  std::vector<int64_t> previous_;
};

}  // namespace

std::optional<Race> find_race(const FlatProgram& program, const EventLog& log) {
  std::vector<std::vector<int32_t>> blocks_of(program.num_ranks);
  for (int32_t block = 0; block < std::ssize(program.blocks); block++) {
    blocks_of[program.blocks[block].rank].push_back(block);
  }
  const RaceFinder finder(program, log);
  for (int32_t rank = 0; rank < program.num_ranks; rank++) {
    if (auto race = finder.check(rank, blocks_of[rank])) return race;
  }
  return std::nullopt;
}

}  // namespace hocket::schedule
