#include "hocket/synthesizer/routing/paths.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"

namespace hocket::synthesizer {
namespace {

// Times in weights are parts of 2^20 of the longest; prices go from 1 to 2^24, with 8 more bits behind the point.
constexpr int kTimeBits = 20;
constexpr int64_t kDoublings = 24;
// A pass looks at about this many links: 0.2 s.
constexpr int64_t kPassWork = 10'000'000;

int64_t largest(std::span<const int64_t> values) {
  int64_t result = 0;
  for (const int64_t value : values) result = std::max(result, value);
  return result;
}

}  // namespace

PacketRouter::PacketRouter(const topology::Graph& graph, const Packets& packets, std::span<const uint8_t> relays,
                           bool blocking, uint64_t seed)
    : graph_(graph),
      packets_(packets),
      blocking_(blocking),
      random_(seed),
      tree_(graph, topology::passable_nodes(graph, relays)),
      path_(packets.size()),
      load_(graph.links().size()),
      is_changed_(graph.links().size()) {
  check_size(packets.dst.size(), packets.src.size(), "the destinations of packets");
  check_size(packets.bytes.size(), packets.src.size(), "the bytes of packets");
  check_ids(packets.src, graph.num_ranks(), "the sources of packets");
  check_ids(packets.dst, graph.num_ranks(), "the destinations of packets");
  check_within(packets.bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of packets");
  const int64_t bytes = largest(packets.bytes);
  for (const topology::Link& link : graph.links()) {
    const Picoseconds serialization = serialization_ps(bytes, link.bandwidth);
    travel_.push_back(add_ps(link.latency_ps, serialization));
    hold_.push_back(blocking ? travel_.back() : serialization);
  }
  const __int128 longest = std::max<int64_t>(1, largest(travel_));
  for (auto* times : {&hold_, &travel_}) {
    for (int64_t& time : *times) time = static_cast<int64_t>((static_cast<__int128>(time) << kTimeBits) / longest);
  }
  weight_.resize(load_.size());
  make_batches();
}

// Batches of one source, for one search of cheapest ways serves all of them.
void PacketRouter::make_batches() {
  order_.resize(packets_.size());
  std::iota(order_.begin(), order_.end(), int64_t{0});
  std::ranges::stable_sort(order_, {}, [&](int64_t packet) { return packets_.src[packet]; });
  const int64_t links = static_cast<int64_t>(load_.size());
  // One tree of cheapest ways serves all packets of a batch, which share a source; the more there are, the larger
  // batches are, and the older the prices that their last packets go by.
  const int64_t size = std::max<int64_t>(1, packets_.size() * links / kPassWork);
  for (int64_t first = 0; first < packets_.size();) {
    int64_t last = first;
    while (last < packets_.size() && packets_.src[order_[last]] == packets_.src[order_[first]]) last++;
    for (; first < last; first = std::min(first + size, last)) {
      batches_.push_back({first, std::min(first + size, last)});
    }
  }
}

void PacketRouter::shuffle(int64_t first, int64_t last) {
  for (int64_t at = last - 1; at > first; at--) {
    std::swap(order_[at], order_[first + static_cast<int64_t>(random_.below(at - first + 1))]);
  }
}

void PacketRouter::pass(Picoseconds target_ps, int sharpness, const Stop& stop) {
  check_within(sharpness, 1, 1 << 10, "the sharpness of prices");
  busiest_ = std::max<Picoseconds>({1, target_ps, busiest()});
  sharpness_ = sharpness;
  for (size_t link = 0; link < weight_.size(); link++) weight_[link] = weight(static_cast<int32_t>(link));
  for (size_t first = 0, last = 0; first < order_.size(); first = last) {  // other batches of a source than last time
    while (last < order_.size() && packets_.src[order_[last]] == packets_.src[order_[first]]) last++;
    shuffle(first, last);
  }
  for (size_t at = batches_.size(); at > 1; at--) std::swap(batches_[at - 1], batches_[random_.below(at)]);
  for (const Batch& batch : batches_) {
    stop.check();
    route(batch);
  }
}

void PacketRouter::route(const Batch& batch) {
  targets_.clear();
  for (int64_t at = batch.first; at < batch.last; at++) {
    load(order_[at], -1);
    targets_.push_back(packets_.dst[order_[at]]);
  }
  refresh_weights();
  const int32_t source = packets_.src[order_[batch.first]];
  tree_.grow(source, weight_, targets_);
  for (int64_t at = batch.first; at < batch.last; at++) {
    const int64_t packet = order_[at];
    std::vector<int32_t>& path = path_[packet];
    path.clear();
    for (int32_t node = packets_.dst[packet]; node != source; node = graph_.links()[path.back()].src) {
      const int32_t link = tree_.link_into(node);
      if (link < 0) {
        throw Infeasible("no path of links joins rank " + std::to_string(source) + " and rank " +
                         std::to_string(packets_.dst[packet]) + " in this direction; connect them");
      }
      path.push_back(link);
    }
    std::ranges::reverse(path);
    load(packet, 1);
  }
}

void PacketRouter::refresh_weights() {
  const Picoseconds before = busiest_;
  for (const int32_t link : changed_) busiest_ = std::max(busiest_, load_[link]);
  // Prices are relative to the busiest link: when that grows, all change, else only those of links that were touched.
  if (busiest_ > before) {
    for (size_t link = 0; link < weight_.size(); link++) weight_[link] = weight(static_cast<int32_t>(link));
  } else {
    for (const int32_t link : changed_) weight_[link] = weight(link);
  }
  for (const int32_t link : changed_) is_changed_[link] = 0;
  changed_.clear();
}

void PacketRouter::load(int64_t packet, int sign) {
  for (std::span<const int32_t> way = path_[packet]; !way.empty();) {
    const Hop hop = first_hop(graph_, way, packets_.bytes[packet], blocking_);
    for (const int32_t link : hop.links) {
      load_[link] += sign * hop.hold;
      if (!std::exchange(is_changed_[link], 1)) changed_.push_back(link);
    }
    way = way.subspan(hop.links.size());
  }
}

int64_t PacketRouter::weight(int32_t link) const {
  // The price is 2^(24 - sharpness * (1 - load / busiest)): links near the limit cost without end compared with idle
  // ones. The travel time is added so that of equally loaded ways the quickest wins, 1 so that no way is free. 16 bits
  // behind the point
  const __int128 below = static_cast<__int128>(busiest_ - load_[link]) * (sharpness_ << 16) / busiest_;
  const int64_t doublings = std::max<int64_t>(0, (kDoublings << 16) - static_cast<int64_t>(below));
  const int64_t price = (256 + (doublings >> 8 & 255)) << (doublings >> 16);  // 2^x, linear between powers
  return hold_[link] * price + travel_[link] * 256 + 1;
}

Picoseconds PacketRouter::busiest() const { return within_horizon(largest(load_)); }

Paths PacketRouter::paths() const {
  Paths paths;
  for (const std::vector<int32_t>& path : path_) {
    paths.links.insert(paths.links.end(), path.begin(), path.end());
    paths.offset.push_back(static_cast<int64_t>(paths.links.size()));
  }
  return paths;
}

}  // namespace hocket::synthesizer
