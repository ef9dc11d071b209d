#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/rounds/orbits.hpp"

namespace hocket::synthesizer {

/// Names 0..num_chunks-1 of chunks, such that an element e of the group takes the chunk of name n to that of name
/// n ^ e, and in random order otherwise: any range of names holds chunks from everywhere.
///
/// The j-th chunk of a rank is taken to the j-th chunk of the rank's image. Throws ScheduleError where ranks of one
/// orbit do not have equally many.
std::vector<int32_t> name_chunks(std::span<const int32_t> origin, const Orbits& orbits, uint64_t seed);

}  // namespace hocket::synthesizer
