/// The variables HOCKET_NCCL_*, which docs/nccl-profiler.md lists.
#pragma once
#include <cstdint>
#include <string>

namespace hocket::nccl {

struct Settings {
  std::string folder;         // Empty: nothing is recorded.
  uint64_t events = 0;        // What NCCL is asked for.
  uint32_t pool = 0;          // Records under way at once.
  uint32_t prometheus_s = 0;  // Seconds between two writes of the metrics; 0: none.
  bool table = false;         // A table of the totals when the job ends.
  int rank = -1;              // What a launcher calls this process: torchrun, an MPI or Slurm; -1: none did.

  /// Are totals of the calls kept?
  bool counts() const { return prometheus_s > 0 || table; }

  /// Reads the environment. Throws std::invalid_argument naming the variable, its value and what may stand there.
  static Settings from_environment();
};

/// What HOCKET_NCCL_EVENTS and the metrics call the kind of a record, by the number of its bit.
const char* event_name(int bit);

}  // namespace hocket::nccl
