#include "served_call.hpp"

#include <array>
#include <cstring>

namespace hocket::mpi {
namespace {

// The functions with the largest counts there are.
#if HOCKET_LARGE_COUNTS
#define HOCKET_LARGEST(name) HOCKET_REAL(name##_c)
using Count = MPI_Count;
#else
#define HOCKET_LARGEST(name) HOCKET_REAL(name)
using Count = int;
#endif

constexpr int kTag = 0;  // messages between two ranks are in one order at both

/// Binds a call to the memory that the program works on: the caller's where it can be used as it is, else copies, with
/// every share padded to whole chunks.
class ServedCall {
 public:
  ServedCall(const Algorithm& algorithm, const RankPlan& plan, Member& member, const CollectiveCall& call,
             int64_t share_bytes, int64_t element_bytes, const Datatypes& datatypes)
      : plan_(plan),
        member_(member),
        call_(call),
        kind_(*call.kind),
        datatypes_(datatypes),
        share_bytes_(share_bytes),
        element_bytes_(element_bytes),
        chunk_bytes_(algorithm.ChunkBytes(share_bytes, element_bytes)),
        padded_bytes_(chunk_bytes_ * algorithm.chunks / (kind_.has_shares ? member.size : 1)),
        input_shares_(kind_.has_shares && !kind_.has_small_input ? member.size : 1),
        output_shares_(kind_.has_shares && !kind_.has_small_output ? member.size : 1) {
    member_.workspace.Begin();
    if (algorithm.in_place) {
      BindInPlace();
    } else {
      BindOutOfPlace();
    }
    for (const size_t own : {2, 3}) buffers_[own] = member_.workspace.Take(plan.chunks[own] * chunk_bytes_);
  }

  void Run() {
    for (const Exchange& exchange : plan_.exchanges) {
      RunMessages(exchange);
      for (const LocalStep& step : exchange.local_steps) RunLocally(step);
    }
  }

  /// Turns what the program left in its output into the call's result.
  void Finish() {
    if (!has_output() || buffers_[1] == Direct()) return;
    const Block& target = call_.receive;
    auto* const result = const_cast<std::byte*>(static_cast<const std::byte*>(target.buffer));
    if (datatypes_.Of(target.type).is_plain) {
      CopyShares(buffers_[1], padded_bytes_, result, share_bytes_, output_shares_);
      return;
    }
    const int64_t bytes = share_bytes_ * output_shares_;
    std::byte* const packed = member_.workspace.Take(bytes);
    CopyShares(buffers_[1], padded_bytes_, packed, share_bytes_, output_shares_);
    Count position = 0;
    Check(HOCKET_LARGEST(MPI_Unpack)(packed, static_cast<Count>(bytes), &position, result,
                                     static_cast<Count>(target.count * output_shares_), target.type, *member_.comm));
  }

 private:
  bool is_root() const { return member_.rank == call_.root; }
  bool is_in_place() const { return call_.send.buffer == MPI_IN_PLACE; }

  /// Broadcast and scatter have the input of their root, reduce and gather its output.
  bool has_input() const { return !kind_.is_rooted || kind_.reduces || kind_.has_small_input || is_root(); }
  bool has_output() const {
    return (!kind_.is_rooted || !(kind_.reduces || kind_.has_small_input) || is_root()) &&
           call_.receive.buffer != MPI_IN_PLACE;
  }

  void BindInPlace() {
    std::byte* const direct = kind_.has_small_output ? nullptr : Direct();
    const int64_t shares = std::max(input_shares_, output_shares_);
    std::byte* const whole = direct != nullptr ? direct : member_.workspace.Take(padded_bytes_ * shares);
    std::byte* const own = whole + member_.rank * padded_bytes_;
    buffers_[0] = kind_.has_small_input ? own : whole;
    buffers_[1] = kind_.has_small_output ? own : whole;
    if (has_input()) Fill(buffers_[0], Input());
  }

  void BindOutOfPlace() {
    std::byte* const direct = Direct();
    buffers_[1] = direct != nullptr ? direct : member_.workspace.Take(padded_bytes_ * output_shares_);
    const std::byte* const input = has_input() ? Input() : nullptr;
    if (input != nullptr && !is_in_place() && share_bytes_ == padded_bytes_) {
      buffers_[0] = const_cast<std::byte*>(input);  // which such a program does not change
      return;
    }
    buffers_[0] = member_.workspace.Take(padded_bytes_ * input_shares_);
    if (input != nullptr) Fill(buffers_[0], input);
  }

