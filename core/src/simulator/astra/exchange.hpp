#pragma once

#include <cstdint>
#include <optional>

#include "phase.hpp"

namespace hocket::simulator::astra {

/// How many messages of an exchange there are, and which of them are reduced.
struct Rounds {
  int64_t window;     // messages under way at once
  int64_t messages;   // in all
  int64_t reducing;   // messages in a row that are reduced, after `window` that are not
  bool halves_apart;  // an all_reduce's second half waits for all of the first
};

/// An algorithm in which every message received lets the next one be sent. `Peers` gives the sequence: `to()`, `from()`
/// (ranks) and `bytes` of the current message, and `advance()`.
template <typename Peers>
class Exchange final : public Phase {
 public:
  Exchange(const PhasePlan& plan, const Rounds& rounds, const Peers& peers, const Endpoint& endpoint)
      : endpoint_(endpoint),
        kind_(plan.kind),
        half_(plan.ring.size - 1),
        rounds_(rounds),
        left_(rounds.messages),
        arriving_(peers),
        leaving_(peers) {}

  ~Exchange() override { close(); }

  void start() override {
    for (int64_t k = 0; k < rounds_.window; k++) prepare();
  }

  void received() override {
    received_++;
    prepare();
  }

  void processed() override {
    ready_++;
    if (rounds_.halves_apart && left_ <= half_) {
      if (received_ < half_) return;
      for (int64_t k = 0; k < rounds_.window; k++) send_next();
    } else {
      send_next();
    }
    if (left_ == 0 && ready_ == rounds_.window) endpoint_.finish();
  }

 private:
  /// Takes in a message, or the data to begin with: it can be passed on when it is processed.
  void prepare() {
    if (plain_ == 0 && reduced_ == 0) {
      plain_ = rounds_.window;
      reduced_ = rounds_.reducing;
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
    endpoint_.process(bytes, reduces);
  }

  void send_next() {
    if (prepared_ == 0 || left_ == 0 || ready_ == 0) return;
    open();
    endpoint_.transport().send(send_channel_, {});
    endpoint_.transport().receive(receive_channel_, endpoint_.when_received());
    left_--;
    prepared_--;
    ready_--;
    leaving_.advance();
  }

  /// Holds the channels of the current message; they stay the same while peers and sizes do.
  void open() {
    const int32_t to = leaving_.to(), from = leaving_.from();
    if (is_open_ && to == to_ && from == from_ && leaving_.bytes == bytes_) return;
    close();
    send_channel_ = endpoint_.open_to(to, leaving_.bytes);
    receive_channel_ = endpoint_.open_from(from, leaving_.bytes);
    to_ = to;
    from_ = from;
    bytes_ = leaving_.bytes;
    is_open_ = true;
  }

  void close() {
    if (!is_open_) return;
    endpoint_.close(send_channel_);
    endpoint_.close(receive_channel_);
    is_open_ = false;
  }

  Endpoint endpoint_;
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
  bool is_open_ = false;
  uint32_t send_channel_ = kNone, receive_channel_ = kNone;
  int32_t to_ = -1, from_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace hocket::simulator::astra
