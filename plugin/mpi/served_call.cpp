#include "served_call.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "hocket/executor/binding.hpp"

namespace hocket::mpi {
namespace {

using executor::Binding;
using executor::Workspace;

// The functions with the largest counts there are.
#if HOCKET_LARGE_COUNTS
#define HOCKET_LARGEST(name) HOCKET_REAL(name##_c)
using Count = MPI_Count;
#else
#define HOCKET_LARGEST(name) HOCKET_REAL(name)
using Count = int;
#endif

struct Reduced {
  std::string_view name;  ///< as in `TypeInfo`
  executor::ElementType type;
};

constexpr std::array<Reduced, 8> kReduced = {{
    {"int8", executor::ElementType::kInt8},
    {"uint8", executor::ElementType::kUint8},
    {"int32", executor::ElementType::kInt32},
    {"int64", executor::ElementType::kInt64},
    {"uint32", executor::ElementType::kUint32},
    {"uint64", executor::ElementType::kUint64},
    {"float32", executor::ElementType::kFloat32},
    {"float64", executor::ElementType::kFloat64},
}};

constexpr int kTag = 0;  // messages between two ranks are in one order at both

/// How often a round is asked whether it is done before MPI waits for it. MPI_Waitall gives the core away after some
/// 1000 looks (mpich), which costs a scheduler's slice of 4 ms where others want the core, and a peer that copies 2 MiB
/// needs longer than that.
constexpr int kPolls = 4000;

/// The caller's shares as plain bytes: where they lie, or, of types of the program's own, packed.
/// Programs move bytes; where a derived type has gaps, MPI_Pack and MPI_Unpack make and take a buffer without.
class PlainBuffers {
 public:
  PlainBuffers(const executor::Request& request, const Member& member, const CollectiveCall& call,
               const Datatypes& datatypes, Workspace& workspace)
      : call_(call), comm_(member.messages->comm()) {
    const executor::Kind& kind = *request.kind;
    const bool is_root = member.rank == call.root;
    const int64_t input_shares = kind.has_shares && !kind.has_small_input ? member.size : 1;
    output_shares_ = kind.has_shares && !kind.has_small_output ? member.size : 1;
    share_bytes_ = request.share_bytes;
    if (kind.has_input(is_root)) {
      const bool is_in_place = call.send.buffer == MPI_IN_PLACE;
      const Block& elements = is_in_place ? call.receive : call.send;
      const int64_t first = is_in_place && kind.has_small_input ? member.rank * elements.count : 0;
      input_ = plain(elements, first, input_shares, datatypes, workspace);
    }
    if (kind.has_output(is_root) && call.receive.buffer != MPI_IN_PLACE) {
      is_packed_ = !datatypes.of(call.receive.type).is_plain;
      output_ = is_packed_ ? workspace.take(share_bytes_ * output_shares_) : output();
    }
  }

  executor::CallerBuffers buffers() const { return {input_, output_}; }

  /// Hands packed results over.
  void finish() const {
    if (!is_packed_) return;
    Count position = 0;
    check(HOCKET_LARGEST(MPI_Unpack)(output_, static_cast<Count>(share_bytes_ * output_shares_), &position, output(),
                                     static_cast<Count>(call_.receive.count * output_shares_), call_.receive.type,
                                     comm_));
  }

 private:
  std::byte* output() const { return const_cast<std::byte*>(static_cast<const std::byte*>(call_.receive.buffer)); }

  const std::byte* plain(const Block& elements, int64_t first, int64_t shares, const Datatypes& datatypes,
                         Workspace& workspace) const {
    MPI_Aint lowest = 0, extent = 0;
    check(HOCKET_REAL(MPI_Type_get_extent)(elements.type, &lowest, &extent));
    const auto* const input = static_cast<const std::byte*>(elements.buffer) + first * extent;
    if (datatypes.of(elements.type).is_plain) return input;
    const int64_t bytes = share_bytes_ * shares;
    std::byte* const packed = workspace.take(bytes);
    Count position = 0;
    check(HOCKET_LARGEST(MPI_Pack)(input, static_cast<Count>(elements.count * shares), elements.type, packed,
                                   static_cast<Count>(bytes), &position, comm_));
    return packed;
  }