  /// The caller's output, where the program can work on it.
  std::byte* Direct() const {
    if (!has_output() || share_bytes_ != padded_bytes_ || !datatypes_.Of(call_.receive.type).is_plain) return nullptr;
    return const_cast<std::byte*>(static_cast<const std::byte*>(call_.receive.buffer));
  }

  /// The call's input, one share after the other.
  const std::byte* Input() {
    const Block& elements = is_in_place() ? call_.receive : call_.send;
    const int64_t first = is_in_place() && kind_.has_small_input ? member_.rank * elements.count : 0;
    MPI_Aint lowest = 0, extent = 0;
    Check(HOCKET_REAL(MPI_Type_get_extent)(elements.type, &lowest, &extent));
    const auto* const input = static_cast<const std::byte*>(elements.buffer) + first * extent;
    if (datatypes_.Of(elements.type).is_plain) return input;
    const int64_t bytes = share_bytes_ * input_shares_;
    std::byte* const packed = member_.workspace.Take(bytes);
    Count position = 0;
    Check(HOCKET_LARGEST(MPI_Pack)(input, static_cast<Count>(elements.count * input_shares_), elements.type, packed,
                                   static_cast<Count>(bytes), &position, *member_.comm));
    return packed;
  }

  void Fill(std::byte* target, const std::byte* input) {
    if (target == input) return;
    CopyShares(input, share_bytes_, target, padded_bytes_, input_shares_);
    const auto padding = static_cast<size_t>(padded_bytes_ - share_bytes_);
    for (int64_t k = 0; k < input_shares_; ++k) std::memset(target + k * padded_bytes_ + share_bytes_, 0, padding);
  }

  void CopyShares(const std::byte* from, int64_t from_bytes, std::byte* to, int64_t to_bytes, int64_t shares) const {
    if (from_bytes == to_bytes) {
      std::memcpy(to, from, static_cast<size_t>(shares * from_bytes));
      return;
    }
    for (int64_t k = 0; k < shares; ++k) {
      std::memcpy(to + k * to_bytes, from + k * from_bytes, static_cast<size_t>(share_bytes_));
    }
  }

  std::byte* At(Piece piece) const { return buffers_[static_cast<size_t>(piece.buffer)] + piece.offset * chunk_bytes_; }

  void RunMessages(const Exchange& exchange) {
    std::vector<MPI_Request>& requests = member_.requests;
    requests.assign(exchange.receives.size() + exchange.sends.size(), MPI_REQUEST_NULL);
    size_t next = 0;
    for (const Message& message : exchange.receives) {
      Check(HOCKET_LARGEST(MPI_Irecv)(At(message.place), static_cast<Count>(message.count * chunk_bytes_), MPI_BYTE,
                                      message.peer, kTag, *member_.comm, &requests[next++]));
    }
    for (const Message& message : exchange.sends) {
      Check(HOCKET_LARGEST(MPI_Isend)(At(message.place), static_cast<Count>(message.count * chunk_bytes_), MPI_BYTE,
                                      message.peer, kTag, *member_.comm, &requests[next++]));
    }
    Check(HOCKET_REAL(MPI_Waitall)(static_cast<int>(next), requests.data(), MPI_STATUSES_IGNORE));
  }

  void RunLocally(const LocalStep& step) const {
    std::byte* const target = At(step.target);
    const std::byte* kept = At(step.source);
    const std::byte* added = step.other ? At(*step.other) : nullptr;
    if (added == target) std::swap(kept, added);
    const int64_t bytes = step.count * chunk_bytes_;
    if (kept != target) std::memmove(target, kept, static_cast<size_t>(bytes));
    if (added == nullptr) return;
    Check(HOCKET_LARGEST(MPI_Reduce_local)(added, target, static_cast<Count>(bytes / element_bytes_),
                                           call_.receive.type, call_.op));
  }

  const RankPlan& plan_;
  Member& member_;
  const CollectiveCall& call_;
  const Kind& kind_;
  const Datatypes& datatypes_;
  const int64_t share_bytes_;
  const int64_t element_bytes_;
  const int64_t chunk_bytes_;
  const int64_t padded_bytes_;  // of a share, in whole chunks
  const int64_t input_shares_;
  const int64_t output_shares_;
  std::array<std::byte*, 4> buffers_{};
};

}  // namespace

void RunServed(const Algorithm& algorithm, const RankPlan& plan, Member& member, const CollectiveCall& call,
               int64_t share_bytes, int64_t element_bytes, const Datatypes& datatypes) {
  ServedCall served(algorithm, plan, member, call, share_bytes, element_bytes, datatypes);
  served.Run();
  served.Finish();
}

}  // namespace hocket::mpi
