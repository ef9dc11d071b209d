#include "hocket/simulator/traffic.hpp"

#include <utility>

#include "bind.hpp"
#include "hocket/error.hpp"
#include "packets.hpp"
#include "paths.hpp"

namespace hocket::bind {
namespace {

using namespace simulator;
using topology::Graph;

nb::dict traffic(const Graph& graph, In<uint8_t> stores, const PacketSettings& packets, int64_t message_bytes,
                 In<int64_t> near, In<int64_t> far, int64_t far_ppm, const Columns& paths, In<uint8_t> is_far,
                 In<int64_t> gap_ps, int32_t window, bool adaptive, uint64_t seed, Picoseconds from_ps,
                 Picoseconds until_ps, bool drains, int32_t bins, In<uint8_t> outer) {
  LinkSettings links = LinkSettings::plain(graph);
  if (stores.size() != links.stores.size()) throw SimulationError("expected one setting a link");
  links.stores = copy(stores);
  const TrafficSettings settings{.message_bytes = message_bytes,
                                 .near = copy(near),
                                 .far = copy(far),
                                 .far_ppm = far_ppm,
                                 .paths = paths_of(paths),
                                 .is_far = copy(is_far),
                                 .gap_ps = copy(gap_ps),
                                 .window = window,
                                 .adaptive = adaptive,
                                 .seed = seed,
                                 .from_ps = from_ps,
                                 .until_ps = until_ps,
                                 .drains = drains,
                                 .bins = bins,
                                 .outer = copy(outer)};
  TrafficOutcome found = unlocked([&] { return run_traffic(graph, links, packets, settings); });
  nb::dict result;
  result["made"] = found.made;
  result["arrived"] = found.arrived;
  result["near_arrived"] = found.near_arrived;
  result["far_arrived"] = found.far_arrived;
  result["near"] = latencies(found.near);
  result["far"] = latencies(found.far);
  nb::list parts;
  for (const Latencies& part : found.parts) parts.append(latencies(part));
  result["parts"] = parts;
  result["arrived_from"] = give(std::move(found.arrived_from));
  result["link_busy_ps"] = column(found.links, &LinkUse::busy_ps);
  result["link_bytes"] = column(found.links, &LinkUse::bytes);
  result["bin_ps"] = found.bins.width_ps();
  result["bin_busy_ps"] = give(std::vector<Picoseconds>(found.bins.busy_ps()));
  result["packets"] = packet_use(std::move(found.packets));
  result["events"] = found.events;
  return result;
}

}  // namespace

void bind_traffic(nb::module_& m) {
  m.def("traffic", &traffic, "graph"_a, "stores"_a, "packets"_a, "message_bytes"_a, "near"_a, "far"_a, "far_ppm"_a,
        "paths"_a, "is_far"_a, "gap_ps"_a, "window"_a, "adaptive"_a, "seed"_a, "from_ps"_a, "until_ps"_a, "drains"_a,
        "bins"_a, "outer"_a);
}

}  // namespace hocket::bind
