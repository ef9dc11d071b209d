#include "hocket/simulator/packets.hpp"

#include <limits>
#include <string>
#include <utility>

#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/simulator/buffer_circle.hpp"
#include "hocket/simulator/message_graph.hpp"
#include "packets.hpp"

namespace hocket::bind {
namespace {

using namespace simulator;

void require(bool holds, const char* what) {
  if (!holds) throw SimulationError(std::string("packets: ") + what);
}

/// The columns of the formats, as Python hands them in.
std::vector<LinkFormat> formats_of(In<int64_t> payload, In<int64_t> header, In<int64_t> buffer, In<int64_t> ack,
                                   In<int64_t> ack_every, In<int64_t> split, In<int64_t> gap, int64_t train) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  std::vector<LinkFormat> formats;
  for (size_t at = 0; at < payload.size(); at++) {
    const LinkFormat format{.payload_bytes = payload.data()[at],
                            .header_bytes = header.data()[at],
                            .buffer_bytes = buffer.data()[at],
                            .ack_bytes = ack.data()[at],
                            .ack_every = ack_every.data()[at],
                            .split_ps = split.data()[at],
                            .gap_ps = gap.data()[at]};
    require(format.payload_bytes > 0 && format.payload_bytes <= kMost, "the size of a packet is not positive");
    require(format.header_bytes >= 0 && format.header_bytes <= kMost, "the size of a header is negative or too large");
    require(format.ack_bytes >= 0 && format.ack_bytes <= kMost && format.ack_every > 0, "no such acknowledgements");
    require(format.split_ps >= 0 && format.split_ps <= kPicosecondsPerSecond, "no such time to split packets");
    require(format.gap_ps >= 0 && format.gap_ps <= kPicosecondsPerSecond, "no such gap between messages");
    formats.push_back(format);
  }
  require(!formats.empty(), "they have no format");
  require(train > 0 && train <= std::numeric_limits<uint16_t>::max(), "no such number of packets in a train");
  require(train <= kMost / formats[0].payload_bytes, "a train is larger than 1 GiB");
  const int64_t whole = train * formats[0].payload_bytes;
  for (const LinkFormat& format : formats) {
    const int64_t each = format.payload_bytes + format.header_bytes + format.ack_bytes;
    require(format.packets(whole) <= kMost / each, "a train is larger than 1 GiB");
    require(format.buffer_bytes >= format.link_bytes(whole), "a buffer holds less than a packet");
  }
  return formats;
}

void init_settings(PacketSettings* self, In<int64_t> payload, In<int64_t> header, In<int64_t> buffer, In<int64_t> ack,
                   In<int64_t> ack_every, In<int64_t> split, In<int64_t> gap, In<uint8_t> format_of,
                   In<int32_t> ring_of, int64_t train, uint8_t flow_control, uint8_t arbitration, int32_t channels,
                   bool marks, int64_t mark_from_bytes, int64_t mark_all_bytes, int64_t mark_ppm, int64_t retransmit_ps,
                   uint64_t seed) {
  require(channels > 0 && channels <= std::numeric_limits<uint8_t>::max(), "no such number of virtual channels");
  require(flow_control <= static_cast<uint8_t>(FlowControl::kNone), "unknown flow control");
  require(arbitration <= static_cast<uint8_t>(Arbitration::kFifo), "unknown arbitration");
  require(mark_from_bytes >= 0 && mark_all_bytes >= 0 && mark_ppm >= 0 && mark_ppm <= 1'000'000, "no such marks");
  require(retransmit_ps > 0, "the time after which it is sent again is not positive");
  std::vector<LinkFormat> formats = formats_of(payload, header, buffer, ack, ack_every, split, gap, train);
  for (const uint8_t format : view(format_of))
    require(format < formats.size(), "a link has a format that is not there");
  new (self) PacketSettings{
      .formats = std::move(formats),
      .format_of = copy(format_of),
      .ring_of = copy(ring_of),
      .train = train,
      .flow_control = static_cast<FlowControl>(flow_control),
      .arbitration = static_cast<Arbitration>(arbitration),
      .channels = channels,
      .rate = {.active = marks, .least_bytes = mark_from_bytes, .most_bytes = mark_all_bytes, .most_ppm = mark_ppm},
      .retransmit_ps = retransmit_ps,
      .seed = seed};
}

nb::tuple waits_of(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph) {
  BufferWaits found;
  {
    nb::gil_scoped_release release;
    found = buffer_waits(job, plans, graph);
  }
  return nb::make_tuple(give(std::move(found.circle)), found.most_buffers, give(std::move(found.ring_of)));
}

nb::dict graph_of(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                  const PacketSettings& packets, int64_t most_steps) {
  MessageGraph found;
  {
    nb::gil_scoped_release release;
    found = message_graph(job, plans, graph, packets, most_steps);
  }
  nb::dict result;
  result["kind"] = give(std::move(found.kind));
  result["amount"] = give(std::move(found.amount));
  result["place"] = give(std::move(found.place));
  result["needs"] = give(std::move(found.needs));
  result["link_offset"] = give(std::move(found.link_offset));
  result["links"] = give(std::move(found.links));
  result["from_step"] = give(std::move(found.from));
  result["to_step"] = give(std::move(found.to));
  result["begin"] = give(std::move(found.begin));
  result["end"] = give(std::move(found.end));
  return result;
}

}  // namespace

