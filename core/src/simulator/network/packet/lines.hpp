#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "line_table.hpp"
#include "parts.hpp"

namespace hocket::simulator {

/// Who waits for each virtual channel: a ring of lines, one for each buffer or source, in the order of their turns. A
/// switch's inputs have a line for each output, so that what waits for a busy output keeps nobody from another; all of
/// them together are in the input's one buffer.
class Lines {
 public:
  Lines(size_t links, int32_t per_link) : channels_(links * static_cast<size_t>(per_link)) {}

  VirtualChannel& channel(int32_t id) { return channels_[static_cast<size_t>(id)]; }
  const VirtualChannel& channel(int32_t id) const { return channels_[static_cast<size_t>(id)]; }
  void fetch_channel(int32_t id) const { __builtin_prefetch(&channels_[static_cast<size_t>(id)], 1); }

  void fetch(uint32_t line) const { lines_.fetch(line); }

  uint32_t make(int32_t buffer, int32_t channel) { return lines_.make({buffer, channel}); }
  void drop(uint32_t line) { lines_.drop(line); }
  Line& operator[](uint32_t line) { return lines_[line]; }
  const Line& operator[](uint32_t line) const { return lines_[line]; }

  /// The line whose turn it is. Precondition: some line waits for the channel.
  uint32_t first(const VirtualChannel& channel) const { return lines_[channel.last].next; }

  /// The line gets the last turn of its channel.
  void enter(uint32_t id) {
    Line& line = lines_[id];
    VirtualChannel& channel = channels_[static_cast<size_t>(line.channel)];
    if (channel.last == kNone) {
      line.next = id;
    } else {
      line.next = lines_[channel.last].next;
      lines_[channel.last].next = id;
    }
    channel.last = id;
  }

  /// The line whose turn it was gets the last one.
  void rotate(VirtualChannel& channel) { channel.last = first(channel); }

  /// The line whose turn it was waits no longer.
  void leave(VirtualChannel& channel) {
    const uint32_t gone = first(channel);
    if (gone == channel.last) {
      channel.last = kNone;
    } else {
      lines_[channel.last].next = lines_[gone].next;
    }
  }

  /// The line with the least `age(line)` gets the first turn, of equal ones the one whose turn came first.
  template <class Age>
  void put_first(VirtualChannel& channel, Age age) {
    uint32_t before = channel.last, best = before;
    for (uint32_t at = lines_[before].next; at != channel.last; at = lines_[at].next) {
      if (age(lines_[lines_[at].next]) < age(lines_[lines_[best].next])) best = at;
    }
    channel.last = best;
  }

  /// A packet joins the line of its buffer for the channel. Whether that is a new line.
  bool push(int32_t buffer, int32_t channel, uint32_t packet, Pool<Packet>& packets) {
    uint32_t& id = of_buffers_[LineTable::key(buffer, channel)];
    packets[packet].next = kNone;
    if (id != kNone) {
      Line& line = lines_[id];
      packets[line.last].next = packet;
      line.last = packet;
      return false;
    }
    id = make(buffer, channel);
    lines_[id].first = lines_[id].last = packet;
    enter(id);
    return true;
  }

  /// Takes the first packet of the buffer's line whose turn it is, and says whether that was the line's last one.
  std::pair<uint32_t, bool> pop(VirtualChannel& channel, Pool<Packet>& packets) {
    const uint32_t id = first(channel);
    Line& line = lines_[id];
    const uint32_t packet = line.first;
    line.first = packets[packet].next;
    if (line.first != kNone) {
      rotate(channel);
      return {packet, false};
    }
    of_buffers_.erase(LineTable::key(line.buffer, line.channel));
    leave(channel);
    drop(id);
    return {packet, true};
  }

 private:
  Pool<Line> lines_;
  std::vector<VirtualChannel> channels_;
  LineTable of_buffers_;
};

}  // namespace hocket::simulator
