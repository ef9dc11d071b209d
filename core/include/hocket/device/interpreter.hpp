#pragma once

#include "hocket/device/elements.hpp"
#include "hocket/device/packets.hpp"
#include "hocket/device/table.hpp"

// Runs one thread block of a program: one source for GPUs and for threads of processors.
//
// Messages go through slots in the receiver's window, in order on each connection, as in NCCL: a sender waits until one
// is free, and a receiver until one is filled. So all that was proved of a program for connections of its protocol's
// depth holds here. Counts only grow, from launch to launch, so that nothing is ever reset.
//
// Memory order, each pair beside the litmus test that it is:
// - message passing: data, release of `sent` | acquire of `sent`, data. The receiver reads what the sender wrote.
// - load buffering: data is read, release of `taken` | acquire of `taken`, data is written. The sender does not
//   overwrite what is still being read.
// - message passing within a rank: data, release of `progress` | acquire of `progress`, data.
// Lane 0 does these for its block: the others meet it before a release, and after an acquire.
// Packets need no order: each 8 bytes, which are written at once, bring their own flag.

namespace hocket::device {

/// What the lanes of a block share.
struct BlockMemory {
  uint64_t sent;      ///< messages on the connection that leaves
  uint64_t received;  ///< messages on the one that comes
  uint64_t clock;     ///< slices that all launches before have gone through
  int32_t stopped;    ///< before a step, by lane 0
  int32_t lost;       ///< within a step, by any lane
};

// What a step of each type does: the order of the types says it of the fused ones.
HOCKET_DEVICE bool sends(StepType type) {
  return type == StepType::kSend || type == StepType::kReceiveCopySend || type == StepType::kReceiveReduceSend ||
         type == StepType::kReceiveReduceCopySend;
}
HOCKET_DEVICE bool receives(StepType type) {
  return type == StepType::kReceive || static_cast<uint8_t>(type) >= static_cast<uint8_t>(StepType::kReceiveCopySend);
}
HOCKET_DEVICE bool reads(StepType type) {
  return type == StepType::kSend || type == StepType::kCopy || type == StepType::kReduce ||
         static_cast<uint8_t>(type) >= static_cast<uint8_t>(StepType::kReceiveReduceCopy);
}
HOCKET_DEVICE bool writes(StepType type) {
  return type != StepType::kSend && type != StepType::kNop && type != StepType::kReceiveReduceSend;
}

HOCKET_DEVICE int64_t smaller(int64_t left, int64_t right) { return left < right ? left : right; }

/// One block's way through a launch, as one of its lanes goes it. `A`: an `Arithmetic`.
template <typename A>
class Walk {
 public:
  HOCKET_DEVICE Walk(const Launch& launch, int32_t number, const Lanes& lanes, BlockMemory& shared)
      : launch_(launch), block_(launch.blocks[number]), number_(number), lanes_(lanes), shared_(shared) {}

  HOCKET_DEVICE void run() {
    if (lanes_.lane() == 0) begin();
    lanes_.meet();
    for (iteration_ = 0; iteration_ < launch_.iterations; iteration_++) {
      if (!enter_slice()) return;
      for (step_ = block_.first_step; step_ < block_.last_step; step_++) {
        if (!do_step(launch_.steps[step_])) return;
      }
      if (lanes_.lane() == 0 && ends_are_awaited()) publish(kEnd);
    }
    if (launch_.divided_bytes > 0 && !divide()) return;
    lanes_.meet();
    if (lanes_.lane() == 0) end();
  }

 private:
  static constexpr int32_t kEnd = 0xffff;  ///< more than any step's position
  static constexpr int32_t kLooks = 256;   ///< at a word before one looks around

  HOCKET_DEVICE uint64_t* word_of(uint8_t* window, int64_t place) const {
    return reinterpret_cast<uint64_t*>(window + place);
  }
  HOCKET_DEVICE uint8_t* own_window() const { return launch_.windows[launch_.rank]; }

  /// Lane 0 takes what the launch before has left.
  HOCKET_DEVICE void begin() {
    shared_.stopped = load_acquire(launch_.state.failure) != 0;
    shared_.lost = 0;
    shared_.clock = load_acquire(launch_.state.calls);
    if (number_ == 0) store_relaxed(word_of(own_window(), Window::begun()), call_number());
    if (block_.send_peer >= 0) shared_.sent = launch_.state.sent[block_.send_number * kWordStride];
    if (block_.receive_peer >= 0) shared_.received = launch_.state.received[block_.receive_number * kWordStride];
  }