nb::dict latencies(const Latencies& found) {
  std::vector<Picoseconds> time;
  std::vector<int64_t> count;
  found.for_each([&](Picoseconds at, int64_t times) {
    time.push_back(at);
    count.push_back(times);
  });
  nb::dict result;
  result["time_ps"] = give(std::move(time));
  result["count"] = give(std::move(count));
  result["mean_ps"] = found.mean_ps();
  result["most_ps"] = found.most_ps();
  return result;
}

nb::dict packet_use(PacketUse use) {
  nb::dict result;
  result["packets"] = column(use.links, &PacketLinkUse::packets);
  result["waiting_most_bytes"] = column(use.links, &PacketLinkUse::waiting_most);
  result["waiting_mean_bytes"] = column(use.links, &PacketLinkUse::waiting_mean);
  result["buffer_most_bytes"] = column(use.links, &PacketLinkUse::buffer_most);
  result["buffer_mean_bytes"] = column(use.links, &PacketLinkUse::buffer_mean);
  result["pauses"] = column(use.links, &PacketLinkUse::pauses);
  result["paused_ps"] = column(use.links, &PacketLinkUse::paused_ps);
  result["marked"] = column(use.links, &PacketLinkUse::marked);
  result["dropped"] = column(use.links, &PacketLinkUse::dropped);
  result["message_latency"] = latencies(use.messages);
  result["packet_latency"] = latencies(use.packets);
  result["bin_ps"] = use.waiting.width_ps();
  result["bin_waiting"] = give(std::vector<Picoseconds>(use.waiting.busy_ps()));
  result["notifications"] = use.notifications;
  result["sent_again_bytes"] = use.sent_again_bytes;
  result["channels"] = use.channels;
  return result;
}

void bind_packets(nb::module_& m) {
  nb::class_<PacketSettings>(m, "PacketSettings")
      .def("__init__", &init_settings, "payload_bytes"_a, "header_bytes"_a, "buffer_bytes"_a, "ack_bytes"_a,
           "ack_every"_a, "split_ps"_a, "gap_ps"_a, "format_of"_a, "ring_of"_a, "train"_a, "flow_control"_a,
           "arbitration"_a, "channels"_a, "marks"_a, "mark_from_bytes"_a, "mark_all_bytes"_a, "mark_ppm"_a,
           "retransmit_ps"_a, "seed"_a);
  m.def("message_graph", &graph_of, "job"_a, "plans"_a, "graph"_a, "packets"_a, "most_steps"_a);
  m.def("buffer_waits", &waits_of, "job"_a, "plans"_a, "graph"_a);
}

}  // namespace hocket::bind
