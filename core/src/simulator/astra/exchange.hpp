#pragma once

#include <cstdint>

#include "rounds.hpp"

namespace hocket::simulator::astra {

/// An algorithm in which every message received lets the next one be sent. `Peers` gives the sequence: `to()`, `from()`
/// (ranks) and `bytes` of the current message, and `advance()`. `Wire` does it: `process(bytes, reduces)` calls
/// `processed` later, `exchange(to, from, bytes)` sends one message and calls `received` when another has come, and
/// `finish()` ends the phase.
template <typename Peers, typename Wire>
/// Ring.cc, AllToAll.cc and HalvingDoubling.cc of the peer are this one with other peers: they too count messages that
/// are not reduced and ones that are ("zero" and "nonzero latency packets"), and send when one is processed.
class Exchange final : public Phase {
 public:
  template <typename Owner>
  Exchange(const PhasePlan& plan, const Rounds& rounds, const Peers& peers, Owner&& owner)
      : wire_(owner),
        kind_(plan.kind),
        half_(plan.ring.size - 1),
        rounds_(rounds),
        left_(rounds.messages),
        arriving_(peers),
        leaving_(peers) {}

  void start() override {
    for (int64_t k = 0; k < rounds_.window; k++) prepare();
  }

  void received() override {
    received_++;
    prepare();
  }

  void processed() override {
    ready_++;
    // Direct all_reduce: what the second half sends is only known when all of the first has come.
    if (rounds_.halves_apart && left_ <= half_) {
      if (received_ < half_) return;
      for (int64_t k = 0; k < rounds_.window; k++) send_next();
    } else {
      send_next();
    }
    if (left_ == 0 && ready_ == rounds_.window) wire_.finish();
  }

 private:
  /// Takes in a message, or the data to begin with: it can be passed on when it is processed.
  void prepare() {
    if (plain_ == 0 && reduced_ == 0) {
      plain_ = rounds_.window;
      reduced_ = rounds_.reducing;
      // Of an all_reduce the odd cycles reduce (reduce_scatter's half), the even ones only pass on.
      odd_ = !odd_;
    }
    bool reduces = false;
    if (plain_ > 0) {
      plain_--;
    } else {
      reduces = kind_ == Kind::kReduceScatter || (kind_ == Kind::kAllReduce && odd_);
      reduced_--;
    }
    prepared_++;
    const int64_t bytes = arriving_.bytes;
    arriving_.advance();
    wire_.process(bytes, reduces);
  }

  void send_next() {
    if (prepared_ == 0 || left_ == 0 || ready_ == 0) return;
    wire_.exchange(leaving_.to(), leaving_.from(), leaving_.bytes);
    left_--;
    prepared_--;
    ready_--;
    leaving_.advance();
  }

  Wire wire_;
  Kind kind_;
  int64_t half_;  // messages of one half of an all_reduce
  Rounds rounds_;
  int64_t left_;          // messages to send
  int64_t prepared_ = 0;  // taken in and not sent
  int64_t ready_ = 0;     // processed and not sent
  int64_t received_ = 0;
  int64_t plain_ = 0, reduced_ = 0;  // messages until the marking changes
  bool odd_ = false;
  Peers arriving_, leaving_;  // the sequence at the message taken in next, and at the one sent next
};

}  // namespace hocket::simulator::astra