  /// The last block to come here begins the next launch for all.
  HOCKET_DEVICE void end() {
    if (block_.send_peer >= 0) launch_.state.sent[block_.send_number * kWordStride] = shared_.sent;
    if (block_.receive_peer >= 0) launch_.state.received[block_.receive_number * kWordStride] = shared_.received;
    if (add_and_get(launch_.state.arrived) == static_cast<uint64_t>(launch_.num_blocks)) {
      store_relaxed(launch_.state.arrived, 0);
      store_release(launch_.state.calls, shared_.clock + launch_.iterations);
      store_relaxed(word_of(own_window(), Window::ended()), call_number());
    }
  }

  HOCKET_DEVICE bool ends_are_awaited() const { return launch_.scratch_chunks > 0 || launch_.divided_bytes > 0; }

  /// A block's progress after a step of a slice.
  HOCKET_DEVICE uint64_t mark(int32_t iteration, int32_t position) const {
    return (shared_.clock + iteration) << 16 | static_cast<uint64_t>(position);
  }
  HOCKET_DEVICE void publish(int32_t position) const {
    store_release(launch_.state.progress + number_ * kWordStride, mark(iteration_, position));
  }

  /// There are two slices of scratch: this one's is free when all blocks are through with the last but one.
  HOCKET_DEVICE bool enter_slice() {
    if (launch_.scratch_chunks == 0 || iteration_ < 2) return true;
    const bool is_free = go_on(lanes_.lane() != 0 || all_blocks_at(mark(iteration_ - 2, kEnd)));
    lanes_.meet();  // before lane 0 says something else
    return is_free;
  }
  HOCKET_DEVICE bool all_blocks_at(uint64_t least) const {
    for (int32_t block = 0; block < launch_.num_blocks; block++) {
      if (!await(launch_.state.progress + block * kWordStride, least, Reason::kNoStep, launch_.rank)) return false;
    }
    return true;
  }

  /// What lane 0 found out, for all.
  HOCKET_DEVICE bool go_on(bool well) {
    if (!well) shared_.stopped = 1;
    lanes_.meet();
    return shared_.stopped == 0;
  }

  // --- Waiting -------------------------------------------------------------------------------------------------------

  /// Whether the word came to be `least` in time.
  HOCKET_DEVICE bool await(const uint64_t* word, uint64_t least, Reason reason, int32_t peer) const {
    uint64_t since = 0;
    for (int32_t looks = 1; load_acquire(word) < least; looks++) {
      if (looks % kLooks == 0 && must_leave(&since, reason, peer)) return false;
      give_way(looks);
    }
    return true;
  }
  /// Whether to give up: some other rank did, or it takes too long.
  HOCKET_DEVICE bool must_leave(uint64_t* since, Reason reason, int32_t peer) const {
    const uint64_t gave_up = load_relaxed(word_of(own_window(), 0));
    if (gave_up != 0) {
      const Reason why = gave_up >= kDied ? Reason::kPeerDied : Reason::kPeerGaveUp;
      return fail(why, static_cast<int32_t>(gave_up & (kDied - 1)) - 1);
    }
    const uint64_t now = clock_ns();
    if (*since == 0) *since = now;
    if (now - *since <= launch_.timeout_ns) return false;
    // Whom this rank waits for may wait itself, for one that did not come.
    for (int32_t rank = 0; rank < launch_.num_ranks; rank++) {
      if (load_relaxed(word_of(launch_.windows[rank], Window::begun())) < call_number()) {
        return fail(Reason::kNotBegun, rank);
      }
    }
    return fail(reason, peer);
  }
  /// It grows from call to call, on all ranks alike.
  HOCKET_DEVICE uint64_t call_number() const { return shared_.clock + launch_.iterations; }
  /// Tells the host, and all others, so that they do not wait for this rank.
  HOCKET_DEVICE bool fail(Reason reason, int32_t peer) const {
    const Failure failure{reason, peer, number_, step_ - block_.first_step};
    if (claim(launch_.state.failure, failure.word())) {
      for (int32_t rank = 0; rank < launch_.num_ranks; rank++) {
        claim(word_of(launch_.windows[rank], 0), static_cast<uint64_t>(launch_.rank) + 1);
      }
    }
    return true;
  }

