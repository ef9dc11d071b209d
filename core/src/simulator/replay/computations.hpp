#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "hocket/simulator/job.hpp"
#include "hocket/simulator/work.hpp"

namespace hocket::simulator {

/// What ranks compute. One computation a rank at a time, the first node of those ready (a GPU's compute stream;
/// Chakra's feeder gives nodes in that order), more slowly while the rank communicates.
class Computations {
 public:
  Computations(const Job& job, const Slowdown& slowdown)
      : job_(job),
        slowdown_(slowdown),
        ready_(job.num_ranks()),
        running_(job.num_ranks()),
        communicating_(job.num_ranks(), 0),
        slowed_ps_(job.num_ranks(), 0) {}

  /// A computation is ready.
  void add(int32_t node) {
    std::vector<int32_t>& ready = ready_[job_.rank[node]];
    ready.push_back(node);
    std::push_heap(ready.begin(), ready.end(), std::greater<>());
    woken_.push_back(job_.rank[node]);
  }

  /// A node of a rank starts (+1) or ends (-1): where it communicates, `settle` looks at the pace of the rank's
  /// computation.
  void count(int32_t node, int32_t change) {
    if (!slowdown_.active() || !communicates(node)) return;
    communicating_[job_.rank[node]] += change;
    paced_.push_back(job_.rank[node]);
  }

  /// Ends an instant: lets idle ranks pick their next computation, of which it notes the start, and calls
  /// `due(time, rank)` for each computation that would be done at a time if nothing changed.
  template <class Due>
  void settle(Picoseconds now, std::vector<Picoseconds>& start_ps, Due due) {
    // Pace before work: a computation that begins at this instant begins at the pace that now holds.
    for (const int32_t rank : paced_) change_pace(rank, now, due);
    paced_.clear();
    for (const int32_t rank : woken_) compute_next(rank, now, start_ps, due);
    woken_.clear();
  }

  /// What was due is: the node that is done, of which it notes how much longer it took; -1: none, for times of a pace
  /// that has changed since come too.
  int32_t finish(int32_t rank, Picoseconds now, const std::vector<Picoseconds>& start_ps) {
    if (running_[rank].node() < 0 || running_[rank].done_at() != now) return -1;
    const int32_t node = std::exchange(running_[rank], Work()).node();
    slowed_ps_[rank] += now - start_ps[node] - job_.operand[node];
    woken_.push_back(rank);
    return node;
  }

  /// Of each rank how much longer it computed because it communicated.
  std::vector<Picoseconds> take_slowed() { return std::move(slowed_ps_); }

 private:
  bool communicates(int32_t node) const {
    return job_.kind[node] == NodeKind::kCollective || job_.kind[node] == NodeKind::kSend ||
           job_.kind[node] == NodeKind::kReceive;
  }

  template <class Due>
  void compute_next(int32_t rank, Picoseconds now, std::vector<Picoseconds>& start_ps, Due due) {
    std::vector<int32_t>& ready = ready_[rank];
    if (running_[rank].node() >= 0 || ready.empty()) return;
    std::pop_heap(ready.begin(), ready.end(), std::greater<>());
    const int32_t node = ready.back();
    ready.pop_back();
    start_ps[node] = now;
    running_[rank] = Work(node, job_.operand[node], now, communicating_[rank] > 0, slowdown_);
    due(running_[rank].done_at(), rank);
  }

  template <class Due>
  void change_pace(int32_t rank, Picoseconds now, Due due) {
    Work& work = running_[rank];
    const bool slow = communicating_[rank] > 0;
    if (work.node() < 0 || work.slow() == slow) return;
    work.change_pace(now, slow, slowdown_);
    due(work.done_at(), rank);
  }

  const Job& job_;
  const Slowdown slowdown_;
  std::vector<std::vector<int32_t>> ready_;  // of each rank: a heap of computations, first node on top
  std::vector<Work> running_;                // of each rank: the computation it is at
  std::vector<int32_t> communicating_;       // of each rank: its communications under way, if they slow it down
  std::vector<int32_t> paced_, woken_;       // ranks that `settle` has to look at
  std::vector<Picoseconds> slowed_ps_;
};

}  // namespace hocket::simulator
