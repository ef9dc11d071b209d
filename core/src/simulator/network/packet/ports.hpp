#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "hocket/simulator/network/links.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/topology/graph.hpp"
#include "parts.hpp"

namespace hocket::simulator {

/// What links of one kind have in common: a few kinds stay in the cache, however many links there are.
struct LinkKind {
  Picoseconds latency_ps;
  Bandwidth bandwidth;
  bool stores, to_rank;
  uint8_t format_number;
  LinkFormat format;
  int64_t whole_bytes, whole_packets;  // on the link, of what moves as one
  int64_t resume_at;                   // bytes in the buffer behind it
  int64_t mark_from, mark_all;         // bytes that wait
  // How long the link is at the whole and at the last other size: sizes repeat, and the division is slow.
  Picoseconds whole_ps = -1;
  int64_t last_bytes = 0;
  Picoseconds last_ps = 0;

  Picoseconds serialization(int64_t bytes) {
    if (bytes == whole_bytes) return whole_ps >= 0 ? whole_ps : whole_ps = serialization_ps(bytes, bandwidth);
    if (bytes != last_bytes) {
      last_ps = serialization_ps(bytes, bandwidth);
      last_bytes = bytes;
    }
    return last_ps;
  }
};

/// The two ends of each link: the output that waits for it, and the buffer behind it; what came and went, and when a
/// buffer stops its sender. What every packet needs is in one cache line a link, what those need that wait in others.
class Ports {
 public:
  struct alignas(64) Port {
    Picoseconds free_at = 0;
    int32_t num_waiting = 0;  // lines
    uint32_t kind = 0;
    uint8_t turn = 0;         // of its virtual channels
    bool awake = false;       // whether an event comes when the link is free
    uint16_t num_paused = 0;  // virtual channels
    int64_t packets = 0;      // that it carried; of trains all
    int64_t pauses = 0;
    LinkUse use{};
  };
  static_assert(sizeof(Port) == 64);

  Ports(const topology::Graph& graph, const LinkSettings& links, const PacketSettings& settings, int32_t bins)
      : settings_(settings),
        whole_payload_(settings.train * settings.formats[0].payload_bytes),
        ports_(graph.links().size()),
        outputs_(graph.links().size()),
        buffers_(graph.links().size()),
        gap_until_(graph.links().size(), 0),
        bins_(bins),
        waiting_(graph.links().size(), bins) {
    std::map<std::tuple<Picoseconds, Bandwidth, bool, bool, uint8_t>, uint32_t> number;
    for (size_t at = 0; at < ports_.size(); at++) {
      const topology::Link& link = graph.links()[at];
      const bool to_rank = !graph.is_switch(link.dst), stores = links.stores[at] || to_rank;
      const uint8_t format = settings.format_of.empty() ? uint8_t{0} : settings.format_of[at];
      const auto [found, is_new] = number.try_emplace({link.latency_ps, link.bandwidth, stores, to_rank, format},
                                                      static_cast<uint32_t>(kinds_.size()));
      if (is_new) kinds_.push_back(kind_of(link, stores, to_rank, format));
      ports_[at].kind = found->second;
      kind_of_.push_back(found->second);
    }
  }

  Port& operator[](int32_t link) { return ports_[static_cast<size_t>(link)]; }
  const Port& operator[](int32_t link) const { return ports_[static_cast<size_t>(link)]; }
  LinkKind& kind(int32_t link) { return kinds_[kind_of_[static_cast<size_t>(link)]]; }
  const LinkKind& kind(int32_t link) const { return kinds_[kind_of_[static_cast<size_t>(link)]]; }
  /// Until then the NIC before the link sends no other message.
  Picoseconds& gap_until(int32_t link) { return gap_until_[static_cast<size_t>(link)]; }

