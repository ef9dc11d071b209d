#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../flight.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/topology/paths.hpp"
#include "line_table.hpp"
#include "rate_control.hpp"

namespace hocket::simulator {

/// A number that looks like chance, always the same for the same number (splitmix64, Steele et al. 2014).
inline uint64_t mix(uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

/// What a path takes of a message, in whole packets: cuts lie where shares say, shifted by a part of a packet that
/// differs from message to message, so that single packets of many messages spread too.
inline int64_t part_of_message(const PacketSettings& settings, int64_t share_before, int64_t share, int64_t bytes,
                               uint64_t number) {
  const int64_t payload = settings.formats[0].payload_bytes, packets = settings.formats[0].packets(bytes);
  const auto shift = static_cast<int64_t>(mix(settings.seed ^ number) % topology::kWholeShare);
  const auto cut = [&](int64_t shares) {
    const auto whole = (static_cast<__int128>(packets) * shares + shift) / topology::kWholeShare;
    return std::min(bytes, static_cast<int64_t>(whole) * payload);
  };
  return cut(share_before + share) - cut(share_before);
}

/// Objects by number, of which those that are done are used again.
template <class T>
class Pool {
 public:
  uint32_t make(const T& like) {
    if (free_.empty()) {
      all_.push_back(like);
      return static_cast<uint32_t>(all_.size() - 1);
    }
    const uint32_t id = free_.back();
    free_.pop_back();
    all_[id] = like;
    return id;
  }
  void drop(uint32_t id) { free_.push_back(id); }
  T& operator[](uint32_t id) { return all_[id]; }
  const T& operator[](uint32_t id) const { return all_[id]; }

 private:
  std::vector<T> all_;
  std::vector<uint32_t> free_;
};

/// A packet on its way, or a train of them.
struct Packet {
  Picoseconds sent_at;  // when its first byte went
  Picoseconds came_at;  // to the switch at which it waits
  int64_t offset;       // of its first byte in the message
  uint32_t sending;
  int32_t payload_bytes, link_bytes;  // of the message; on the link that it came by
  uint32_t next;                      // behind it in its line
  uint16_t hop;                       // the link of its stretch that it is on, or waits behind
  uint16_t packets;                   // of the network's first format
  bool marked;
};

/// A flight on the stretch `begin..end` of its route, between ranks. It outlives the flight as long as packets of it
/// are under way, which come twice where they were sent again.
struct Sending {
  const int32_t* begin = nullptr;
  const int32_t* end = nullptr;
  int64_t bytes = 0, sent = 0, received = 0;
  uint32_t flight = kNone;
  int32_t under_way = 0;       // packets or trains
  Picoseconds ready_at = 0;    // when the message was ready, at its first rank
  Picoseconds latency_ps = 0;  // of the stretch
  Picoseconds timeout_at = 0;  // when it is sent again if nothing comes of it
  Picoseconds timer_at = -1;   // when that is looked at next, -1: never
  Picoseconds back_at = -1;    // when the sender hears of a gap, -1: there is none that it has not heard of
  uint32_t source = kNone;
  uint32_t next = kNone;  // behind it in its line
  bool queued = false;    // whether it is in its line
  bool told = false;      // whether the receiver has told of the gap that it waits to be filled
  bool done = false;      // whether all of it is there
};

/// Who sends from a rank over a connection: its messages one after the other, at one rate.
struct Source {
  Connection connection{};
  uint32_t line = kNone;
  int32_t users = 0;         // flights, and events that are about it
  bool paced = false;        // whether it waits for its next turn at its rate
  Picoseconds told_at = -1;  // when its receiver last told of marks, -1: never
  RateControl rate;
};

/// What waits at one place for one link: messages of a source, or packets of one buffer.
struct Line {
  int32_t buffer;         // that holds its packets; kOfSource - n: the messages of source n
  int32_t channel;        // of the link that it waits for
  uint32_t next = kNone;  // in the ring of that
  uint32_t first = kNone, last = kNone;

  static constexpr int32_t kOfSource = -1;
  bool of_source() const { return buffer < 0; }
  uint32_t source() const { return static_cast<uint32_t>(kOfSource - buffer); }
};

/// Bytes that are somewhere: how many at most, and on average over time.
class Level {
 public:
  int64_t now_bytes() const { return bytes_; }
  Picoseconds since() const { return since_; }

  void change(int64_t bytes, Picoseconds now) {
    area_ += static_cast<__int128>(bytes_) * (now - since_);
    since_ = now;
    bytes_ += bytes;
    most_ = bytes_ > most_ ? bytes_ : most_;
  }
  int64_t most() const { return most_; }
  double mean(Picoseconds until) const {
    return until == 0 ? 0 : static_cast<double>(area_) / static_cast<double>(until);
  }

 private:
  int64_t bytes_ = 0, most_ = 0;
  __int128 area_ = 0;  // bytes times picoseconds
  Picoseconds since_ = 0;
};

/// Room that the buffer behind a channel gives back: it comes to the sender at these times.
class Credits {
 public:
  bool empty() const { return first_ == coming_.size(); }
  Picoseconds next_at() const { return coming_[first_].at; }

  void push(Picoseconds at, int64_t bytes) {
    // Packets that leave by links of several speeds are through out of order, but nearly in it.
    coming_.push_back({at, bytes});
    for (size_t k = coming_.size() - 1; k > first_ && coming_[k - 1].at > coming_[k].at; k--) {
      std::swap(coming_[k - 1], coming_[k]);
    }
  }

  /// The bytes that have come by `now`.
  int64_t take(Picoseconds now) {
    int64_t bytes = 0;
    while (!empty() && next_at() <= now) bytes += coming_[first_++].bytes;
    if (2 * first_ >= coming_.size()) {
      coming_.erase(coming_.begin(), coming_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return bytes;
  }

 private:
  struct Credit {
    Picoseconds at;
    int64_t bytes;
  };
  std::vector<Credit> coming_;
  size_t first_ = 0;
};

/// A virtual channel of a link: who waits for it, and the buffer at its far end.
struct VirtualChannel {
  // Of the sender.
  uint32_t last = kNone;  // of the ring of lines that wait; the first follows it
  bool paused = false;
  bool told = false;     // whether an event comes when there is room again
  bool starved = false;  // whether it waits for room of which nobody knows when it comes
  int64_t room = 0;      // that is left in the buffer, by what the sender knows
  Picoseconds paused_at = 0;
  Credits credits;
  // Of the buffer.
  int64_t held = 0;
  bool pausing = false;  // whether it has told the sender to pause
};

}  // namespace hocket::simulator
