#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hocket/simulator/packets.hpp"
#include "hocket/topology/graph.hpp"
#include "parts.hpp"

namespace hocket::simulator {

/// The two ends of each link: the output that waits for it, and the buffer behind it; what came and went, and when a
/// buffer stops its sender.
class Ports {
 public:
  struct Port {
    bool to_rank = false;
    bool awake = false;  // whether an event comes when the link is free
    int32_t turn = 0;    // of its virtual channels
    uint8_t format = 0;
    int64_t whole_bytes = 0, whole_packets = 0;  // on the link, of what moves as one
    int64_t resume_at = 0;                       // bytes in the buffer behind it
    int64_t packets = 0, marked = 0, dropped = 0, pauses = 0;
    int64_t marks_asked = 0;
    int64_t mark_from = 0, mark_all = 0;  // bytes that wait
    Picoseconds gap_until = 0;            // the NIC before it sends no other message
    Picoseconds paused_ps = 0;
    Level waiting, buffer;
  };

  Ports(const topology::Graph& graph, const PacketSettings& settings, int32_t bins)
      : settings_(settings),
        whole_payload_(settings.train * settings.formats[0].payload_bytes),
        ports_(graph.links().size()),
        waiting_(graph.links().size(), bins) {
    const int64_t whole = whole_payload_;
    for (size_t at = 0; at < ports_.size(); at++) {
      const topology::Link& link = graph.links()[at];
      ports_[at].to_rank = !graph.is_switch(link.dst);
      ports_[at].format = settings.format_of.empty() ? 0 : settings.format_of[at];
      const LinkFormat& format = settings.formats[ports_[at].format];
      ports_[at].whole_bytes = format.link_bytes(whole);
      ports_[at].whole_packets = format.packets(whole);
      ports_[at].resume_at = std::max<int64_t>(0, format.buffer_bytes - 2 * ports_[at].whole_bytes);
      const auto scaled = [&](int64_t bytes) {
        return static_cast<int64_t>(static_cast<__int128>(bytes) * link.bandwidth / kMarkedBandwidth);
      };
      const RateSettings& rate = settings.rate;
      ports_[at].mark_from = rate.least_bytes > 0 ? rate.least_bytes : scaled(kLeastMarked);
      ports_[at].mark_all = rate.most_bytes > 0 ? rate.most_bytes : scaled(kMostMarked);
    }
  }

  Port& operator[](int32_t link) { return ports_[static_cast<size_t>(link)]; }

  const LinkFormat& format(int32_t link) const { return settings_.formats[ports_[static_cast<size_t>(link)].format]; }
  /// Of what moves as one, but for what is left at the end of a message.
  int64_t whole_payload() const { return whole_payload_; }
  /// Bytes on the link of a part of a message, and packets.
  int64_t bytes_on(int32_t link, int64_t payload) const {
    return is_whole(payload) ? ports_[static_cast<size_t>(link)].whole_bytes : format(link).link_bytes(payload);
  }
  int64_t packets_on(int32_t link, int64_t payload) const {
    return is_whole(payload) ? ports_[static_cast<size_t>(link)].whole_packets : format(link).packets(payload);
  }

  /// So many bytes more wait at a switch for the link.
  void wait(int32_t link, int64_t bytes, Picoseconds now) {
    Level& waiting = ports_[static_cast<size_t>(link)].waiting;
    const Picoseconds since = waiting.since();
    if (waiting.now_bytes() > 0 && now > since) {
      const __int128 area = static_cast<__int128>(waiting.now_bytes()) * (now - since) / kPicosecondsPerNanosecond;
      waiting_.add(link, since, now, static_cast<Picoseconds>(area));
    }
    waiting.change(bytes, now);
  }

  /// A packet waits in the buffer behind the link. Whether the sender is now to be told to pause.
  bool hold(VirtualChannel& behind, int32_t link, int64_t bytes, Picoseconds now) {
    ports_[static_cast<size_t>(link)].buffer.change(bytes, now);
    behind.held += bytes;
    const bool stops =
        settings_.flow_control == FlowControl::kPfc && !behind.pausing && behind.held > format(link).buffer_bytes;
    behind.pausing |= stops;
    return stops;
  }

  /// A packet leaves the buffer behind the link. Whether the sender is now to be told to go on.
  bool release(VirtualChannel& behind, int32_t link, int64_t bytes, Picoseconds now) {
    ports_[static_cast<size_t>(link)].buffer.change(-bytes, now);
    behind.held -= bytes;
    const bool resumes = behind.pausing && behind.held <= ports_[static_cast<size_t>(link)].resume_at;
    behind.pausing &= !resumes;
    return resumes;
  }

  void pause(VirtualChannel& channel, int32_t link, Picoseconds now) {
    channel.paused = true;
    channel.paused_at = now;
    ports_[static_cast<size_t>(link)].pauses++;
  }

  void resume(VirtualChannel& channel, int32_t link, Picoseconds now) {
    channel.paused = false;
    ports_[static_cast<size_t>(link)].paused_ps += now - channel.paused_at;
  }

  /// Whether a packet that joins what waits for the link is marked (RED): the more likely, the more waits. By a hash of
  /// how many were asked for, so that runs are alike.
  bool marks(int32_t link) {
    Port& port = ports_[static_cast<size_t>(link)];
    const int64_t waiting = port.waiting.now_bytes();
    if (waiting <= port.mark_from) return false;
    if (waiting > port.mark_all) return true;
    const uint64_t drawn =
        mix(settings_.seed ^ mix(static_cast<uint64_t>(link)) ^ static_cast<uint64_t>(port.marks_asked++));
    const __int128 likely = static_cast<__int128>(waiting - port.mark_from) * settings_.rate.most_ppm;
    return static_cast<__int128>(drawn % kMillion) * (port.mark_all - port.mark_from) < likely;
  }

  /// What is to be said of each link, of a simulation that ended at `end`.
  std::vector<PacketLinkUse> use(Picoseconds end) const {
    std::vector<PacketLinkUse> all;
    for (const Port& port : ports_) {
      all.push_back({.packets = port.packets,
                     .waiting_most = port.waiting.most(),
                     .waiting_mean = port.waiting.mean(end),
                     .buffer_most = port.buffer.most(),
                     .buffer_mean = port.buffer.mean(end),
                     .pauses = port.pauses,
                     .paused_ps = port.paused_ps,
                     .marked = port.marked,
                     .dropped = port.dropped});
    }
    return all;
  }
  LinkBins take_waiting() { return std::move(waiting_); }

 private:
  // Nearly all are, and a division for each hop would be much of its cost.
  bool is_whole(int64_t payload) const { return payload == whole_payload_; }

  static constexpr Picoseconds kPicosecondsPerNanosecond = 1000;
  static constexpr uint64_t kMillion = 1'000'000;
  // DCQCN's thresholds, and the links that they are published for.
  static constexpr Bandwidth kMarkedBandwidth = 5'000'000'000;
  static constexpr int64_t kLeastMarked = 5'000, kMostMarked = 200'000;

  const PacketSettings settings_;
  const int64_t whole_payload_;  // of what moves as one
  std::vector<Port> ports_;
  LinkBins waiting_;  // bytes times nanoseconds
};

}  // namespace hocket::simulator
