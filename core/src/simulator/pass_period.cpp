#include "pass_period.hpp"

#include <algorithm>
#include <limits>

namespace hocket::simulator {
namespace {

constexpr int64_t kLongest = 12;  // passes of a period that is looked for

/// The begins and ends of the nodes of passes.
class PassTimes {
 public:
  PassTimes(const Outcome& outcome, int64_t count, int64_t tail)
      : outcome_(outcome), count_(count), alike_((std::ssize(outcome.start_ps) - 1) / count - tail) {
    for (int64_t node = 0; node < count; node++) {
      bool takes_time = false;
      for (int64_t pass = 0; pass < alike_ + tail; pass++) takes_time |= finish(pass, node) > outcome.finish_ps[0];
      if (takes_time) nodes_.push_back(node);
    }
    Picoseconds last = 0;
    for (int64_t pass = 0; pass < alike_ + tail; pass++) {
      Picoseconds first = std::numeric_limits<Picoseconds>::max();
      for (const int64_t node : nodes_) {
        first = std::min(first, start(pass, node));
        last = std::max(last, finish(pass, node));
      }
      first_.push_back(first);
      last_.push_back(last);
    }
    for (int64_t pass = std::ssize(first_) - 1; pass > 0; pass--) {
      first_[pass - 1] = std::min(first_[pass - 1], first_[pass]);
    }
  }

  /// A period of so many passes, if there is one.
  std::optional<PassPeriod> repeated(int64_t passes) const {
    // Until the first pass of the tail begins everything is as if there were no tail.
    const Picoseconds end = first_[alike_];
    int64_t whole = alike_;  // so many passes have ended by then
    while (whole > 0 && last_[whole - 1] > end) whole--;
    const int64_t latest = whole - passes;  // passes before it and `passes` later ones are compared
    if (latest <= passes || nodes_.empty()) return {};
    const Picoseconds later = finish(latest - 1 + passes, nodes_[0]) - finish(latest - 1, nodes_[0]);
    int64_t from = latest;  // from this pass on each is like that `passes` later
    while (from > 0 && is_alike(from - 1, from - 1 + passes, later)) from--;
    if (later <= 0 || latest - from < 2 * passes) return {};
    // The instant, as late as it can be: of the later instant's passes none has begun that is not compared.
    const Picoseconds instant = first_[whole] - 1 - later;
    const Picoseconds settled = from > 0 ? last_[from - 1] : 0;  // nothing that came before is under way
    const bool is_settled = settled <= instant && last_[from + passes - 1] <= instant + later;
    if (!is_settled || first_[latest] <= instant || !is_known(from, whole, settled, instant)) return {};
    return PassPeriod{passes, later};
  }

 private:
  Picoseconds start(int64_t pass, int64_t node) const { return outcome_.start_ps[1 + pass * count_ + node]; }
  Picoseconds finish(int64_t pass, int64_t node) const { return outcome_.finish_ps[1 + pass * count_ + node]; }

  bool is_alike(int64_t pass, int64_t other, Picoseconds later) const {
    for (const int64_t node : nodes_) {
      if (start(other, node) - start(pass, node) != later || finish(other, node) - finish(pass, node) != later) {
        return false;
      }
    }
    return true;
  }

  /// Whether what is under way at `instant`, all of the passes `from` to `whole`, began when earlier passes were over:
  /// then it has been beside nothing but what is compared.
  bool is_known(int64_t from, int64_t whole, Picoseconds settled, Picoseconds instant) const {
    for (int64_t pass = from; pass < whole; pass++) {
      for (const int64_t node : nodes_) {
        if (start(pass, node) < settled && finish(pass, node) > instant) return false;
      }
    }
    return true;
  }

  const Outcome& outcome_;
  const int64_t count_, alike_;
  std::vector<int64_t> nodes_;      // those of a pass that are not done at the launch already, in whatever pass
  std::vector<Picoseconds> first_;  // when something of a pass or a later one begins
  std::vector<Picoseconds> last_;   // when all of a pass and the earlier ones is done
};

}  // namespace

std::optional<PassPeriod> period_of(const Outcome& outcome, int64_t count, int64_t tail) {
  const PassTimes times(outcome, count, tail);
  for (int64_t passes = 1; passes <= kLongest; passes++) {
    if (const auto found = times.repeated(passes)) return found;
  }
  return {};
}

}  // namespace hocket::simulator
