/// NCCL's profiler plugin interface, versions 4 and 5: own declarations with the binary layout of NCCL 2.27 and 2.28,
/// reduced to what this plugin reads. The sizes and offsets were compared with NCCL's own headers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hocket::nccl {

/// ncclResult_t: 0 is success. Only the result of init matters to NCCL: anything else turns the plugin off.
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kSystemError = 2;

/// ncclDebugLogger_t.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

/// Bits of the activation mask and values of a descriptor's `type`.
enum EventType : uint64_t { kCollective = 2, kPointToPoint = 4 };

struct Collective {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct PointToPoint {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};

/// What NCCL passes to startEvent: version 4 has an 8-bit type, version 5 a 64-bit one; later fields are not read.
template <class Type>
struct Descriptor {
  Type type;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint point_to_point;
  };
};

using Descriptor4 = Descriptor<uint8_t>;
using Descriptor5 = Descriptor<uint64_t>;

static_assert(offsetof(Descriptor4, rank) == 16 && offsetof(Descriptor4, collective) == 24);
static_assert(offsetof(Descriptor5, rank) == 16 && offsetof(Descriptor5, collective) == 24);
static_assert(sizeof(Descriptor4) == 104);
static_assert(offsetof(Collective, datatype) == 48 && offsetof(Collective, channels) == 56);
static_assert(offsetof(Collective, algorithm) == 64 && offsetof(Collective, protocol) == 72);
static_assert(offsetof(PointToPoint, count) == 24 && offsetof(PointToPoint, peer) == 32);

struct Profiler4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator, int nodes, int ranks,
                 int rank, Logger log);
  Result (*start_event)(void* context, void** event, Descriptor4* descriptor);
  Result (*stop_event)(void* event);
  Result (*record_event_state)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};

struct Profiler5 {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, int* mask, const char* communicator_name, int nodes, int ranks,
                 int rank, Logger log);
  Result (*start_event)(void* context, void** event, Descriptor5* descriptor);
  Result (*stop_event)(void* event);
  Result (*record_event_state)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};

static_assert(sizeof(Profiler4) == 48 && sizeof(Profiler5) == 48);

}  // namespace hocket::nccl
