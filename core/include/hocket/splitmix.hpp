#pragma once

#include <cstdint>

namespace hocket {

/// What splitmix64 adds to its state for each number: odd, and near 2^64 over the golden ratio.
constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014) of a state: all bits of the result depend on all bits of the state, and
/// it is the same on every machine, unlike what <random> draws. `hocket.base.splitmix` is the same in Python.
inline uint64_t splitmix64(uint64_t state) {
  state += kSplitMixStep;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
  state = (state ^ state >> 27) * 0x94d049bb133111ebu;
  return state ^ state >> 31;
}

}  // namespace hocket
