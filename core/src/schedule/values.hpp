#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::schedule {

/// Multisets of contributions (rank, chunk), exact. Value 0 is undefined memory; adding to it stays undefined.
class Values {
 public:
  struct Contribution {
    int32_t rank;
    int32_t chunk;
    int64_t times;
  };

  int32_t original(int32_t rank, int32_t chunk) { return add({{rank, chunk, 1}}); }

  int32_t sum(int32_t left, int32_t right) {
    if (left == 0 || right == 0) return 0;
    const auto &a = sets_[left], &b = sets_[right];
    std::vector<Contribution> both;
    both.reserve(a.size() + b.size());
    for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
      if (j == b.size() || (i < a.size() && key(a[i]) < key(b[j]))) {
        both.push_back(a[i++]);
      } else if (i == a.size() || key(b[j]) < key(a[i])) {
        both.push_back(b[j++]);
      } else {
        both.push_back({a[i].rank, a[i].chunk, a[i].times + b[j].times});
        i++, j++;
      }
    }
    return add(std::move(both));
  }

  const std::vector<Contribution>& of(int32_t value) const { return sets_[value]; }

 private:
  static std::pair<int32_t, int32_t> key(const Contribution& c) { return {c.rank, c.chunk}; }

  int32_t add(std::vector<Contribution> set) {
    sets_.push_back(std::move(set));
    return static_cast<int32_t>(sets_.size() - 1);
  }

  std::vector<std::vector<Contribution>> sets_{{}};
};

}  // namespace hocket::schedule
