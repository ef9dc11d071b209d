#include "hocket/executor/binding.hpp"

#include <algorithm>
#include <cstring>

namespace hocket::executor {

Binding::Binding(const Algorithm& algorithm, const Choice& choice, const Request& request, int32_t rank,
                 CallerBuffers caller, Workspace& workspace)
    : kind_(*request.kind),
      caller_(caller),
      share_bytes_(request.share_bytes),
      chunk_bytes_(algorithm.chunk_bytes(request.share_bytes, request.element_bytes)),
      padded_bytes_(chunk_bytes_ * algorithm.chunks / (kind_.has_shares ? request.ranks : 1)),
      input_shares_(kind_.has_shares && !kind_.has_small_input ? request.ranks : 1),
      output_shares_(kind_.has_shares && !kind_.has_small_output ? request.ranks : 1) {
  if (choice.in_place) {
    bind_in_place(rank, workspace);
  } else {
    bind_out_of_place(workspace);
  }
}

void Binding::finish() const {
  if (caller_.output == nullptr || buffers_[1] == caller_.output) return;
  copy_shares(buffers_[1], padded_bytes_, caller_.output, share_bytes_, output_shares_);
}

void Binding::bind_in_place(int32_t rank, Workspace& workspace) {
  std::byte* whole = whole_of_caller(rank);
  if (whole == nullptr) whole = workspace.take(padded_bytes_ * std::max(input_shares_, output_shares_));
  // of a gather (a scatter) the rank that is not the root has its own share, where the others' would lie, too
  std::byte* const own = whole + (kind_.has_shares ? rank * padded_bytes_ : 0);
  buffers_[0] = kind_.has_small_input ? own : whole;
  buffers_[1] = kind_.has_small_output ? own : whole;
  fill(buffers_[0]);
}

void Binding::bind_out_of_place(Workspace& workspace) {
  const bool is_whole = share_bytes_ == padded_bytes_;
  const bool is_direct = caller_.output != nullptr && is_whole;
  buffers_[1] = is_direct ? caller_.output : workspace.take(padded_bytes_ * output_shares_);
  // A program for two buffers reads its input to the last step, so an output that overlaps it needs a copy.
  if (caller_.input != nullptr && is_whole && !(is_direct && overlap())) {
    buffers_[0] = const_cast<std::byte*>(caller_.input);  // which such a program does not change
    return;
  }
  buffers_[0] = workspace.take(padded_bytes_ * input_shares_);
  fill(buffers_[0]);
}

/// The caller's memory that holds every share, where the program may work in it; null where it may not.
std::byte* Binding::whole_of_caller(int32_t rank) const {
  if (share_bytes_ != padded_bytes_) return nullptr;
  if (!kind_.has_small_output) return caller_.output;
  // A reduce_scatter in place: NCCL's rule is output = input + rank * count, and only then the whole input may change.
  const bool is_one = caller_.are_one && caller_.input != nullptr && caller_.output != nullptr &&
                      caller_.output == caller_.input + rank * share_bytes_;
  return is_one ? const_cast<std::byte*>(caller_.input) : nullptr;
}

bool Binding::overlap() const {
  const std::byte* const input_end = caller_.input + share_bytes_ * input_shares_;
  const std::byte* const output_end = caller_.output + share_bytes_ * output_shares_;
  return caller_.input < output_end && caller_.output < input_end;
}

/// Puts the caller's input where the program has it, unless it lies there already.
void Binding::fill(std::byte* target) const {
  if (caller_.input == nullptr || target == caller_.input) return;
  copy_shares(caller_.input, share_bytes_, target, padded_bytes_, input_shares_);
  const int64_t padding = padded_bytes_ - share_bytes_;
  for (int64_t k = 0; k < input_shares_; k++) std::memset(target + k * padded_bytes_ + share_bytes_, 0, padding);
}

void Binding::copy_shares(const std::byte* from, int64_t from_bytes, std::byte* to, int64_t to_bytes,
                          int64_t shares) const {
  if (from_bytes == to_bytes) {
    std::memmove(to, from, shares * from_bytes);
    return;
  }
  for (int64_t k = 0; k < shares; k++) std::memmove(to + k * to_bytes, from + k * from_bytes, share_bytes_);
}

}  // namespace hocket::executor
