#include "algorithms.hpp"
#include "exchange.hpp"

namespace hocket::simulator::astra {
namespace {

/// The neighbours, with messages of one size.
struct Neighbours {
  int32_t next, previous;
  int64_t bytes;

  int32_t to() const { return next; }
  int32_t from() const { return previous; }
  void advance() {}
};

}  // namespace

std::unique_ptr<Phase> make_ring(const PhasePlan& plan, const Endpoint& endpoint) {
  const LogicalRing& ring = plan.ring;
  const int64_t n = ring.size;
  const int64_t messages = plan.kind == Kind::kAllReduce  ? 2 * (n - 1)
                           : plan.kind == Kind::kAllToAll ? n * (n - 1) / 2
                                                          : n - 1;
  const Neighbours peers{ring.rank_at(ring.step(ring.position, plan.direction)),
                         ring.rank_at(ring.step(ring.position, -plan.direction)), message_bytes(plan)};
  return std::make_unique<Exchange<Neighbours>>(plan, Rounds{1, messages, n - 1, false}, peers, endpoint);
}

}  // namespace hocket::simulator::astra
