#include "hocket/chakra/interner.hpp"

namespace hocket::chakra {

int32_t Interner::insert(Slot& entry, uint32_t tag, std::string_view text) {
  const auto index = static_cast<int32_t>(strings_.size());
  entry = {tag, index};
  strings_.push_back(text);
  if (strings_.size() * 2 > slots_.size()) grow();
  return index;
}

void Interner::grow() {
  slots_.assign(slots_.size() * 4, Slot{});
  mask_ = slots_.size() - 1;
  for (size_t index = 0; index < strings_.size(); index++) {
    const uint64_t hash = hash_of(strings_[index]);
    size_t slot = hash & mask_;
    while (slots_[slot].index >= 0) slot = (slot + 1) & mask_;
    slots_[slot] = {static_cast<uint32_t>(hash >> 32), static_cast<int32_t>(index)};
  }
}

}  // namespace hocket::chakra
