#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../flight.hpp"
#include "hocket/huge_pages.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/splitmix.hpp"
#include "hocket/topology/paths.hpp"
#include "line_table.hpp"
#include "rate_control.hpp"

namespace hocket::simulator {

/// What a path takes of a message, in whole packets: cuts lie where shares say, shifted by a part of a packet that
/// differs from message to message, so that single packets of many messages spread too.
inline int64_t part_of_message(const PacketSettings& settings, int64_t share_before, int64_t share, int64_t bytes,
                               uint64_t number) {
  const int64_t payload = settings.formats[0].payload_bytes, packets = settings.formats[0].packets(bytes);
  const auto shift = static_cast<int64_t>(splitmix64(settings.seed ^ number) % topology::kWholeShare);
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
      make_room(all_);
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
  void fetch(uint32_t id) const { __builtin_prefetch(&all_[id], 1); }
  /// How many numbers there have been.
  size_t size() const { return all_.size(); }

 private:
  std::vector<T> all_;
  std::vector<uint32_t> free_;
};

/// A packet on its way, or a train of them: one cache line, with all that a hop needs.
struct alignas(64) Packet {
  const int32_t* hop;   // the link of its path that it is on, or waits behind
  Picoseconds sent_at;  // when its first byte went
  Picoseconds came_at;  // to the switch at which it waits
  int64_t offset;       // of its first byte in the message
  uint32_t sending, flight;
  int32_t payload_bytes, link_bytes;  // of the message; on the link that it came by
  int32_t link, next_link;            // that it is on, or waits behind; the one after that, if there is one
  uint32_t next;                      // behind it in its line
  uint16_t left;                      // links of its stretch, that one among them
  uint8_t passed;                     // links of its stretch before that one; 255: so many or more
  bool marked : 1;
  bool ends_message : 1;  // whether the message's last byte is in it

  bool ends() const { return left == 1; }
};
static_assert(sizeof(Packet) == 64);

/// A flight on a stretch of its route, between ranks. It outlives the flight as long as packets of it are under way,
/// which come twice where they were sent again.
struct alignas(64) Sending {
  const int32_t* begin = nullptr;
  int64_t bytes = 0, sent = 0, received = 0;
  Picoseconds ready_at = 0;  // when the message was ready, at its first rank
  uint32_t flight = kNone;
  int32_t under_way = 0;  // packets or trains
  uint32_t source = kNone;
  uint32_t next = kNone;   // behind it in its line
  uint16_t num_links = 0;  // from `begin` on
  bool queued = false;     // whether it is in its line
  bool told = false;       // whether the receiver has told of the gap that it waits to be filled
  bool done = false;       // whether all of it is there

  const int32_t* end() const { return begin + num_links; }
};
static_assert(sizeof(Sending) == 64);

/// When a message is looked at again, where packets may be lost.
struct Timers {
  Picoseconds timeout_at = 0;  // when it is sent again if nothing comes of it
  Picoseconds timer_at = -1;   // when that is looked at next, -1: never
  Picoseconds back_at = -1;    // when the sender hears of a gap, -1: there is none that it has not heard of
};

/// Who sends from a rank over a connection: its messages one after the other, at one rate.
struct Source {
  Connection connection{};
  uint32_t line = kNone;
  int32_t users = 0;   // flights, and events that are about it
  bool paced = false;  // whether it waits for its next turn at its rate
};

/// The rate of a source, where senders choose rates.
struct Pace {
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

/// Room that the buffer behind a channel gives back: it comes to the sender at these times. A ring, as there are never
/// more than the packets that leave within the latency of a link.
class Credits {
 public:
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == coming_.size(); }
  Picoseconds next_at() const { return coming_[first_].at; }

  void push(Picoseconds at, int64_t bytes) {
    if (full()) grow();
    // Packets that leave by links of several speeds are through out of order, but nearly in it.
    uint32_t place = size_++;
    for (; place > 0 && coming(place - 1).at > at; place--) coming(place) = coming(place - 1);
    coming(place) = {at, bytes};
  }

  /// The bytes that have come by `now`.
  int64_t take(Picoseconds now) {
    int64_t bytes = 0;
    for (; !empty() && next_at() <= now; size_--) {
      bytes += coming_[first_].bytes;
      first_ = (first_ + 1) & (static_cast<uint32_t>(coming_.size()) - 1);
    }
    return bytes;
  }

 private:
  struct Credit {
    Picoseconds at;
    int64_t bytes;
  };
  static constexpr size_t kFirstSize = 4;  // a power of two, as all sizes: one cache line

  Credit& coming(uint32_t place) { return coming_[(first_ + place) & (static_cast<uint32_t>(coming_.size()) - 1)]; }

  void grow() {
    std::vector<Credit> more(std::max(kFirstSize, 2 * coming_.size()));
    for (uint32_t place = 0; place < size_; place++) more[place] = coming(place);
    coming_ = std::move(more);
    first_ = 0;
  }

  std::vector<Credit> coming_;
  uint32_t first_ = 0, size_ = 0;
};

/// A virtual channel of a link: who waits for it, and the buffer at its far end.
struct alignas(64) VirtualChannel {
  // Of the sender.
  uint32_t last = kNone;  // of the ring of lines that wait; the first follows it
  bool paused = false;
  bool told = false;     // whether an event comes when there is room again
  bool starved = false;  // whether it waits for room of which nobody knows when it comes
  bool pausing = false;  // whether the buffer has told the sender to pause
  int64_t room = 0;      // that is left in the buffer, by what the sender knows
  Picoseconds paused_at = 0;
  int64_t held = 0;  // in the buffer
  Credits credits;
};
static_assert(sizeof(VirtualChannel) == 64);

}  // namespace hocket::simulator
