#pragma once

#include <cstdint>

#include "phase.hpp"

namespace hocket::simulator::astra {

/// An exchange's way to other ranks. It holds the channels of the current message, which stay the same while peers and
/// sizes do.
class Wire {
 public:
  explicit Wire(const Endpoint& endpoint) : endpoint_(endpoint) {}
  ~Wire() { close(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void process(int64_t bytes, bool reduces) const { endpoint_.process(bytes, reduces); }
  void finish() const { endpoint_.finish(); }

  void exchange(int32_t to, int32_t from, int64_t bytes) {
    if (!is_open_ || to != to_ || from != from_ || bytes != bytes_) {
      close();
      send_channel_ = endpoint_.open_to(to, bytes);
      receive_channel_ = endpoint_.open_from(from, bytes);
      to_ = to;
      from_ = from;
      bytes_ = bytes;
      is_open_ = true;
    }
    endpoint_.transport().send(send_channel_, {});
    endpoint_.transport().receive(receive_channel_, endpoint_.when_received());
  }

 private:
  void close() {
    if (!is_open_) return;
    endpoint_.close(send_channel_);
    endpoint_.close(receive_channel_);
  }

  Endpoint endpoint_;
  bool is_open_ = false;
  uint32_t send_channel_ = kNone, receive_channel_ = kNone;
  int32_t to_ = -1, from_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace hocket::simulator::astra
