#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hocket/executor/library.hpp"
#include "hocket/executor/workspace.hpp"

namespace hocket::executor {

/// The caller's memory: its shares one after another; null where the rank has none.
struct CallerBuffers {
  const std::byte* input;
  std::byte* output;
  /// By NCCL's rule the smaller buffer is the rank's share of the larger, all of which the call may change.
  bool are_one = false;
};

/// A call bound to the memory that a program works on: the caller's where it can be used as it is, else copies, in
/// which every share is padded to whole chunks.
/// Padding rather than a remainder: programs are proved for equal chunks, and a padded one stays proved.
class Binding {
 public:
  Binding(const Algorithm& algorithm, const Choice& choice, const Request& request, int32_t rank, CallerBuffers caller,
          Workspace& workspace);

  int64_t chunk_bytes() const { return chunk_bytes_; }
  /// The program's input and output.
  std::array<std::byte*, 2> buffers() const { return buffers_; }

  /// Turns what the program left in its output into the call's result.
  void finish() const;

 private:
  void bind_in_place(int32_t rank, Workspace& workspace);
  void bind_out_of_place(Workspace& workspace);
  std::byte* whole_of_caller(int32_t rank) const;
  bool overlap() const;
  void fill(std::byte* target) const;
  void copy_shares(const std::byte* from, int64_t from_bytes, std::byte* to, int64_t to_bytes, int64_t shares) const;

  const Kind& kind_;
  const CallerBuffers caller_;
  const int64_t share_bytes_;
  const int64_t chunk_bytes_;
  const int64_t padded_bytes_;  ///< of a share, in whole chunks
  const int64_t input_shares_;
  const int64_t output_shares_;
  std::array<std::byte*, 2> buffers_{};
};

}  // namespace hocket::executor
