#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "clock.hpp"
#include "hocket/simulator/astra/setup.hpp"
#include "hocket/simulator/astra/simulate.hpp"
#include "pool.hpp"

namespace hocket::simulator::astra {

/// Time that messages of one size take from one rank to another.
struct LinkTime {
  Nanoseconds arrival;    // until it is at the other end
  Nanoseconds occupancy;  // until its first link is free (congestion)
  Nanoseconds uncharged;  // that the dimensions after the first differing one would add
};

/// A message under way. `link` is the next link it takes or waits for.
struct Message {
  uint32_t channel;
  Callback sent;
  int32_t node = 0;  // device at which it is
  uint32_t next = kNone;
};

/// The network: how long messages take, and with congestion, who has to wait for whom.
///
/// Without congestion a message is charged for the first dimension in which its ends differ, and waits for no other.
/// With it (one dimension only) every link serves one message at a time, in the order in which they were offered, and
/// devices pass messages on when they have all of them.
class Links {
 public:
  Links(std::span<const Dimension> dimensions, bool congestion, Clock& clock, Pool<Message>& messages)
      : dimensions_(dimensions), congestion_(congestion), clock_(clock), messages_(messages) {
    for (const Dimension& dimension : dimensions) num_ranks_ *= dimension.size;
    byte_hops_.assign(dimensions.size(), 0);
  }

  LinkTime time(int32_t src, int32_t dst, int64_t bytes) const;

  /// Puts a message that is at `src` on its way to `dst`.
  void send(uint32_t message, int32_t src, int32_t dst, const LinkTime& time);

  /// A message is at the end of a link. Returns whether that is its destination; otherwise it goes on.
  bool arrive(uint32_t message, int32_t src, int32_t dst, const LinkTime& time);

  /// A link has sent its message; the next one that waits for it, if any, starts. `time_of` is its channel's time.
  template <typename TimeOf>
  void free(uint32_t link, TimeOf&& time_of) {
    links_[link].busy = false;
    if (links_[link].waiting.empty()) return;
    const uint32_t message = links_[link].waiting.pop(messages_);
    start(link, message, time_of(messages_[message].channel));
  }

  /// Counts messages that went from one rank to another, for what the result says about itself.
  void count(int32_t src, int32_t dst, int64_t bytes, int64_t messages, const LinkTime& time);

  /// Bytes times links that physical messages would take, per dimension.
  const std::vector<double>& byte_hops() const { return byte_hops_; }
  int64_t messages() const { return num_messages_; }
  int64_t partly_charged() const { return partly_charged_; }
  Nanoseconds uncharged() const { return uncharged_; }

 private:
  struct Link {
    bool busy = false;
    Chain waiting;
  };

  void take(uint32_t message, int32_t src, int32_t dst, const LinkTime& time);
  void start(uint32_t link, uint32_t message, const LinkTime& time);
  uint32_t link_between(int32_t from, int32_t to);

  std::span<const Dimension> dimensions_;
  bool congestion_;
  Clock& clock_;
  Pool<Message>& messages_;
  int32_t num_ranks_ = 1;
  std::unordered_map<uint64_t, uint32_t> link_of_;  // pair of devices
  std::vector<Link> links_;
  std::vector<double> byte_hops_;
  int64_t num_messages_ = 0;
  int64_t partly_charged_ = 0;
  Nanoseconds uncharged_ = 0;
};

}  // namespace hocket::simulator::astra
