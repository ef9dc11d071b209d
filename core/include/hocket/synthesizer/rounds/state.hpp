#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/rounds/chunk_block.hpp"
#include "hocket/synthesizer/rounds/orbits.hpp"

namespace hocket::synthesizer {

/// The links into representatives, by the orbit they enter: those of orbit o are the slots
/// first[o]..first[o+1]-1.
struct RoundSlots {
  RoundSlots(const Network& network, const Orbits& orbits);

  int32_t size() const { return static_cast<int32_t>(link.size()); }

  std::vector<int32_t> first;    ///< [orbit + 1]
  std::vector<int32_t> orbit;    ///< [slot] that it enters
  std::vector<int32_t> link;     ///< [slot] id in the network
  std::vector<int32_t> from;     ///< [slot] orbit of its source
  std::vector<int32_t> element;  ///< [slot] that takes the orbit's representative to the source
};

/// Which chunks representatives hold and lack, by the names of name_chunks.
/// Held, on their way and lacked are disjoint; the second is neither bit. `num_awaited` counts the last two.
class Holdings {
 public:
  static constexpr uint32_t kLog = 32;  ///< arrivals remembered for each orbit

  /// `chunk_of` is the chunk behind each name.
  Holdings(std::span<const int32_t> chunk_of, std::span<const int32_t> origin, const Orbits& orbits);

  int32_t num_blocks() const { return num_blocks_; }
  /// Block-major: what the ranks of one region read in one round lies together.
  const ChunkBlock& held(int32_t block, int32_t orbit) const { return held_[index(block, orbit)]; }
  const ChunkBlock& lacked(int32_t block, int32_t orbit) const { return lacked_[index(block, orbit)]; }
  bool lacks(int32_t orbit, uint32_t name) const { return lacked_[index(block_of(name), orbit)].contains(name); }
  /// Chunks that neither are there nor on their way.
  int32_t num_lacked(int32_t orbit) const { return num_lacked_[orbit]; }
  /// Chunks that are not there.
  int32_t num_awaited(int32_t orbit) const { return num_awaited_[orbit]; }

  /// The first block in which something is lacked; num_blocks() when there is none.
  int32_t first_lacked(int32_t orbit) {
    int32_t& block = first_lacked_[orbit];
    while (block < num_blocks_ && !lacked(block, orbit).any()) block++;
    return block;
  }

  /// The chunk is on its way.
  void pick(int32_t orbit, uint32_t name) {
    lacked_[index(block_of(name), orbit)].erase(name);
    num_lacked_[orbit]--;
  }
  /// The chunk is there.
  void land(int32_t orbit, uint32_t name) {
    held_[index(block_of(name), orbit)].insert(name);
    log_[static_cast<size_t>(orbit) * kLog + num_arrived_[orbit]++ % kLog] = name;
    num_awaited_[orbit]--;
  }
  uint32_t num_arrived(int32_t orbit) const { return num_arrived_[orbit]; }
  /// The `number`-th arrival, of which the last kLog are known.
  uint32_t arrival(int32_t orbit, uint32_t number) const {
    return log_[static_cast<size_t>(orbit) * kLog + number % kLog];
  }

 private:
  static int32_t block_of(uint32_t name) { return static_cast<int32_t>(name / ChunkBlock::kChunks); }
  size_t index(int32_t block, int32_t orbit) const { return static_cast<size_t>(block) * num_orbits_ + orbit; }

  int32_t num_orbits_;
  int32_t num_blocks_;
  std::vector<ChunkBlock> held_;    // [block][orbit]
  std::vector<ChunkBlock> lacked_;  // [block][orbit]
  std::vector<int32_t> num_lacked_, num_awaited_, first_lacked_;
  std::vector<uint32_t> log_;  // [orbit] last kLog arrivals
  std::vector<uint32_t> num_arrived_;
};

}  // namespace hocket::synthesizer
