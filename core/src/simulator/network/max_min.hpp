#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/time.hpp"

namespace hocket::simulator {

/// Bandwidth in units of 1/720720 byte/s (the least common multiple of 1..16: such parts of a link are exact).
using Units = __int128;
inline constexpr int64_t kUnitsPerByte = 720'720;

/// The rate of a flow for each unit of its weight: `units` are shared by flows that together weigh `among`. `among` 0:
/// none.
struct Rate {
  Units units = 0;
  int64_t among = 0;

  // Cross products fit 128 bits as long as weights do not come to 2^44, as units are below 2^83.
  friend bool operator<(const Rate& a, const Rate& b) {
    return (a.among | b.among) >> 44 == 0 ? a.units * b.among < b.units * a.among : is_below(a, b);
  }
  friend bool operator==(const Rate& a, const Rate& b) {
    if ((a.among | b.among) >> 44 != 0) return (a.among == 0) == (b.among == 0) && !is_below(a, b) && !is_below(b, a);
    return a.units * b.among == b.units * a.among && (a.among == 0) == (b.among == 0);
  }

 private:
  /// `<` whatever the weights.
  static bool is_below(Rate a, Rate b);
};

/// Max-min fair sharing of links among flows by their weights, kept up to date as flows come and go.
///
/// An allocation is max-min fair when every flow is held by some link: the link is full and no flow on it has more for
/// each unit of its weight. That is what is meant by rates and shares below.
/// A change frees the flows that the links of the change hold; these are filled anew (progressive filling: the link
/// with the smallest share gives it to its flows) against the others as they are. A flow that has more than the
/// share of a link that fills up, and one held by a link on which a rate has changed, is freed as well, until none is
/// left. Links of equal shares fill up together, so that no result depends on numbers of links or flows.
///
/// Shares are exact fractions. What a flow takes away from other links counts there as whole units, rounded up, so the
/// rates on a link never add up to more than its capacity, and to less by at most a unit a flow.
/// The algorithm is progressive filling (Bertsekas and Gallager, Data Networks, 6.5), begun from the last answer
/// instead of from nothing; SimGrid's LMM solver does the same with doubles and a precision. A change costs what it
/// reaches: links and flows that it does not free are not looked at, which is why a fabric of thousands of links takes
/// few of them an event.
class MaxMin {
 public:
  explicit MaxMin(std::span<const Bandwidth> capacity);

  /// A flow over `links`, which must stay where they are until it is removed. Its rate is known after `update`.
  /// It stands for `alike` flows of that weight, which come and go together: each of them has that rate.
  /// Precondition: there is no flow of this number, which is small; there is a link; the weight is 1 to 2^40, and those
  /// on a link together are below 2^63.
  void add(uint32_t flow, std::span<const int32_t> links, int64_t weight = 1, int64_t alike = 1);
  /// Precondition: there was an update since the flow was added.
  void remove(uint32_t flow);

  /// Finds all rates after additions and removals. Returns the flows whose rate has changed, new ones included, valid
  /// until the next call. Throws Infeasible when links have less than a unit a flow.
  const std::vector<uint32_t>& update();

  const Rate& rate(uint32_t flow) const { return flows_[flow].rate; }

 private:
  enum class State : uint8_t {
    kSettled,  // has the rate of an earlier update
    kFilling,  // takes part in this one
    kFilled,   // has its rate of this one
  };
  struct Flow {
    std::span<const int32_t> links;
    std::vector<uint32_t> slots;  // of each of its links: where it is among the link's flows
    int64_t weight = 1, alike = 1;
    Rate rate;
    Units taken = 0;  // what all alike take of each of its links: its rate times its weight, rounded up, of each
    State state = State::kSettled;
  };
  struct Entry {
    uint32_t flow;
    uint32_t hop;  // the link is its flow's hop-th
  };
  struct Link {
    Units left;               // what no settled or filled flow takes
    int64_t filling = 0;      // weights of the flows that share it
    Rate level{};             // rate of the flows it holds; `among` 0: it is not full
    Rate queued{};            // its smallest share in the heap; `among` 0: it is not there
    bool reconsider = false;  // whether it is in `reconsider_`
    bool lowest = false;      // whether it is in `lowest_`
    std::vector<Entry> flows{};

    Rate share() const { return {left, filling}; }
  };
  struct Share {
    Rate rate;
    int32_t link;
  };

  void reconsider(int32_t link);
  void release(int32_t link);
  void free(uint32_t flow);
  bool fill_alone(uint32_t flow);
  void queue_shares();
  bool find_lowest();
  bool free_richer();
  void fill_lowest();

  std::vector<Bandwidth> capacity_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> added_;
  std::vector<int32_t> touched_;     // links with a flow more or less since the last update
  std::vector<uint32_t> freed_;      // flows that take part in this update
  std::vector<int32_t> reconsider_;  // links whose share may have become smaller
  std::vector<Share> heap_;          // smallest share on top
  std::vector<int32_t> lowest_;      // links with the smallest share
  std::vector<uint32_t> filled_;     // flows that they hold
  std::vector<uint32_t> changed_;
};

}  // namespace hocket::simulator
