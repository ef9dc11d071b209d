#include "links.hpp"

#include <algorithm>

namespace hocket::simulator::astra {
namespace {

/// Links from one coordinate of a dimension to another.
int32_t hops(const Dimension& dimension, int32_t from, int32_t to) {
  if (dimension.shape == Shape::kFullyConnected) return 1;
  if (dimension.shape == Shape::kSwitch) return 2;
  const int32_t clockwise = to >= from ? to - from : to - from + dimension.size;
  return std::min(clockwise, dimension.size - clockwise);
}

/// Calls `visit(dimension index, hops)` for every dimension in which two ranks differ.
template <typename Visit>
void each_difference(std::span<const Dimension> dimensions, int32_t src, int32_t dst, Visit&& visit) {
  for (size_t at = 0; at < dimensions.size(); at++) {
    const int32_t size = dimensions[at].size;
    if (src % size != dst % size) visit(at, hops(dimensions[at], src % size, dst % size));
    src /= size;
    dst /= size;
  }
}

/// A device's neighbour on the way, with `num_ranks` as the switch.
int32_t towards(const Dimension& dimension, int32_t at, int32_t src, int32_t dst) {
  if (dimension.shape == Shape::kFullyConnected) return dst;
  if (dimension.shape == Shape::kSwitch) return at == dimension.size ? dst : dimension.size;
  const int32_t clockwise = dst >= src ? dst - src : dst - src + dimension.size;
  if (dimension.size - clockwise < clockwise) return at == 0 ? dimension.size - 1 : at - 1;
  return at + 1 == dimension.size ? 0 : at + 1;
}

}  // namespace

LinkTime Links::time(int32_t src, int32_t dst, int64_t bytes) const {
  LinkTime time{0, 0, 0};
  bool is_first = true;
  each_difference(dimensions_, src, dst, [&](size_t at, int32_t hops) {
    const Dimension& dimension = dimensions_[at];
    const double serialization = static_cast<double>(bytes) / dimension.bytes_per_ns;
    const double links = congestion_ ? 1 : hops;
    const auto delay = whole_nanoseconds(links * dimension.latency_ns + serialization);
    // The peer charges the first dimension that differs, and lets the others pass for nothing; what it leaves out is
    // counted and told (`uncharged`), so that a result says how much too good it is.
    if (is_first) {
      time.arrival = delay;
      time.occupancy = whole_nanoseconds(serialization);
    } else {
      time.uncharged += delay;
    }
    is_first = false;
  });
  return time;
}

void Links::send(uint32_t message, int32_t src, int32_t dst, const LinkTime& time) {
  if (!congestion_) return clock_.at(clock_.now() + time.arrival, Clock::kArrival, message);
  messages_[message].node = src;
  take(message, src, dst, time);
}

bool Links::arrive(uint32_t message, int32_t src, int32_t dst, const LinkTime& time) {
  if (!congestion_ || messages_[message].node == dst) return true;
  take(message, src, dst, time);
  return false;
}

// Store and forward: at each device the whole message is offered to the next link anew.
void Links::take(uint32_t message, int32_t src, int32_t dst, const LinkTime& time) {
  const int32_t at = messages_[message].node;
  const int32_t next = towards(dimensions_.front(), at, src, dst);
  const uint32_t link = link_between(at, next);
  messages_[message].node = next;
  if (links_[link].busy) {
    links_[link].waiting.push(messages_, message);
  } else {
    start(link, message, time);
  }
}

void Links::start(uint32_t link, uint32_t message, const LinkTime& time) {
  links_[link].busy = true;
  // Of these two the arrival is scheduled first: where latency is 0 they are ties.
  clock_.at(clock_.now() + time.arrival, Clock::kArrival, message);
  clock_.at(clock_.now() + time.occupancy, Clock::kLinkFree, link);
}

uint32_t Links::link_between(int32_t from, int32_t to) {
  const auto [found, is_new] = link_of_.try_emplace(static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to),
                                                    static_cast<uint32_t>(links_.size()));
  if (is_new) links_.emplace_back();
  return found->second;
}

void Links::count(int32_t src, int32_t dst, int64_t bytes, int64_t messages, const LinkTime& time) {
  num_messages_ += messages;
  each_difference(dimensions_, src, dst, [&](size_t at, int32_t hops) {
    byte_hops_[at] += static_cast<double>(messages) * static_cast<double>(bytes) * hops;
  });
  if (time.uncharged > 0) {
    partly_charged_ += messages;
    uncharged_ += messages * time.uncharged;
  }
}

}  // namespace hocket::simulator::astra
