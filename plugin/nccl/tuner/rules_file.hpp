/// The table of one process.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "hocket/nccl/tuner/table.hpp"

namespace hocket::nccl {

/// A table as it was when it was read, and what was said of it. Any thread may use it.
struct RulesFile {
  std::string path;
  std::string failure;  ///< why there are no rules: file, first line that is wrong, what was expected there
  TunerTable table;
  uint32_t checksum = 0;                           ///< CRC-32 of the file: all ranks must have the same
  std::unique_ptr<std::atomic<bool>[]> passed_by;  ///< by rule: whether it was said that it could not be had

  /// Reads the file that HOCKET_NCCL_TUNER_TABLE names, else NCCL_TUNER_CONFIG_FILE; without both there is no path.
  static std::unique_ptr<const RulesFile> from_environment();
};

}  // namespace hocket::nccl
