#include "hocket/schedule/symmetry.hpp"

#include <limits>
#include <string>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"

namespace hocket::schedule {

Symmetry::Symmetry(const std::vector<int32_t>& sizes, const std::vector<Motion>& motions) {
  if (sizes.size() != motions.size()) throw ScheduleError("a symmetry needs a motion for each size");
  for (size_t at = 0; at < sizes.size(); at++) {
    const int32_t size = sizes[at];
    if (size < 1 || (size % 2 == 1 && (motions[at] == Motion::kSwing || motions[at] == Motion::kFlip))) {
      throw ScheduleError("a dimension of size " + std::to_string(size) + " has no such symmetry");
    }
    const int32_t order = motions[at] == Motion::kStay ? 1 : motions[at] == Motion::kFlip ? 2 : size;
    dimensions_.push_back({size, order, motions[at]});
    order_ *= order;
    num_ranks_ *= size;
    // Ranks are int32_t everywhere; the order of the group may be larger only in theory.
    check_within(num_ranks_, 1, std::numeric_limits<int32_t>::max(), "the ranks of a symmetry's box");
  }
}

// A product of one group a dimension, an element written in mixed radix, as a rank is.
int32_t Symmetry::act(int64_t element, int32_t rank) const {
  if (element == 0) return rank;
  int32_t image = 0, stride = 1;
  for (const Dimension& dimension : dimensions_) {
    const auto by = static_cast<int32_t>(element % dimension.order);
    const int32_t at = rank % dimension.size;
    int32_t to = at;
    switch (dimension.motion) {
      case Motion::kShift:
        to = (by + at) % dimension.size;
        break;
      // The dihedral group of a ring, of which it takes as many elements as the ring has ranks: even ones shift, odd
      // ones shift and mirror. That is the symmetry of Swing (De Sensi et al., NSDI 2024), where even and odd ranks
      // step in opposite directions.
      case Motion::kSwing:
        to = (by % 2 == 1 ? by + dimension.size - at : by + at) % dimension.size;
        break;
      case Motion::kFlip:
        to = by == 1 ? dimension.size - 1 - at : at;
        break;
      case Motion::kStay:
        break;
    }
    image += to * stride;
    stride *= dimension.size;
    element /= dimension.order;
    rank /= dimension.size;
  }
  return image;
}

// The element that takes a rank to its representative: the one of its orbit with the smallest coordinates.
int64_t Symmetry::home(int32_t rank) const {
  int64_t element = 0, radix = 1;
  for (const Dimension& dimension : dimensions_) {
    const int32_t at = rank % dimension.size;
    int32_t by = 0;
    switch (dimension.motion) {
      case Motion::kShift:
        by = at == 0 ? 0 : dimension.size - at;
        break;
      case Motion::kSwing:
        by = at % 2 == 1 || at == 0 ? at : dimension.size - at;
        break;
      case Motion::kFlip:
        by = at >= dimension.size / 2;
        break;
      case Motion::kStay:
        break;
    }
    element += by * radix;
    radix *= dimension.order;
    rank /= dimension.size;
  }
  return element;
}

}  // namespace hocket::schedule
