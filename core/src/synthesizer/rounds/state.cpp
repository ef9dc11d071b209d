#include "hocket/synthesizer/rounds/state.hpp"

#include <algorithm>

namespace hocket::synthesizer {

RoundSlots::RoundSlots(const Network& network, const Orbits& orbits) : first{0} {
  for (int32_t into = 0; into < orbits.size(); into++) {
    for (int32_t id : network.in[orbits.representative(into)]) {
      orbit.push_back(into);
      link.push_back(id);
      from.push_back(orbits.orbit_of(network.src[id]));
      element.push_back(orbits.element_of(network.src[id]));
    }
    first.push_back(size());
  }
}

Holdings::Holdings(std::span<const int32_t> chunk_of, std::span<const int32_t> origin, const Orbits& orbits)
    : num_orbits_(orbits.size()),
      num_blocks_((static_cast<int32_t>(chunk_of.size()) + ChunkBlock::kChunks - 1) / ChunkBlock::kChunks),
      held_(static_cast<size_t>(num_blocks_) * num_orbits_),
      lacked_(held_.size()),
      num_lacked_(num_orbits_, static_cast<int32_t>(chunk_of.size())),
      first_lacked_(num_orbits_, 0),
      log_(static_cast<size_t>(num_orbits_) * kLog),
      num_arrived_(num_orbits_, 0) {
  std::vector<ChunkBlock> all(num_blocks_);
  for (uint32_t name = 0; name < chunk_of.size(); name++) all[block_of(name)].insert(name);
  for (int32_t block = 0; block < num_blocks_; block++) {
    std::fill_n(lacked_.begin() + static_cast<int64_t>(index(block, 0)), num_orbits_, all[block]);
  }
  for (uint32_t name = 0; name < chunk_of.size(); name++) {
    const int32_t rank = origin[chunk_of[name]];
    const int32_t orbit = orbits.orbit_of(rank);
    if (rank != orbits.representative(orbit)) continue;
    pick(orbit, name);
    held_[index(block_of(name), orbit)].insert(name);
  }
  num_awaited_ = num_lacked_;
}

}  // namespace hocket::synthesizer
