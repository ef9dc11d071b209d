#include "chunk_names.hpp"

#include <string>
#include <utility>

#include "hocket/error.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {

std::vector<int32_t> name_chunks(std::span<const int32_t> origin, const Orbits& orbits, uint64_t seed) {
  const int32_t order = orbits.order();
  std::vector<std::vector<int32_t>> chunks_of(static_cast<size_t>(orbits.size()) * order);
  for (size_t chunk = 0; chunk < origin.size(); chunk++) {
    chunks_of[origin[chunk]].push_back(static_cast<int32_t>(chunk));
  }
  std::vector<std::pair<int32_t, int32_t>> places;  // an orbit, and which chunk of its ranks
  places.reserve(origin.size() / order);
  for (int32_t orbit = 0; orbit < orbits.size(); orbit++) {
    const size_t count = chunks_of[orbits.representative(orbit)].size();
    for (int32_t element = 1; element < order; element++) {
      if (chunks_of[orbits.rank(orbit, element)].size() == count) continue;
      throw ScheduleError("ranks " + std::to_string(orbits.representative(orbit)) + " and " +
                          std::to_string(orbits.rank(orbit, element)) +
                          " are to do alike, but do not have equally many chunks");
    }
    for (size_t which = 0; which < count; which++) places.emplace_back(orbit, static_cast<int32_t>(which));
  }
  // Orbits of chunks are shuffled as wholes and their images stay together: the element is the low bits of the name.
  Random random(seed);
  for (size_t left = places.size(); left > 1; left--) std::swap(places[left - 1], places[random.below(left)]);
  std::vector<int32_t> chunk_of;
  chunk_of.reserve(origin.size());
  for (const auto& [orbit, which] : places) {
    for (int32_t element = 0; element < order; element++) {
      chunk_of.push_back(chunks_of[orbits.rank(orbit, element)][which]);
    }
  }
  return chunk_of;
}

}  // namespace hocket::synthesizer