  // --- A step --------------------------------------------------------------------------------------------------------

  // Each step has two meetings: after lane 0 has waited, and before it tells. Without the first the other lanes might
  // read what has not come, without the second lane 0 might tell of what they have not written yet.
  HOCKET_DEVICE bool do_step(const StepRow& step) {
    if (!go_on(lanes_.lane() != 0 || may_start(step))) return false;
    disturb();
    if (step.type != StepType::kNop) {
      if (launch_.packets != 0 && (sends(step.type) || receives(step.type))) {
        move_packets(step);
      } else {
        move(step);
      }
    }
    lanes_.meet();
    if (shared_.lost != 0) return false;
    if (lanes_.lane() == 0) tell(step);
    return true;
  }

  /// Waits for all that the step needs: other blocks, the message that it takes, room for the one that it sends.
  HOCKET_DEVICE bool may_start(const StepRow& step) const {
    if (step.depend_block >= 0) {
      const uint64_t* const word = launch_.state.progress + step.depend_block * kWordStride;
      if (!await(word, mark(iteration_, step.depend_step + 1), Reason::kNoStep, launch_.rank)) return false;
    }
    if (receives(step.type) && launch_.packets == 0) {
      const uint64_t* const word = word_of(own_window(), launch_.window.sent(block_.receive_number));
      if (!await(word, shared_.received + 1, Reason::kNoMessage, block_.receive_peer)) return false;
      if (*word_of(incoming(), -kHeaderBytes) != signature()) {
        fail(Reason::kOtherCall, block_.receive_peer);
        return false;
      }
    }
    if (sends(step.type) && shared_.sent + 1 > static_cast<uint64_t>(launch_.depth)) {
      const uint64_t* const word = word_of(own_window(), launch_.window.taken(block_.send_number));
      return await(word, shared_.sent + 1 - launch_.depth, Reason::kNoRoom, block_.send_peer);
    }
    return true;
  }

  /// What others may know now that the step is done.
  HOCKET_DEVICE void tell(const StepRow& step) {
    disturb();
    if (sends(step.type)) {
      shared_.sent++;
      if (launch_.packets == 0) {
        uint8_t* const window = launch_.windows[block_.send_peer];
        store_release(word_of(window, launch_.window.sent(block_.send_at_peer)), shared_.sent);
      }
    }
    if (receives(step.type)) {
      shared_.received++;
      uint8_t* const window = launch_.windows[block_.receive_peer];
      store_release(word_of(window, launch_.window.taken(block_.receive_at_peer)), shared_.received);
    }
    if (step.published != 0) publish(step_ - block_.first_step + 1);
  }

  /// Of the messages of this slice: no other call's, nor another slice's.
  HOCKET_DEVICE uint64_t signature() const {
    return launch_.signature + (shared_.clock + iteration_) * 0x9E3779B97F4A7C15u;
  }

  // --- Memory --------------------------------------------------------------------------------------------------------

  /// The data of the message that is to be sent, or taken, next.
  HOCKET_DEVICE uint8_t* outgoing() const {
    return launch_.windows[block_.send_peer] + slot(block_.send_at_peer, shared_.sent) + kHeaderBytes;
  }
  HOCKET_DEVICE uint8_t* incoming() const {
    return own_window() + slot(block_.receive_number, shared_.received) + kHeaderBytes;
  }
  HOCKET_DEVICE int64_t slot(int32_t number, uint64_t message) const {
    const Window& window = launch_.window;
    return launch_.packets != 0 ? window.packet_slot(number, message) : window.slot(number, message);
  }

  /// Of this slice of a chunk.
  HOCKET_DEVICE int64_t bytes() const {
    return smaller(launch_.slice_bytes, launch_.chunk_bytes - iteration_ * launch_.slice_bytes);
  }
  /// Where this slice of a chunk lies.
  HOCKET_DEVICE uint8_t* place(int32_t buffer, int32_t chunk) const {
    if (buffer == 2) {
      const int64_t at = static_cast<int64_t>(iteration_ % 2) * launch_.scratch_chunks + chunk;
      return launch_.buffers[2] + at * launch_.slice_bytes;
    }
    return launch_.buffers[buffer] + chunk * launch_.chunk_bytes + iteration_ * launch_.slice_bytes;
  }
  /// Those of a step's chunks, null where it has none there.
  HOCKET_DEVICE uint8_t* source(const StepRow& step, int32_t k) const {
    return reads(step.type) ? place(step.source_buffer, step.source + k) : nullptr;
  }
  HOCKET_DEVICE uint8_t* target(const StepRow& step, int32_t k) const {
    return writes(step.type) ? place(step.target_buffer, step.target + k) : nullptr;
  }

