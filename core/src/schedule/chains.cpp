#include "hocket/schedule/chains.hpp"

#include <algorithm>
#include <vector>

#include "hocket/error.hpp"

namespace hocket::schedule {

double Chains::longest(std::span<const double> step) const {
  if (step.size() != gates_.waits.size()) throw ScheduleError("chains: a step for each transfer is needed");
  double last = 0;
  std::vector<double> fed(gates_.previous.size(), 0), open(gates_.previous.size(), -1);
  std::vector<int32_t> closed;
  for (size_t id = 0; id < step.size(); id++) {
    // All that feeds a gate has a smaller id than what waits for it: when the first asks, it is known.
    for (int32_t gate = gates_.waits[id]; gate >= 0 && open[gate] < 0; gate = gates_.previous[gate]) {
      closed.push_back(gate);
    }
    for (; !closed.empty(); closed.pop_back()) {
      const int32_t gate = closed.back(), before = gates_.previous[gate];
      open[gate] = std::max(fed[gate], before < 0 ? 0 : open[before]);
    }
    const int32_t wait = gates_.waits[id], feed = gates_.feeds[id];
    const double done = (wait < 0 ? 0 : open[wait]) + step[id];
    if (feed >= 0) fed[feed] = std::max(fed[feed], done);
    last = std::max(last, done);
  }
  return last;
}

}  // namespace hocket::schedule
