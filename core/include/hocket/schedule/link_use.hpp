#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "hocket/schedule/transfers.hpp"
#include "hocket/time.hpp"

namespace hocket::schedule {

/// Who is on the links of a network as transfers take them one after the other.
///
/// On its way from a rank to the next a transfer takes the bandwidth of the slowest link there on all of them. A link
/// carries as many transfers at once as it has bandwidth for: one, or on a trunk that is wider than what leads to it,
/// several. `exclusive` links carry one whatever its bandwidth (TACOS' model, where transfers block). None overtakes
/// another on a link: transfers take it in the order in which they are asked for, at times that never go back.
/// A hop is a position in the routes' links.
class LinkUse {
 public:
  /// Throws ScheduleError where a route passes a link twice. The routes must outlive it.
  LinkUse(const RouteTable& routes, bool exclusive);

  /// When the link of a hop has bandwidth left for a transfer there, `from` or later.
  Picoseconds room(int64_t hop, Picoseconds from) {
    const int32_t link = routes_.route_links[hop];
    return trunk_[link] < 0 ? std::max(from, free_[link]) : room_on_trunk(hop, from);
  }
  /// When all links of the route have.
  Picoseconds earliest(int32_t route, Picoseconds from);
  /// Puts a transfer on the link of a hop from `start`, when there must be room, for `hold` > 0.
  void take(int64_t hop, Picoseconds start, Picoseconds hold, int64_t id) {
    const int32_t link = routes_.route_links[hop];
    const Picoseconds end = add_ps(start, hold);
    last_[link] = id;
    free_[link] = std::max(free_[link], end);
    if (trunk_[link] >= 0) take_trunk(hop, start, end);
  }
  /// Puts it on all links of its route.
  void take_route(int32_t route, Picoseconds start, Picoseconds hold, int64_t id) {
    for (int64_t hop = routes_.route_offset[route]; hop < routes_.route_offset[route + 1]; hop++) {
      take(hop, start, hold, id);
    }
  }
  /// The transfer that came last to a link, -1 before the first, and when the link is empty.
  int64_t last(int32_t link) const { return last_[link]; }
  Picoseconds free(int32_t link) const { return free_[link]; }
  /// How much of its link's time a transfer at a hop takes that is there for `hold`: all, or of a trunk its part.
  Picoseconds share(int64_t hop, Picoseconds hold) const {
    const int32_t trunk = trunk_[routes_.route_links[hop]];
    if (trunk < 0) return hold;
    return static_cast<Picoseconds>(static_cast<__int128>(hold) * rates_[hop] / trunks_[trunk].bandwidth);
  }

 private:
  struct Tenant {
    Picoseconds end;
    Bandwidth rate;
    bool operator>(const Tenant& other) const { return end > other.end; }
  };
  /// A link with bandwidth for several. Invariant: `used` is the sum of its tenants' rates, and within its bandwidth.
  struct Trunk {
    std::priority_queue<Tenant, std::vector<Tenant>, std::greater<>> tenants;
    Bandwidth bandwidth, used = 0;
    Picoseconds start = 0;  // of the transfer that came last
  };

  Picoseconds room_on_trunk(int64_t hop, Picoseconds from);
  void take_trunk(int64_t hop, Picoseconds start, Picoseconds end);

  const RouteTable& routes_;
  std::vector<Picoseconds> free_;
  std::vector<int64_t> last_;
  std::vector<int32_t> trunk_;  // of each link: position in `trunks_`; -1: it carries one transfer at a time
  std::vector<Trunk> trunks_;
  std::vector<Bandwidth> rates_;  // of each hop
};

}  // namespace hocket::schedule
