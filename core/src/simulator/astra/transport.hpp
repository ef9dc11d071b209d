#pragma once

#include <cstdint>

#include "channels.hpp"

namespace hocket::simulator::astra {

/// Sends and receives, with a handshake before each of them where the rendezvous protocol is on: a sender waits for a
/// message of the receiver, who posts the real receive when that has arrived.
/// Sizes and tags of the handshake are the peer's (8192 bytes, tag + 10^9), as its messages take time on links too.
class Transport {
 public:
  Transport(Channels& channels, bool rendezvous) : channels_(channels), rendezvous_(rendezvous) {}

  void send(uint32_t channel, const Callback& sent) {
    if (!rendezvous_) return channels_.send(channel, sent);
    const uint32_t control = open_control(channel);
    channels_.receive(control, {Callback::kRendezvousSend, hold(channel, sent), 0});
    channels_.close(control);
  }

  void receive(uint32_t channel, const Callback& received) {
    if (!rendezvous_) return channels_.receive(channel, received);
    const uint32_t control = open_control(channel);
    channels_.send(control, {Callback::kRendezvousReceive, hold(channel, received), 0});
    channels_.close(control);
  }

  /// The handshake of a send or of a receive is over.
  void agreed_to_send(uint32_t handshake) {
    const Handshake over = handshakes_.take(handshake);
    channels_.send(over.channel, over.callback);
    channels_.close(over.channel);
  }
  void agreed_to_receive(uint32_t handshake) {
    const Handshake over = handshakes_.take(handshake);
    channels_.receive(over.channel, over.callback);
    channels_.close(over.channel);
  }

  /// What is called back in the end.
  const Callback& purpose(const Callback& callback) const {
    return callback.kind == Callback::kRendezvousSend ? handshakes_[callback.id].callback : callback;
  }

 private:
  static constexpr int64_t kControlBytes = 8192;
  static constexpr uint32_t kControlTags = 1000000000;

  struct Handshake {
    uint32_t channel;
    Callback callback;
  };

  uint32_t open_control(uint32_t channel) {
    const ChannelKey& key = channels_.key_of(channel);
    return channels_.open({key.tag + kControlTags, key.dst, key.src, kControlBytes});
  }

  uint32_t hold(uint32_t channel, const Callback& callback) {
    channels_.open(channels_.key_of(channel));
    return handshakes_.add({channel, callback});
  }

  Channels& channels_;
  bool rendezvous_;
  Pool<Handshake> handshakes_;
};

}  // namespace hocket::simulator::astra
