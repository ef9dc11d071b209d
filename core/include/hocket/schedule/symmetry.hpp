#pragma once

#include <cstdint>
#include <vector>

namespace hocket::schedule {

/// What the elements of a symmetry do to a dimension (schedule/symmetry.py).
enum class Motion : uint8_t { kShift, kSwing, kFlip, kStay };

/// A group of permutations of the ranks of a box, none of which but the first leaves a rank where it is
/// (schedule/symmetry.py, which says how ranks and elements are numbered). Without dimensions the trivial group.
class Symmetry {
 public:
  /// Throws ScheduleError when there are not as many motions as sizes, or a motion does not fit a size,
  /// or the box has 2^31 ranks or more.
  Symmetry(const std::vector<int32_t>& sizes, const std::vector<Motion>& motions);

  int64_t order() const { return order_; }
  /// Ranks of the box.
  int64_t num_ranks() const { return num_ranks_; }
  /// Where an element takes a rank.
  int32_t act(int64_t element, int32_t rank) const;
  /// The element that takes a rank to the one that represents it, the least of its images.
  int64_t home(int32_t rank) const;

 private:
  struct Dimension {
    int32_t size;
    int32_t order;
    Motion motion;
  };

  std::vector<Dimension> dimensions_;
  int64_t order_ = 1, num_ranks_ = 1;
};

}  // namespace hocket::schedule
