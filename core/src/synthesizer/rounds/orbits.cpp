#include "hocket/synthesizer/rounds/orbits.hpp"

#include <bit>
#include <string>

#include "hocket/error.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kMostGenerators = 6;  // an element permutes the bits of a 64-bit word

void refuse(int32_t generator, const std::string& why) {
  throw ScheduleError("generator " + std::to_string(generator) + " of the symmetry " + why);
}

}  // namespace

Orbits::Orbits(int32_t num_ranks, std::span<const int32_t> generators) : orbit_(num_ranks, -1), element_(num_ranks, 0) {
  const auto count = static_cast<int32_t>(num_ranks == 0 ? 0 : generators.size() / num_ranks);
  if (generators.size() != static_cast<size_t>(count) * num_ranks) {
    throw ScheduleError("a generator of a symmetry needs an image of each of " + std::to_string(num_ranks) + " ranks");
  }
  if (count > kMostGenerators) throw ScheduleError("a symmetry has at most 6 generators");
  const auto image = [&](int32_t generator, int32_t rank) {
    return generators[static_cast<size_t>(generator) * num_ranks + rank];
  };
  for (int32_t generator = 0; generator < count; generator++) {
    for (int32_t rank = 0; rank < num_ranks; rank++) {
      const int32_t there = image(generator, rank);
      if (there < 0 || there >= num_ranks || image(generator, there) != rank) {
        refuse(generator, "is not its own inverse at rank " + std::to_string(rank));
      }
    }
  }
  // Every orbit is enumerated in the order of the elements' bits: element e is the image, under its highest generator,
  // of the element without that bit, which stands half a power of two before.
  order_ = 1 << count;
  ranks_.reserve(num_ranks);
  for (int32_t start = 0; start < num_ranks; start++) {
    if (orbit_[start] >= 0) continue;
    const auto orbit = static_cast<int32_t>(ranks_.size()) / order_;
    for (int32_t element = 0; element < order_; element++) {
      int32_t rank = start;
      if (element > 0) {
        const int32_t last = std::bit_width(static_cast<uint32_t>(element)) - 1;
        rank = image(last, ranks_[ranks_.size() - (size_t{1} << last)]);
      }
      // Free: a rank that occurs twice is left in its place by some product of generators.
      if (orbit_[rank] >= 0) refuse(std::bit_width(static_cast<uint32_t>(element)) - 1, "leaves a rank in its place");
      orbit_[rank] = orbit;
      element_[rank] = element;
      ranks_.push_back(rank);
    }
  }
  for (int32_t generator = 0; generator < count; generator++) {
    for (int32_t rank = 0; rank < num_ranks; rank++) {
      // Commuting is what makes e1 ^ e2 right; checked at every rank, since all that follows relies on it.
      if (image(generator, rank) != this->rank(orbit_[rank], element_[rank] ^ 1 << generator)) {
        refuse(generator, "does not commute with the others");
      }
    }
  }
}

}  // namespace hocket::synthesizer
