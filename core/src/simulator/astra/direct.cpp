#include <algorithm>

#include "algorithms.hpp"
#include "exchange.hpp"

namespace hocket::simulator::astra {
namespace {

/// All others in turn, outwards from the rank, with messages of one size.
struct Others {
  LogicalRing ring;
  int32_t direction;
  int32_t to_position, from_position;
  int64_t bytes;

  int32_t to() const { return ring.rank_at(to_position); }
  int32_t from() const { return ring.rank_at(from_position); }
  void advance() {
    to_position = after(to_position, direction);
    from_position = after(from_position, -direction);
  }
  int32_t after(int32_t position, int32_t step) const {
    const int32_t next = ring.step(position, step);
    return next == ring.position ? ring.step(next, step) : next;
  }
};

}  // namespace

std::unique_ptr<Phase> make_direct(const PhasePlan& plan, const Endpoint& endpoint) {
  const LogicalRing& ring = plan.ring;
  const int64_t others = ring.size - 1;
  const int64_t window = plan.window < 0 ? others : std::min<int64_t>(plan.window, others);
  const bool is_all_reduce = plan.kind == Kind::kAllReduce;
  const Rounds rounds{window, is_all_reduce ? 2 * others : others, ring.members ? others * window : window,
                      is_all_reduce};
  const Others peers{ring, plan.direction, ring.step(ring.position, plan.direction),
                     ring.step(ring.position, -plan.direction), message_bytes(plan)};
  return std::make_unique<Exchange<Others>>(plan, rounds, peers, endpoint);
}

}  // namespace hocket::simulator::astra
