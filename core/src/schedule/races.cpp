#include <algorithm>
#include <unordered_map>
#include <utility>

#include "event_log.hpp"

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

/// Vector clocks over the blocks of one rank: only accesses of one rank can conflict, so one pass a rank suffices and
/// a clock is as short as a rank has blocks, however many ranks there are.
class RankClocks {
 public:
  RankClocks(const FlatProgram& program, const EventLog& log) : program_(program), log_(log) {
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

  std::optional<Race> check(int32_t rank, const std::vector<int32_t>& blocks) {
    width_ = std::ssize(blocks);
    clocks_.assign(log_.events.size() * width_, 0);
    std::unordered_map<int64_t, History> histories;
    std::vector<int32_t> local(program_.blocks.size(), -1);
    for (int32_t number = 0; number < width_; number++) local[blocks[number]] = number;
    for (int64_t e = 0; e < std::ssize(log_.events); e++) {
      int32_t* clock = clocks_.data() + e * width_;
      join(clock, previous_[e]);
      for (int64_t c = log_.first_cause[e]; c < log_.first_cause[e + 1]; c++) join(clock, log_.causes[c]);
      const Event& event = log_.events[e];
      if (program_.blocks[event.block].rank != rank) continue;
      const Access access{local[event.block], event_index_[e], event.step};
      if (auto race = record(event, access, clock, histories)) return race;
      clock[access.block] = access.index + 1;
    }
    return std::nullopt;
  }

 private:
  void join(int32_t* clock, int64_t cause) const {
    if (cause < 0) return;
    const int32_t* other = clocks_.data() + cause * width_;
    for (int64_t k = 0; k < width_; k++) clock[k] = std::max(clock[k], other[k]);
  }

  std::optional<Race> record(const Event& event, const Access& access, const int32_t* clock,
                             std::unordered_map<int64_t, History>& histories) const {
    const Step& step = program_.steps[event.step];
    const auto unordered = [&](const Access& other) {
      return other.block != access.block && clock[other.block] <= other.index;
    };
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
  int64_t width_ = 0;
  std::vector<int32_t> clocks_;
};

}  // namespace

std::optional<Race> find_race(const FlatProgram& program, const EventLog& log) {
  std::vector<std::vector<int32_t>> blocks_of(program.num_ranks);
  for (int32_t block = 0; block < std::ssize(program.blocks); block++) {
    blocks_of[program.blocks[block].rank].push_back(block);
  }
  RankClocks clocks(program, log);
  for (int32_t rank = 0; rank < program.num_ranks; rank++) {
    if (auto race = clocks.check(rank, blocks_of[rank])) return race;
  }
  return std::nullopt;
}

}  // namespace hocket::schedule
