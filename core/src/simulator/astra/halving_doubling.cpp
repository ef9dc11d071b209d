#include <bit>

#include "algorithms.hpp"
#include "exchange.hpp"

namespace hocket::simulator::astra {
namespace {

/// Partners at doubling (or halving) distances, with messages of halving (or doubling) sizes; an all_reduce turns round
/// at the largest distance.
struct Partners {
  LogicalRing ring;
  int32_t offset;
  int64_t bytes;
  bool grows;  // the distance
  bool turns;

  int32_t to() const {
    const bool is_first = offset == 0 || ring.position / offset % 2 == 0;
    return ring.rank_at(ring.step(ring.position, is_first ? offset : -offset));
  }
  int32_t from() const { return to(); }
  void advance() {
    scale();
    if (turns && grows && offset == ring.size) {
      grows = false;
      scale();
    }
  }
  void scale() {
    offset = grows ? offset * 2 : offset / 2;
    bytes = grows ? bytes / 2 : bytes * 2;
  }
};

}  // namespace

std::unique_ptr<Phase> make_halving_doubling(const PhasePlan& plan, const Endpoint& endpoint) {
  const int64_t steps = std::bit_width(static_cast<uint32_t>(plan.ring.size)) - 1;
  const bool is_all_reduce = plan.kind == Kind::kAllReduce;
  const Rounds rounds{1, is_all_reduce ? 2 * steps : steps, steps - 1, false};
  const Partners peers = plan.kind == Kind::kAllGather
                             ? Partners{plan.ring, plan.ring.size / 2, plan.bytes, false, false}
                             : Partners{plan.ring, 1, plan.bytes / 2, true, is_all_reduce};
  return std::make_unique<Exchange<Partners>>(plan, rounds, peers, endpoint);
}

}  // namespace hocket::simulator::astra
