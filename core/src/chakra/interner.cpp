#include "interner.hpp"

#include <utility>

namespace hocket::chakra {

int32_t Interner::insert(Slot& entry, uint32_t hash, std::string_view text) {
  const auto index = static_cast<int32_t>(strings_.size());
  entry = {hash, index};
  strings_.push_back(text);
  if (strings_.size() * 2 > slots_.size()) grow();
  return index;
}

void Interner::grow() {
  const OwnedColumn<Slot> before = std::exchange(slots_, OwnedColumn<Slot>(slots_.size() * 2));
  mask_ = slots_.size() - 1;
  for (const Slot& entry : before) {
    // The stored half of the hash suffices to place it anew: the table has fewer than 2^32 slots.
    if (entry.index < 0) continue;
    size_t slot = entry.hash & mask_;
    while (slots_[slot].index >= 0) slot = (slot + 1) & mask_;
    slots_[slot] = entry;
  }
}

}  // namespace hocket::chakra