  /// Of what moves as one, but for what is left at the end of a message.
  int64_t whole_payload() const { return whole_payload_; }
  /// Bytes on the link of a part of a message, and packets.
  int64_t bytes_on(int32_t link, int64_t payload) const { return bytes_on(kind(link), payload); }
  int64_t bytes_on(const LinkKind& kind, int64_t payload) const {
    return is_whole(payload) ? kind.whole_bytes : kind.format.link_bytes(payload);
  }
  int64_t packets_on(const LinkKind& kind, int64_t payload) const {
    return is_whole(payload) ? kind.whole_packets : kind.format.packets(payload);
  }
  /// Packets of the network's first format.
  int64_t packets(int64_t payload) const {
    return is_whole(payload) ? settings_.train : settings_.formats[0].packets(payload);
  }

  /// So many bytes more wait at a switch for the link.
  void wait(int32_t link, int64_t bytes, Picoseconds now) {
    Level& waiting = outputs_[static_cast<size_t>(link)].level;
    const Picoseconds since = waiting.since();
    if (bins_ > 0 && waiting.now_bytes() > 0 && now > since) {
      const __int128 area = static_cast<__int128>(waiting.now_bytes()) * (now - since) / kPicosecondsPerNanosecond;
      waiting_.add(link, since, now, static_cast<Picoseconds>(area));
    }
    waiting.change(bytes, now);
  }

  /// A packet waits in the buffer behind the link. Whether the sender is now to be told to pause.
  bool hold(VirtualChannel& behind, int32_t link, int64_t bytes, Picoseconds now) {
    buffers_[static_cast<size_t>(link)].level.change(bytes, now);
    behind.held += bytes;
    const bool stops =
        settings_.flow_control == FlowControl::kPfc && !behind.pausing && behind.held > kind(link).format.buffer_bytes;
    behind.pausing |= stops;
    return stops;
  }

  /// A packet leaves the buffer behind the link. Whether the sender is now to be told to go on.
  bool release(VirtualChannel& behind, int32_t link, int64_t bytes, Picoseconds now) {
    buffers_[static_cast<size_t>(link)].level.change(-bytes, now);
    behind.held -= bytes;
    const bool resumes = behind.pausing && behind.held <= kind(link).resume_at;
    behind.pausing &= !resumes;
    return resumes;
  }

  /// The buffer behind the link has no room for the packet.
  void lose(int32_t link, int64_t payload) { buffers_[static_cast<size_t>(link)].dropped += packets(payload); }

  void pause(VirtualChannel& channel, int32_t link, Picoseconds now) {
    channel.paused = true;
    channel.paused_at = now;
    ports_[static_cast<size_t>(link)].num_paused++;
    ports_[static_cast<size_t>(link)].pauses++;
  }

  void resume(VirtualChannel& channel, int32_t link, Picoseconds now) {
    channel.paused = false;
    ports_[static_cast<size_t>(link)].num_paused--;
    buffers_[static_cast<size_t>(link)].paused_ps += now - channel.paused_at;
  }

  /// Whether a packet that joins what waits for the link is marked (RED): the more likely, the more waits. By a hash of
  /// how many were asked for, so that runs are alike.
  bool marks(int32_t link, int64_t payload) {
    Output& output = outputs_[static_cast<size_t>(link)];
    const bool is_marked = draws(output, link);
    if (is_marked) output.marked += packets(payload);
    return is_marked;
  }

  /// What is to be said of each link, of a simulation that ended at `end`.
  std::vector<PacketLinkUse> use(Picoseconds end) const {
    std::vector<PacketLinkUse> all;
    for (size_t link = 0; link < ports_.size(); link++) {
      const Output& output = outputs_[link];
      const Buffer& buffer = buffers_[link];
      all.push_back({.packets = ports_[link].packets,
                     .waiting_most = output.level.most(),
                     .waiting_mean = output.level.mean(end),
                     .buffer_most = buffer.level.most(),
                     .buffer_mean = buffer.level.mean(end),
                     .pauses = ports_[link].pauses,
                     .paused_ps = buffer.paused_ps,
                     .marked = output.marked,
                     .dropped = buffer.dropped});
    }
    return all;
  }
  std::vector<LinkUse> link_uses() const {
    std::vector<LinkUse> all;
    for (const Port& port : ports_) all.push_back(port.use);
    return all;
  }
  LinkBins take_waiting() { return std::move(waiting_); }

