#pragma once

#include <cstdint>
#include <vector>

#include "flight.hpp"
#include "hocket/simulator/network/links.hpp"

namespace hocket::simulator {

/// Messages that wait for a link that is not first come, first served: one line for each class of messages (a priority,
/// a collective), in the order in which they came.
/// A line for each class keeps a choice O(classes): ranks of a class are equal, so only its first is compared. Under
/// `kLifo` there is one line and the newest of it goes.
class LinkQueue {
 public:
  bool empty() const { return lines_.empty(); }

  void push(uint32_t id, const Flight& flight, Queueing queueing) {
    const int64_t key = key_of(flight, queueing);
    Line* line = nullptr;
    for (Line& other : lines_) {
      if (other.key == key) line = &other;
    }
    if (line == nullptr) line = &lines_.emplace_back(Line{key, {}, 0});
    line->waiting.push_back({id, arrivals_++});
  }

  /// Removes the flight that the discipline serves next. `rank(id)`: the line with the smallest rank of its first
  /// flight goes first, of equal ones that whose first flight came first. Precondition: not empty.
  template <class Rank>
  uint32_t pop(bool newest, Rank&& rank) {
    size_t best = 0;
    for (size_t at = 1; at < lines_.size(); at++) {
      const int64_t ours = rank(lines_[at].first().id), theirs = rank(lines_[best].first().id);
      if (ours != theirs ? ours < theirs : lines_[at].first().arrival < lines_[best].first().arrival) best = at;
    }
    Line& line = lines_[best];
    const uint32_t id = newest ? line.waiting.back().id : line.first().id;
    newest ? line.waiting.pop_back() : static_cast<void>(line.next++);
    if (line.next == line.waiting.size()) {
      std::swap(line, lines_.back());
      lines_.pop_back();
    }
    return id;
  }

 private:
  struct Waiting {
    uint32_t id;
    uint64_t arrival;
  };
  struct Line {
    int64_t key;
    std::vector<Waiting> waiting;
    size_t next;

    const Waiting& first() const { return waiting[next]; }
  };

  static int64_t key_of(const Flight& flight, Queueing queueing) {
    if (queueing == Queueing::kPriority) return flight.priority;
    if (queueing == Queueing::kSmallestRemaining) {
      return flight.collective >= 0 ? flight.collective : int64_t{-1} - flight.message;
    }
    return 0;
  }

  std::vector<Line> lines_;
  uint64_t arrivals_ = 0;
};

}  // namespace hocket::simulator