  /// A step in plain memory, chunk by chunk: from its source, or the slot of what has come, to its target, or the slot
  /// of what goes.
  HOCKET_DEVICE void move(const StepRow& step) const {
    const bool out = sends(step.type), in = receives(step.type);
    uint8_t* const going = out ? outgoing() : nullptr;
    const uint8_t* const coming = in ? incoming() : nullptr;
    if (out && lanes_.lane() == 0) *word_of(going, -kHeaderBytes) = signature();
    for (int32_t k = 0; k < step.count; k++) {
      uint8_t* const to = target(step, k);
      const int64_t at = k * launch_.slice_bytes;
      const uint8_t* first = source(step, k);
      const uint8_t* second = nullptr;
      if (step.type == StepType::kReduce) {
        second = first;
        first = to;
      } else if (in) {
        (first == nullptr ? first : second) = coming + at;
      }
      move_bytes(first, second, to != nullptr ? to : going + at, to != nullptr && out ? going + at : nullptr);
    }
  }

  // Inputs and outputs are arguments of the template: a test of each for every pack would be a third of the loop.
  HOCKET_DEVICE void move_bytes(const uint8_t* first, const uint8_t* second, uint8_t* target, uint8_t* other) const {
    if (second == nullptr && other == nullptr) {
      move_widest<1, 1>(first, second, target, other);
    } else if (second == nullptr) {
      move_widest<1, 2>(first, second, target, other);
    } else if (other == nullptr) {
      move_widest<2, 1>(first, second, target, other);
    } else {
      move_widest<2, 2>(first, second, target, other);
    }
  }

  /// In the widest units that all addresses allow: chunks of a size that is no multiple of 16 begin anywhere.
  template <int kInputs, int kOutputs>
  HOCKET_DEVICE void move_widest(const uint8_t* first, const uint8_t* second, uint8_t* target, uint8_t* other) const {
    const auto* const all =
        reinterpret_cast<const uint8_t*>(reinterpret_cast<uint64_t>(first) | reinterpret_cast<uint64_t>(second) |
                                         reinterpret_cast<uint64_t>(target) | reinterpret_cast<uint64_t>(other));
    int64_t done = 0;
    if (may_hold<Pack>(all)) {
      done = move_units<Pack, kInputs, kOutputs>(first, second, target, other, 0);
    } else if constexpr (A::kBytes < sizeof(uint32_t)) {
      if (may_hold<uint32_t>(all)) done = move_units<uint32_t, kInputs, kOutputs>(first, second, target, other, 0);
    }
    move_units<typename A::Stored, kInputs, kOutputs>(first, second, target, other, done);
  }

  /// Each lane takes every so many units behind the first `done` bytes, some at once so that several loads are under
  /// way. Returns the end of the last whole unit.
  template <typename Unit, int kInputs, int kOutputs>
  HOCKET_DEVICE int64_t move_units(const uint8_t* first, const uint8_t* second, uint8_t* target, uint8_t* other,
                                   int64_t done) const {
    // four of the narrow ones would not fit in the registers
    constexpr int32_t kAtOnce = !HOCKET_ON_GPU ? 1 : sizeof(Unit) == sizeof(Pack) ? 4 : 2;
    constexpr int64_t kBytes = sizeof(Unit);
    const int64_t stride = kBytes * lanes_.count(), end = bytes() / kBytes * kBytes;
    for (int64_t start = done + kBytes * lanes_.lane(); start < end; start += stride * kAtOnce) {
      Unit values[kAtOnce];
      for (int32_t k = 0; k < kAtOnce; k++) {
        const int64_t at = start + k * stride;
        if (at < end) values[k] = load_unit<Unit>(first + at);
      }
      for (int32_t k = 0; k < kAtOnce; k++) {
        const int64_t at = start + k * stride;
        if (at >= end) continue;
        if (kInputs == 2) values[k] = A::combine_each(values[k], load_unit<Unit>(second + at));
        store_unit(target + at, values[k]);
        if (kOutputs == 2) store_unit(other + at, values[k]);
      }
    }
    return end;
  }

