#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::simulator {

inline constexpr uint32_t kNone = ~uint32_t{0};

/// Numbers by key, of what is there at the moment: memory grows with that, and not with all keys that there may be.
/// Open addressing with linear probing; erasing moves back what came behind, so that no chain is ever longer than what
/// it holds. `Hash` makes a number of a key whose lower bits are mixed.
template <class Key, class Hash>
class IdTable {
 public:
  IdTable() : entries_(kFirstSize) {}

  /// The number of the key; a new key's is kNone, to be set at once.
  uint32_t& operator[](const Key& key) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    size_t at = home(key);
    while (entries_[at].id != kNone && !(entries_[at].key == key)) at = next(at);
    if (entries_[at].id == kNone) {
      entries_[at].key = key;
      size_++;
    }
    return entries_[at].id;
  }

  /// Precondition: the key is there.
  void erase(const Key& key) {
    size_t hole = home(key);
    while (entries_[hole].id == kNone || !(entries_[hole].key == key)) hole = next(hole);
    // Whatever follows and is at home before the hole, or in it, moves there.
    for (size_t at = next(hole); entries_[at].id != kNone; at = next(at)) {
      const size_t from_home = (at - home(entries_[at].key)) & (entries_.size() - 1);
      const size_t from_hole = (at - hole) & (entries_.size() - 1);
      if (from_home < from_hole) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole].id = kNone;
    size_--;
  }

 private:
  struct Entry {
    Key key{};
    uint32_t id = kNone;
  };
  static constexpr size_t kFirstSize = 64;  // a power of two, as all sizes

  size_t home(const Key& key) const { return Hash()(key) & (entries_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (entries_.size() - 1); }

  void grow() {
    const std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    for (const Entry& entry : before) {
      if (entry.id == kNone) continue;
      size_t at = home(entry.key);
      while (entries_[at].id != kNone) at = next(at);
      entries_[at] = entry;
    }
  }

  std::vector<Entry> entries_;
  size_t size_ = 0;
};

/// Fibonacci hashing: ports of a switch are neighbours, and so are their numbers. Bits below the 32nd are those of the
/// link alone, for which all buffers of a switch may wait.
struct LineHash {
  size_t operator()(uint64_t key) const { return key * 0x9e3779b97f4a7c15u >> 40; }
};

/// The line of each input that waits for an output, by both: only of those that wait, and not of ports times ports.
class LineTable : public IdTable<uint64_t, LineHash> {
 public:
  static uint64_t key(int32_t buffer, int32_t link) {
    return static_cast<uint64_t>(static_cast<uint32_t>(buffer)) << 32 | static_cast<uint32_t>(link);
  }
};

}  // namespace hocket::simulator
