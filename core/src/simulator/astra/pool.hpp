#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::simulator::astra {

inline constexpr uint32_t kNone = UINT32_MAX;

/// Records that come and go, named by index; a freed one is the next to be used. References do not survive `add`.
template <typename Record>
/// Messages by the million come and go; as indices of four bytes they chain through their own records.
class Pool {
 public:
  uint32_t add(Record record) {
    if (free_.empty()) {
      records_.push_back(std::move(record));
      return static_cast<uint32_t>(records_.size() - 1);
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    records_[index] = std::move(record);
    return index;
  }

  Record take(uint32_t index) {
    free_.push_back(index);
    return std::move(records_[index]);
  }

  Record& operator[](uint32_t index) { return records_[index]; }
  const Record& operator[](uint32_t index) const { return records_[index]; }

 private:
  std::vector<Record> records_;
  std::vector<uint32_t> free_;
};

/// First and last of a chain of records linked by their `next`; first in, first out.
struct Chain {
  uint32_t first = kNone;
  uint32_t last = kNone;

  bool empty() const { return first == kNone; }

  template <typename Record>
  void push(Pool<Record>& pool, uint32_t index) {
    pool[index].next = kNone;
    (empty() ? first : pool[last].next) = index;
    last = index;
  }

  template <typename Record>
  uint32_t pop(Pool<Record>& pool) {
    const uint32_t index = first;
    first = pool[index].next;
    return index;
  }
};

}  // namespace hocket::simulator::astra
