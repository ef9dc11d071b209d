#pragma once

#include "hocket/device/target.hpp"

// The tables that a launch reads, and the window in which ranks write to each other: one layout for the host, which
// writes them, and the interpreter.

namespace hocket::device {

/// Messages in packets that a connection holds.
constexpr int32_t kPacketSlots = 8;
/// Words that different threads write lie so many bytes apart.
constexpr int64_t kLineBytes = 128;
/// Before the data of a message: which call it belongs to.
constexpr int64_t kHeaderBytes = 128;
/// A packet of 16 bytes carries half as many of data, and a flag with each 4.
constexpr int64_t kPacketData = 8;

/// As `hocket::schedule::StepType`, whose header a GPU's compiler cannot read.
enum class StepType : uint8_t {
  kSend,
  kReceive,
  kCopy,
  kReduce,
  kNop,
  kReceiveCopySend,
  kReceiveReduceCopy,
  kReceiveReduceSend,
  kReceiveReduceCopySend,
};

/// A step of `hocket::executor::Program`; places are chunks of buffer 0 (input), 1 (output) or 2 (scratch).
struct StepRow {
  StepType type;
  uint8_t source_buffer;
  uint8_t target_buffer;
  uint8_t published;  ///< whether another block waits for it
  int32_t source;
  int32_t target;
  int32_t count;
  int32_t depend_block;  ///< -1: no wait
  int32_t depend_step;
};

/// A thread block: steps `first_step` .. `last_step - 1`, and its ends of connections. A connection has a number among
/// those that leave its sender, and one among those that come to its receiver.
struct BlockRow {
  int32_t send_peer;  ///< -1: none
  int32_t receive_peer;
  int32_t send_number;      ///< among this rank's
  int32_t send_at_peer;     ///< among those that come to the peer
  int32_t receive_number;   ///< among this rank's
  int32_t receive_at_peer;  ///< among those that leave the peer
  int32_t first_step;
  int32_t last_step;
};

/// The window of each rank, which all others write to:
/// - the word in which who gives up says so; which call this rank has begun, and which it is through with, which others
///   look at when they wait for long;
/// - for each connection that leaves this rank how many of its messages were taken, written by its receiver;
/// - for each that comes to it how many were sent, written by its sender; then its slots: of plain messages, and of
///   messages in packets.
struct Window {
  int32_t connections;   ///< most that leave, or come to, a rank
  int32_t plain_slots;   ///< plain messages that a connection holds
  int64_t slot_bytes;    ///< data of a plain message
  int64_t packet_bytes;  ///< data of one in packets

  HOCKET_DEVICE static int64_t begun() { return kLineBytes / 2; }
  HOCKET_DEVICE static int64_t ended() { return begun() + static_cast<int64_t>(sizeof(uint64_t)); }
  HOCKET_DEVICE int64_t taken(int32_t number) const { return kLineBytes * (1 + number); }
  HOCKET_DEVICE int64_t sent(int32_t number) const { return taken(connections + number); }
  HOCKET_DEVICE int64_t slot(int32_t number, int64_t message) const {
    return slots(number) + message % plain_slots * (kHeaderBytes + slot_bytes);
  }
  HOCKET_DEVICE int64_t packet_slot(int32_t number, int64_t message) const {
    return slots(number) + plain_slots * (kHeaderBytes + slot_bytes) +
           message % kPacketSlots * (kHeaderBytes + packet_bytes / kPacketData * 16);
  }
  HOCKET_DEVICE int64_t bytes() const { return slots(connections); }

 private:
  HOCKET_DEVICE int64_t slots(int32_t number) const {
    const int64_t each =
        plain_slots * (kHeaderBytes + slot_bytes) + kPacketSlots * (kHeaderBytes + packet_bytes / kPacketData * 16);
    return taken(2 * connections) + number * each;
  }
};

/// What a rank keeps from launch to launch, each word in a line of its own.
struct State {
  uint64_t* calls;
  uint64_t* arrived;   ///< blocks that are through with this launch
  uint64_t* failure;   ///< 0: none, else a `Failure`
  uint64_t* progress;  ///< of each block
  uint64_t* sent;      ///< messages on each connection that leaves
  uint64_t* received;  ///< messages on each that comes
};

constexpr int64_t kWordStride = kLineBytes / sizeof(uint64_t);

/// Why a rank gave up.
enum class Reason : uint8_t {
  kNone,
  kNoMessage,   ///< the peer sent nothing in time
  kNoRoom,      ///< the peer took nothing in time
  kNotBegun,    ///< the peer has not begun this call
  kNoStep,      ///< a step of this rank did not end in time
  kOtherCall,   ///< the peer's message belongs to another call
  kPeerGaveUp,  ///< and said so
  kPeerDied,    ///< said by the host, which sees processes end
};

/// In a window's first word: beside the number of a rank and 1, that its host did not say it itself.
constexpr uint64_t kDied = uint64_t{1} << 32;

/// In one word, so that the first to fail is the one to be told of.
struct Failure {
  Reason reason;
  int32_t peer;
  int32_t block;
  int32_t step;

  HOCKET_DEVICE uint64_t word() const {
    return static_cast<uint64_t>(reason) | static_cast<uint64_t>(peer + 1) << 8 | static_cast<uint64_t>(block) << 24 |
           static_cast<uint64_t>(step) << 40;
  }
  HOCKET_DEVICE static Failure of(uint64_t word) {
    return {static_cast<Reason>(word & 0xff), static_cast<int32_t>(word >> 8 & 0xffff) - 1,
            static_cast<int32_t>(word >> 24 & 0xffff), static_cast<int32_t>(word >> 40)};
  }
};

/// One call of a program on one rank.
///
/// A chunk is gone through in slices: all steps for the first slice of every chunk, then for the next, so that a
/// message fits into a slot whatever the size. Buffers are whole chunks: programs are proved for equal ones.
struct Launch {
  uint8_t* const* windows;  ///< of all ranks, as this rank reaches them
  Window window;
  State state;
  const BlockRow* blocks;
  const StepRow* steps;
  uint8_t* buffers[3];    ///< input, output, two slices of scratch
  int64_t chunk_bytes;    ///< in whole elements
  int64_t slice_bytes;    ///< a multiple of 16
  int64_t divided_bytes;  ///< of the output, which is divided in the end; 0: it is not
  int32_t iterations;     ///< slices of a chunk
  int32_t depth;          ///< messages that a connection holds
  int32_t num_blocks;
  int32_t num_ranks;
  int32_t rank;
  int32_t packets;  ///< whether messages go as packets
  int32_t scratch_chunks;
  uint64_t signature;  ///< what all ranks of the call must agree on
  uint64_t timeout_ns;
};

// The host's compiler and the GPU's lay them out alike.
static_assert(sizeof(StepRow) == 24 && sizeof(BlockRow) == 32 && sizeof(Window) == 24 && sizeof(State) == 48);
static_assert(sizeof(Launch) == 192 && alignof(Launch) == 8);

}  // namespace hocket::device
