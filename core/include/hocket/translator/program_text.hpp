#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::translator {

/// A program's columns: chunks of the input, output and scratch of each rank, the first thread block of each rank and
/// of the next, the blocks', the first step of each and of the next, the steps'. Types and buffers are positions in
/// names.
struct ProgramColumns {
  std::span<const int64_t> chunks;  ///< three of each rank
  std::span<const int64_t> first_block;
  std::span<const int32_t> send;
  std::span<const int32_t> receive;
  std::span<const int32_t> channel;
  std::span<const int64_t> first_step;
  std::span<const uint8_t> type;
  std::span<const uint8_t> source_buffer;
  std::span<const int32_t> source_offset;
  std::span<const uint8_t> target_buffer;
  std::span<const int32_t> target_offset;
  std::span<const int32_t> count;
  std::span<const int32_t> depend_block;
  std::span<const int32_t> depend_step;
  std::span<const uint8_t> has_dependents;
};

/// The `<gpu>` elements of MSCCL XML, one element a line. Throws ScheduleError where columns do not fit together.
std::string gpu_elements(const ProgramColumns& columns, const std::vector<std::string>& types,
                         const std::vector<std::string>& buffers);

}  // namespace hocket::translator