  void fetch(int32_t link) const { __builtin_prefetch(&ports_[static_cast<size_t>(link)], 1); }
  void fetch_waiting(int32_t link, int32_t buffer) const {
    __builtin_prefetch(&outputs_[static_cast<size_t>(link)], 1);
    __builtin_prefetch(&buffers_[static_cast<size_t>(buffer)], 1);
  }

 private:
  /// Where packets wait for a link, and behind one.
  struct alignas(64) Output {
    Level level;
    int64_t marks_asked = 0;
    int64_t marked = 0;
  };
  struct alignas(64) Buffer {
    Level level;
    int64_t dropped = 0;
    Picoseconds paused_ps = 0;  // that it kept its sender from sending
  };

  LinkKind kind_of(const topology::Link& link, bool stores, bool to_rank, uint8_t format_number) const {
    const LinkFormat& format = settings_.formats[format_number];
    const auto scaled = [&](int64_t bytes) {
      return static_cast<int64_t>(static_cast<__int128>(bytes) * link.bandwidth / kMarkedBandwidth);
    };
    const RateSettings& rate = settings_.rate;
    const int64_t whole_bytes = format.link_bytes(whole_payload_);
    return {.latency_ps = link.latency_ps,
            .bandwidth = link.bandwidth,
            .stores = stores,
            .to_rank = to_rank,
            .format_number = format_number,
            .format = format,
            .whole_bytes = whole_bytes,
            .whole_packets = format.packets(whole_payload_),
            .resume_at = std::max<int64_t>(0, format.buffer_bytes - 2 * whole_bytes),
            .mark_from = rate.least_bytes > 0 ? rate.least_bytes : scaled(kLeastMarked),
            .mark_all = rate.most_bytes > 0 ? rate.most_bytes : scaled(kMostMarked)};
  }

  bool draws(Output& output, int32_t link) const {
    const LinkKind& kind = this->kind(link);
    const int64_t waiting = output.level.now_bytes();
    if (waiting <= kind.mark_from) return false;
    if (waiting > kind.mark_all) return true;
    const uint64_t drawn = splitmix64(settings_.seed ^ splitmix64(static_cast<uint64_t>(link)) ^
                                      static_cast<uint64_t>(output.marks_asked++));
    const __int128 likely = static_cast<__int128>(waiting - kind.mark_from) * settings_.rate.most_ppm;
    return static_cast<__int128>(drawn % kMillion) * (kind.mark_all - kind.mark_from) < likely;
  }

  // Nearly all are, and a division for each hop would be much of its cost.
  bool is_whole(int64_t payload) const { return payload == whole_payload_; }

  static constexpr Picoseconds kPicosecondsPerNanosecond = 1000;
  static constexpr uint64_t kMillion = 1'000'000;
  // DCQCN's thresholds, and the links that they are published for.
  static constexpr Bandwidth kMarkedBandwidth = 5'000'000'000;
  static constexpr int64_t kLeastMarked = 5'000, kMostMarked = 200'000;

  const PacketSettings settings_;
  const int64_t whole_payload_;  // of what moves as one
  std::vector<LinkKind> kinds_;
  std::vector<uint32_t> kind_of_;  // of each link: beside its port, for those who need no more of it
  std::vector<Port> ports_;
  std::vector<Output> outputs_;
  std::vector<Buffer> buffers_;
  std::vector<Picoseconds> gap_until_;
  int32_t bins_;
  LinkBins waiting_;  // bytes times nanoseconds
};

}  // namespace hocket::simulator
