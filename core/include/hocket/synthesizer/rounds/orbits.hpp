#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::synthesizer {

/// The ranks in orbits of a group in which every element is its own inverse and all but the neutral one move every
/// rank: mirrors of the even dimensions of a mesh, for example. Element e is the product of the generators whose bits
/// are set in e, so e1 and then e2 is e1 ^ e2. The representative of an orbit is its smallest rank.
class Orbits {
 public:
  /// Every rank an orbit of its own.
  explicit Orbits(int32_t num_ranks) : Orbits(num_ranks, {}) {}
  /// `generators`: the image of every rank under each generator, one after the other. Throws ScheduleError unless they
  /// are permutations as above, six at most.
  Orbits(int32_t num_ranks, std::span<const int32_t> generators);

  /// Ranks in an orbit: a power of two.
  int32_t order() const { return order_; }
  int32_t size() const { return static_cast<int32_t>(ranks_.size()) / order_; }
  /// The rank that an element takes the representative of an orbit to.
  int32_t rank(int32_t orbit, int32_t element) const { return ranks_[static_cast<size_t>(orbit) * order_ + element]; }
  int32_t representative(int32_t orbit) const { return rank(orbit, 0); }
  int32_t orbit_of(int32_t rank) const { return orbit_[rank]; }
  int32_t element_of(int32_t rank) const { return element_[rank]; }

 private:
  int32_t order_;
  std::vector<int32_t> ranks_;    // [orbit][element]
  std::vector<int32_t> orbit_;    // [rank]
  std::vector<int32_t> element_;  // [rank]
};

}  // namespace hocket::synthesizer
