#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/time.hpp"

namespace hocket::simulator {

/// A replayed job: the columns of `Job::Nodes` and of `Outcome`, over all nodes.
struct Replayed {
  std::span<const int64_t> rank_offset;
  std::span<const uint8_t> kind;
  std::span<const int64_t> operand;
  std::span<const int64_t> dependency_offset;
  std::span<const int64_t> dependency;
  std::span<const Picoseconds> start_ps;
  std::span<const Picoseconds> finish_ps;
  std::span<const int32_t> cause;
};

/// By how much each node may end later, alone, while the job as a whole does not: to first order, that is as if every
/// rank kept the order of its computations and a collective took as long from its last member whichever that is.
/// Precondition: the columns are of a job that ended.
std::vector<Picoseconds> slack(const Replayed& job);

}  // namespace hocket::simulator
