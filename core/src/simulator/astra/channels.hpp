#pragma once

#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "links.hpp"
#include "pool.hpp"

namespace hocket::simulator::astra {

/// What must agree for a send and a receive to meet.
struct ChannelKey {
  uint32_t tag;
  int32_t src;
  int32_t dst;
  int64_t bytes;

  bool operator==(const ChannelKey&) const = default;
};

/// Messages between ranks. The k-th send of a channel meets its k-th receive; as all of them take the same way and are
/// of the same size, they arrive in order.
///
/// Both callbacks run when the message arrives, the sender's first; a receive that comes later has its callback
/// deferred to the end of the instant. A channel lives while somebody holds it or something is under way.
///
/// Compare CallbackTracker of ASTRA-sim's analytical backends, whose key (tag, src, dst, size, count) this reproduces.
/// Invariant: `arrived` and `receives` are never both non-empty.
class Channels {
 public:
  Channels(Links& links, Clock& clock, Pool<Message>& messages)
      : links_(links), clock_(clock), messages_(messages), buckets_(1024, kNone) {}

  /// Takes hold of a channel, for one `close`.
  uint32_t open(const ChannelKey& key);
  void close(uint32_t channel);

  void send(uint32_t channel, const Callback& sent);
  void receive(uint32_t channel, const Callback& received);

  /// A message is at the end of a link; `run` runs callbacks.
  template <typename Run>
  void arrive(uint32_t message, Run&& run) {
    const uint32_t channel = messages_[message].channel;
    const ChannelKey key = channels_[channel].key;
    if (!links_.arrive(message, key.src, key.dst, channels_[channel].time)) return;
    const Callback sent = messages_.take(message).sent;
    channels_[channel].in_flight--;
    if (channels_[channel].receives.empty()) {
      channels_[channel].arrived++;
      run(sent);
      return;
    }
    const Callback received = receives_.take(channels_[channel].receives.pop(receives_)).received;
    free_if_idle(channel);
    run(sent);
    run(received);
  }

  const LinkTime& time_of(uint32_t channel) const { return channels_[channel].time; }
  const ChannelKey& key_of(uint32_t channel) const { return channels_[channel].key; }

  /// Calls `visit(key, callback)` for every receive whose message never came.
  template <typename Visit>
  void each_waiting(Visit&& visit) const {
    for (const uint32_t first : buckets_) {
      for (uint32_t at = first; at != kNone; at = channels_[at].next) {
        for (uint32_t entry = channels_[at].receives.first; entry != kNone; entry = receives_[entry].next) {
          visit(channels_[at].key, receives_[entry].received);
        }
      }
    }
  }

 private:
  struct Channel {
    ChannelKey key;
    LinkTime time;
    uint32_t holders = 0;
    uint32_t in_flight = 0;  // sent and not arrived
    uint32_t arrived = 0;    // and not received
    Chain receives;          // posted, their messages not arrived
    int64_t messages = 0;
    uint32_t next = kNone;  // of the same bucket
  };
  struct Receive {
    Callback received;
    uint32_t next;
  };

  void free_if_idle(uint32_t channel);
  void grow();
  uint32_t& bucket_of(const ChannelKey& key);

  Links& links_;
  Clock& clock_;
  Pool<Message>& messages_;
  Pool<Channel> channels_;
  Pool<Receive> receives_;
  std::vector<uint32_t> buckets_;  // first channel of each hash value
  size_t num_channels_ = 0;
};

}  // namespace hocket::simulator::astra
