#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "hocket/simulator/link_bins.hpp"
#include "hocket/time.hpp"

namespace hocket::simulator {

/// What keeps a switch's buffer from running over.
enum class FlowControl : uint8_t {
  kPfc,      // the buffer tells the sender to pause above its size, and to go on two packets below it
  kCredits,  // the sender knows the room that is left, and sends nothing for which there is none
  kNone,     // nothing: what finds no room is lost, and sent again
};

/// Which of the inputs that wait for a link a switch takes the next packet from.
enum class Arbitration : uint8_t {
  kRoundRobin,  // one packet of each in turn
  kAge,         // the packet whose message is the oldest
  kFifo,        // the packet that came to the switch first
};

/// ECN marks and the rates that senders choose by them: DCQCN as published (Zhu et al., SIGCOMM 2015), without its
/// hyper increase, which the paper's model leaves out.
struct RateSettings {
  bool active = false;
  int64_t least_bytes = 0;    // from so many that wait for a link on packets are marked; 0: 5 kB for each 40 Gb/s
  int64_t most_bytes = 0;     // from so many on all are; 0: 200 kB for each 40 Gb/s
  int64_t most_ppm = 10'000;  // how many of a million are marked just below that
  Picoseconds notify_ps = 50'000'000;  // a receiver tells of marks once in so long
  Picoseconds timer_ps = 55'000'000;   // a sender recovers a step after so long, and after so many bytes
  int64_t counter_bytes = 10'000'000;
};

/// What packets are on a link, and the buffer behind it.
struct LinkFormat {
  int64_t payload_bytes = 4096;    // of a packet
  int64_t header_bytes = 82;       // RoCEv2 on Ethernet, with preamble and gap
  int64_t buffer_bytes = 131'072;  // of each link into a switch, for each virtual channel
  int64_t ack_bytes = 0;           // that as many packets as `ack_every` take besides, as acknowledgements of PCIe do
  int64_t ack_every = 1;
  Picoseconds split_ps = 0;  // that a NIC takes for each packet it makes of a larger one, beside the link's work
  Picoseconds gap_ps = 0;    // from one message that a NIC sends to the next, at least; none is later by its own

  /// How many packets so many bytes of a message are.
  int64_t packets(int64_t payload) const {
    return payload <= payload_bytes ? 1 : (payload + payload_bytes - 1) / payload_bytes;
  }
  /// What the link carries for them.
  int64_t link_bytes(int64_t payload) const {
    const int64_t count = packets(payload);
    const int64_t acks = ack_bytes == 0 ? 0 : (count + ack_every - 1) / ack_every;
    return payload + count * header_bytes + acks * ack_bytes;
  }
};

/// How a network of packets works.
struct PacketSettings {
  /// The formats that there are; packets of the first are what moves as one, whatever they are cut into on a link.
  std::vector<LinkFormat> formats{LinkFormat{}};
  std::vector<uint8_t> format_of;  // of each link; empty: all have the first
  /// With credits, of each link the ring of buffers that its own is in, -1: none; empty: no link is in one. Packets
  /// take a whole place there, and enter where they leave another one free: so no ring ever fills up (bubble flow
  /// control, Carrion et al. 1997).
  std::vector<int32_t> ring_of;
  int64_t train = 1;  // packets that move as one
  FlowControl flow_control = FlowControl::kPfc;
  Arbitration arbitration = Arbitration::kRoundRobin;
  int32_t channels = 0;  // virtual channels of each link; 0: one, or as many as keep buffers from waiting in a circle
  RateSettings rate;
  Picoseconds retransmit_ps = 67'108'864'000;  // after so long without progress: 4.096 us * 2^14, as perftest has it
  uint64_t seed = 0;                           // of the marks
};

/// How often which times came: exact count, sum and extremes, and buckets that are 1/128 wide of what they hold.
class Latencies {
 public:
  void add(Picoseconds time) {
    count_++;
    sum_ += time;
    most_ = std::max(most_, time);
    if (buckets_.empty()) buckets_.resize((64 - kPrecisionBits) << kPrecisionBits, 0);
    buckets_[bucket_of(time)]++;
  }

  int64_t count() const { return count_; }
  double mean_ps() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  Picoseconds most_ps() const { return most_; }

  /// Calls `use(time, count)` for each bucket that holds any, the least time first; a bucket's time is its middle.
  template <typename Use>
  void for_each(Use use) const {
    for (size_t at = 0; at < buckets_.size(); at++) {
      if (buckets_[at] > 0) use(middle_of(at), buckets_[at]);
    }
  }

 private:
  static constexpr int kPrecisionBits = 7;

  /// Below 2^8 a bucket a picosecond; from there on 2^7 buckets for each power of two.
  static size_t bucket_of(Picoseconds time) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(time))) - kPrecisionBits - 1);
    return (static_cast<size_t>(shift) << kPrecisionBits) + static_cast<size_t>(time >> shift);
  }

  static Picoseconds middle_of(size_t bucket) {
    const size_t shift = bucket < (size_t{2} << kPrecisionBits) ? 0 : (bucket >> kPrecisionBits) - 1;
    const auto lowest = static_cast<Picoseconds>(bucket - (shift << kPrecisionBits)) << shift;
    return lowest + ((Picoseconds{1} << shift) - 1) / 2;
  }

  int64_t count_ = 0;
  __int128 sum_ = 0;
  Picoseconds most_ = 0;
  std::vector<int64_t> buckets_;  // of times; none until one comes
};

/// What happened to packets at one link, and in the buffer at its far end.
struct PacketLinkUse {
  int64_t packets = 0;       // that it carried; of trains all
  int64_t waiting_most = 0;  // bytes that waited for it at its switch
  double waiting_mean = 0;
  int64_t buffer_most = 0;  // bytes that waited in the buffer behind it
  double buffer_mean = 0;
  int64_t pauses = 0;  // how often the buffer behind it stopped it
  Picoseconds paused_ps = 0;
  int64_t marked = 0;   // packets that it marked
  int64_t dropped = 0;  // packets for which the buffer behind it had no room
};

/// What a simulation with packets says beside times.
struct PacketUse {
  std::vector<PacketLinkUse> links;
  Latencies messages,
      packets;                // from when it is ready to be sent; from its first byte on a link to its last byte there
  LinkBins waiting;           // bytes that wait for each link, times nanoseconds, over time; empty unless asked for
  int64_t notifications = 0;  // that receivers sent for marks
  int64_t sent_again_bytes = 0;
  int32_t channels = 1;
};

}  // namespace hocket::simulator
