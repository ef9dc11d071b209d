#include <unordered_map>

#include "hocket/schedule/shared_clocks.hpp"
#include "log.hpp"

namespace hocket::schedule::plan {
namespace {

struct Access {
  int64_t event;
  int32_t element;  ///< of the step: different elements are different threads
  bool packet;
};

struct History {
  std::optional<Access> write;
  std::vector<Access> reads;  ///< since the write, the latest of each chain
};

/// Looks for races one rank's memory at a time: only the chains that touch it need an entry in the clocks.
///
/// Happens-before by vector clocks (Lamport, Fidge, Mattern), over chains: events that are ordered among themselves. A
/// location remembers its last write and the reads since then, as in FastTrack (Flanagan and Freund 2009): an access
/// that is ordered after these is ordered after all before them, or those raced already.
class RaceFinder {
 public:
  RaceFinder(const Program& program, const Log& log, const std::function<void()>& poll)
      : program_(program), log_(log), poll_(poll), callers_(program.num_ranks), touching_(program.num_ranks) {
    for (int64_t location = 0; location < std::ssize(program.callers); location++) {
      if (program.callers[location]) callers_[program.location_rank[location]].push_back(location);
    }
    for (int64_t e = 0; e < std::ssize(log.events); e++) note_touched(e);
  }

  /// Races on the memory of `rank`; the weak one is kept in `races` without ending the search.
  bool check(int32_t rank, Races& races) {
    number_chains(rank);
    SharedClocks over(std::ssize(log_.events), width_), seen(std::ssize(log_.events), width_);
    histories_.clear();
    auto next = touching_[rank].begin();
    for (int64_t e = 0; next != touching_[rank].end(); e++) {
      poll_();
      for (int64_t c = log_.first_cause[e]; c < log_.first_cause[e + 1]; c++) {
        const Cause& cause = log_.causes[c];
        over.join(e, cause.event);
        const bool own = cause.shows == Shows::kOwn && log_.events[cause.event].rank == rank;
        if (cause.shows == Shows::kAll || own) seen.join(e, cause.event);
      }
      if (e != *next) continue;
      next++;
      const Event& event = log_.events[e];
      const auto judge = [&](const Access& other, const Access& access, bool other_writes, bool writes, int64_t where) {
        if (!races.race.empty()) return;
        const Event& first = log_.events[other.event];
        const bool same = other.event == access.event;
        const int32_t chain = local_[first.chain];
        // Elements of one move are different threads: within an event they race too.
        if (same ? other.element != access.element : !over.covers(e, chain, first.index)) {
          races.race = {where, first.step, event.step, other_writes, writes};
          // Over, but not shown: the value may not be visible yet. Packets need no showing, their flag comes with the
          // data.
        } else if (other_writes && !same && first.step >= 0 && !other.packet && races.weak.empty() &&
                   !seen.covers(e, chain, first.index)) {
          races.weak = {where, first.step, event.step};
        }
      };
      for_accesses(e, rank, [&](int64_t location, const Access& access, bool writes) {
        record(histories_[location], location, access, writes, judge);
      });
      if (!races.race.empty()) return true;
      over.tick(e, local_[event.chain], event.index);
      seen.tick(e, local_[event.chain], event.index);
    }
    return false;
  }

 private:
  /// The ranks whose memory the event touches.
  void note_touched(int64_t e) {
    const Event& event = log_.events[e];
    const auto touches = [&](int32_t rank) {
      if (touching_[rank].empty() || touching_[rank].back() != e) touching_[rank].push_back(e);
    };
    if (event.chain < 0) return;
    if (event.step < 0) return touches(event.rank);
    const Step& step = program_.steps[event.step];
    for (int64_t o = step.first_source; o < step.last_operand; o++) {
      touches(program_.location_rank[place(program_.operands[o], event.launch)]);
    }
  }

  void number_chains(int32_t rank) {
    local_.assign(log_.num_chains, -1);
    width_ = 0;
    for (const int64_t e : touching_[rank]) {
      int32_t& local = local_[log_.events[e].chain];
      if (local < 0) local = width_++;
    }
  }

  template <typename Visit>
  void for_accesses(int64_t e, int32_t rank, Visit visit) const {
    const Event& event = log_.events[e];
    if (event.step < 0) {
      if (event.rank != rank) return;
      for (const int64_t location : callers_[rank]) visit(location, {e, 0, false}, true);
      return;
    }
    const Step& step = program_.steps[event.step];
    for (int64_t o = step.first_source; o < step.last_operand; o++) {
      const Operand& operand = program_.operands[o];
      const int64_t first = place(operand, event.launch);
      if (program_.location_rank[first] != rank || log_.idle.contains({e, o})) continue;
      for (int32_t k = 0; k < step.count; k++) visit(first + k, {e, k, operand.packet}, o >= step.first_destination);
    }
  }

  template <typename Judge>
  void record(History& history, int64_t location, const Access& access, bool writes, Judge judge) const {
    if (history.write) judge(*history.write, access, true, writes, location);
    if (writes) {
      for (const Access& other : history.reads) judge(other, access, false, true, location);
      history.write = access;
      history.reads.clear();
      return;
    }
    const int32_t chain = log_.events[access.event].chain;
    std::erase_if(history.reads, [&](const Access& other) { return log_.events[other.event].chain == chain; });
    history.reads.push_back(access);
  }

  const Program& program_;
  const Log& log_;
  const std::function<void()>& poll_;
  std::vector<std::vector<int64_t>> callers_;   ///< of each rank
  std::vector<std::vector<int64_t>> touching_;  ///< events that access each rank's memory
  std::vector<int32_t> local_;
  int32_t width_ = 0;
  std::unordered_map<int64_t, History> histories_;
};

}  // namespace

Races find_races(const Program& program, const Log& log, const std::function<void()>& poll) {
  Races races;
  RaceFinder finder(program, log, poll);
  for (int32_t rank = 0; rank < program.num_ranks; rank++) {
    if (finder.check(rank, races)) break;
  }
  return races;
}

}  // namespace hocket::schedule::plan
