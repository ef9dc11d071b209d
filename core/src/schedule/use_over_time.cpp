#include "hocket/schedule/use_over_time.hpp"

#include <algorithm>

#include "hocket/columns.hpp"
#include "hocket/schedule/link_use.hpp"

namespace hocket::schedule {
namespace {

/// The equal parts of a time, whose edges are rounded down.
struct Parts {
  Picoseconds whole;
  int64_t count;

  Picoseconds edge(int64_t part) const { return static_cast<Picoseconds>(static_cast<__int128>(whole) * part / count); }
  /// The part that `at` < `whole` is in: the last one that begins by then.
  int64_t of(Picoseconds at) const {
    auto part = static_cast<int64_t>(static_cast<__int128>(at) * count / whole);
    while (part + 1 < count && edge(part + 1) <= at) part++;
    return part;
  }
};

}  // namespace

std::vector<Picoseconds> use_over_time(const Transfers& transfers, std::span<const int64_t> chunk_bytes, bool blocking,
                                       int64_t bins) {
  check_size(chunk_bytes.size(), static_cast<size_t>(transfers.num_chunks), "the bytes of chunks");
  std::vector<Picoseconds> busy(transfers.graph->links().size() * bins, 0);
  if (transfers.size() == 0) return busy;
  const RouteCost cost(transfers);
  const LinkUse use(transfers, blocking);
  const Parts parts{*std::ranges::max_element(transfers.finish), bins};
  for (int64_t id = 0; id < transfers.size(); id++) {
    const int32_t route = transfers.route[id];
    const Picoseconds start = transfers.start[id];
    const Picoseconds hold = cost.hold(route, chunk_bytes[transfers.chunk[id]], blocking);
    const Picoseconds end = std::min(parts.whole, add_ps(start, hold));
    for (int64_t hop = transfers.route_offset[route]; hop < transfers.route_offset[route + 1]; hop++) {
      Picoseconds* of_link = busy.data() + transfers.route_links[hop] * bins;
      // Differences of what was taken until then, so that rounding leaves nothing of a transfer out.
      Picoseconds taken = 0;
      for (int64_t part = parts.of(start); part < bins && parts.edge(part) < end; part++) {
        const Picoseconds until = use.share(hop, std::min(end, parts.edge(part + 1)) - start);
        of_link[part] += until - taken;
        taken = until;
      }
    }
  }
  return busy;
}

}  // namespace hocket::schedule