  // --- Packets -------------------------------------------------------------------------------------------------------

  /// Never 0, which fresh memory holds, and never that of the message before in the same slot.
  HOCKET_DEVICE static uint32_t flag_of(uint64_t message) { return static_cast<uint32_t>(message % 0xffffffff) + 1; }

  /// As `move`, where what comes and goes is packets: no wait before, and each lane waits for those that it takes.
  HOCKET_DEVICE void move_packets(const StepRow& step) const {
    const bool out = sends(step.type), in = receives(step.type);
    uint8_t* const going = out ? outgoing() : nullptr;
    const uint8_t* const coming = in ? incoming() : nullptr;
    if (out && lanes_.lane() == 0) store_packet(going - kHeaderBytes, signature(), flag_of(shared_.sent));
    if (in && lanes_.lane() == 0) {
      uint64_t theirs;
      if (!take_packet(coming - kHeaderBytes, &theirs)) return;
      if (theirs != signature()) {
        fail(Reason::kOtherCall, block_.receive_peer);
        lose();
        return;
      }
    }
    for (int32_t k = 0; k < step.count; k++) {
      const int64_t at = k * (launch_.slice_bytes / kPacketData) * static_cast<int64_t>(sizeof(Pack));
      if (!move_chunk(source(step, k), target(step, k), in ? coming + at : nullptr, out ? going + at : nullptr)) return;
    }
  }

  HOCKET_DEVICE bool move_chunk(const uint8_t* source, uint8_t* target, const uint8_t* coming, uint8_t* going) const {
    const int64_t size = bytes();  // what is stored may be any memory, for all that a compiler knows
    for (int64_t at = kPacketData * lanes_.lane(); at < size; at += kPacketData * lanes_.count()) {
      const int64_t packet = at / kPacketData * static_cast<int64_t>(sizeof(Pack));
      uint64_t value = source != nullptr ? load_some(source + at, size - at) : 0;
      if (coming != nullptr) {
        uint64_t theirs;
        if (!take_packet(coming + packet, &theirs)) return false;
        value = source != nullptr ? A::combine_each(value, theirs) : theirs;
      }
      if (target != nullptr) store_some(target + at, size - at, value);
      if (going != nullptr) store_packet(going + packet, value, flag_of(shared_.sent));
    }
    return true;
  }

  /// Waits for a packet. False: it did not come in time.
  HOCKET_DEVICE bool take_packet(const uint8_t* packet, uint64_t* value) const {
    const uint32_t flag = flag_of(shared_.received);
    uint64_t since = 0;
    for (int32_t looks = 1; !load_packet(packet, flag, value); looks++) {
      if (looks % kLooks == 0 && must_leave(&since, Reason::kNoMessage, block_.receive_peer)) {
        lose();
        return false;
      }
      give_way(looks);
    }
    return true;
  }
  /// Tells the block that a lane gave up: the others may still wait for packets, and give up as well.
  HOCKET_DEVICE void lose() const {
#if HOCKET_ON_GPU
    *const_cast<volatile int32_t*>(&shared_.lost) = 1;
#else
    std::atomic_ref(shared_.lost).store(1, std::memory_order_relaxed);
#endif
  }

  // --- The mean ------------------------------------------------------------------------------------------------------

  /// All blocks together divide the output by the number of ranks.
  HOCKET_DEVICE bool divide() {
    step_ = block_.last_step;
    if (!go_on(lanes_.lane() != 0 || all_blocks_at(mark(launch_.iterations - 1, kEnd)))) return false;
    auto* const output = reinterpret_cast<typename A::Stored*>(launch_.buffers[1]);
    const int64_t count = launch_.divided_bytes / A::kBytes;
    const int64_t stride = static_cast<int64_t>(lanes_.count()) * launch_.num_blocks;
    for (int64_t at = static_cast<int64_t>(number_) * lanes_.count() + lanes_.lane(); at < count; at += stride) {
      output[at] = A::divide(output[at], launch_.num_ranks);
    }
    return true;
  }

  const Launch& launch_;
  const BlockRow block_;
  const int32_t number_;
  const Lanes lanes_;
  BlockMemory& shared_;
  int32_t iteration_ = 0;
  int32_t step_ = 0;
};

}  // namespace hocket::device