  const CollectiveCall& call_;
  const MPI_Comm comm_;
  int64_t share_bytes_ = 0;
  int64_t output_shares_ = 0;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  bool is_packed_ = false;
};

}  // namespace

void MpiMessages::exchange(const executor::Round& round, const Memory& memory) {
  requests_.assign(round.receives.size() + round.sends.size(), MPI_REQUEST_NULL);
  size_t next = 0;
  const auto bytes = [&](const executor::Message& message) {
    return static_cast<Count>(message.count * memory.chunk_bytes);
  };
  // Receives first, so that messages find them posted and need not be buffered by MPI.
  for (const executor::Message& message : round.receives) {
    check(HOCKET_LARGEST(MPI_Irecv)(memory.at(message.place), bytes(message), MPI_BYTE, message.peer, kTag, comm_,
                                    &requests_[next++]));
  }
  for (const executor::Message& message : round.sends) {
    check(HOCKET_LARGEST(MPI_Isend)(memory.at(message.place), bytes(message), MPI_BYTE, message.peer, kTag, comm_,
                                    &requests_[next++]));
  }
  int is_done = 0;
  for (int polls = 0; polls < kPolls && is_done == 0; polls++) {
    check(HOCKET_REAL(MPI_Testall)(static_cast<int>(next), requests_.data(), &is_done, MPI_STATUSES_IGNORE));
  }
  if (is_done != 0) return;
  check(HOCKET_REAL(MPI_Waitall)(static_cast<int>(next), requests_.data(), MPI_STATUSES_IGNORE));
}

void MpiMessages::set_reduction(MPI_Datatype type, const TypeInfo& info, MPI_Op op) {
  type_ = type;
  element_bytes_ = info.bytes;
  op_ = op;
  engine_type_.reset();
  // Sums and products alone: what MAX and MIN make of NaNs is each library's own.
  if (op != MPI_SUM && op != MPI_PROD) return;
  engine_op_ = op == MPI_SUM ? executor::ReduceOp::kSum : executor::ReduceOp::kProd;
  const auto* const known = std::ranges::find(kReduced, std::string_view(info.name), &Reduced::name);
  if (known != kReduced.end()) engine_type_ = known->type;
}

/// By the engine's loops, which read and write what they must alone; else by MPI's own operation, which knows more
/// types.
void MpiMessages::reduce(const executor::Call&, const std::byte* left, const std::byte* right, std::byte* out,
                         int64_t bytes) {
  if (engine_type_) {
    executor::reduce(*engine_type_, engine_op_, left, right, out, bytes / element_bytes_);
    return;
  }
  // MPI_Reduce_local adds into its second buffer. Predefined operations commute, so the operands may change places.
  if (right == out) std::swap(left, right);
  if (left != out) std::memmove(out, left, static_cast<size_t>(bytes));
  check(HOCKET_LARGEST(MPI_Reduce_local)(right, out, static_cast<Count>(bytes / element_bytes_), type_, op_));
}

void run_served(const executor::Algorithm& algorithm, const executor::Choice& choice, const executor::Request& request,
                const executor::Program& program, Member& member, const CollectiveCall& call,
                const Datatypes& datatypes) {
  MpiMessages& messages = *member.messages;
  Workspace& workspace = messages.workspace();
  const Workspace::Lease lease(workspace);
  if (request.kind->reduces) messages.set_reduction(call.receive.type, datatypes.of(call.receive.type), call.op);
  const PlainBuffers plain(request, member, call, datatypes, workspace);
  const Binding binding(algorithm, choice, request, member.rank, plain.buffers(), workspace);
  messages.run(program, {.buffers = binding.buffers(), .chunk_bytes = binding.chunk_bytes()});
  binding.finish();
  plain.finish();
}

}  // namespace hocket::mpi
