/// NCCL's profiler plugin interface, versions 4 to 7 (NCCL 2.27 to 2.32): own declarations with its binary layout.
/// Sizes and offsets were compared with NCCL's own headers; what is asserted here keeps them. Of the results only
/// that of init matters to NCCL: after anything but success it unloads the plugin.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../logger.hpp"

namespace hocket::nccl {

/// Bits of the activation mask and values of a descriptor's `type`.
enum EventType : uint64_t {
  kGroup = 1,
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOperation = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,
  kNetPlugin = 1 << 7,
  kGroupApi = 1 << 8,
  kCollectiveApi = 1 << 9,
  kPointToPointApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCopyCollective = 1 << 12,
  kCopySync = 1 << 13,
  kCopyBatch = 1 << 14,
  kKernelPhase = 1 << 15,
};
constexpr int kEventTypes = 16;

/// The states that carry what is recorded; all others only say how far an event is.
enum EventState : int {
  kSendWait = 9,
  kReceiveFlushWait = 11,
  kProxyIdle = 13,  // To kProxyAppendEnd: of proxy control; the last tells how many operations were appended.
  kProxyAppendEnd = 18,
  kKernelChannelStop = 22,
  kKernelPhaseStop = 31,
};

union StateArguments {
  size_t transferred_bytes;
  int appended_operations;
  void* net_data;
  uint64_t gpu_timer;
};

struct GroupApi {
  bool captured;
  int depth;
};

struct CollectiveApi5 {
  const char* function;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool captured;
};
struct CollectiveApi7 : CollectiveApi5 {
  uint64_t user_tag;
};

struct PointToPointApi5 {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool captured;
};
struct PointToPointApi7 : PointToPointApi5 {
  uint64_t user_tag;
};

struct Collective4 {
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
struct Collective5 : Collective4 {
  void* parent_group;
};
struct Collective7 : Collective5 {
  const char* kernel_variant;
  bool symmetric;
  uint64_t user_tag;
};

struct PointToPoint4 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};
struct PointToPoint5 : PointToPoint4 {
  void* parent_group;
};
struct PointToPoint7 : PointToPoint5 {
  uint64_t user_tag;
};

struct ProxyOperation {
  int pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct KernelChannel {
  uint8_t channel;
  uint64_t gpu_timer;
};

struct NetPlugin {
  int64_t id;
  void* data;
};

struct CopyCollective6 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  const char* sync_strategy;
  bool intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t copy_sequence;
  void* stream;
};
struct CopyCollective7 : CopyCollective6 {
  uint64_t user_tag;
};

struct CopySync {
  bool complete;
  int ranks;
};

struct CopyBatch {
  int operations;
  size_t bytes;
  bool intra_batch_sync;
};

struct KernelPhase {
  uint8_t channel;
  uint8_t phase;
  const char* name;
  uint64_t gpu_timer;
};

/// What startEvent gets: which member of the union holds says `type`.
/// A type for each version, although most are alike: NCCL gives a plugin what the version it looked up has, and a
/// member more or less in the union changes the size.
struct Descriptor4 {
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective4 collective;
    PointToPoint4 point_to_point;
    ProxyOperation proxy_operation;
    int proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
  };
};

struct Descriptor5 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollectiveApi5 collective_api;
    PointToPointApi5 point_to_point_api;
    void* launch_stream;
    Collective5 collective;
    PointToPoint5 point_to_point;
    ProxyOperation proxy_operation;
    int proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
  };
};

struct Descriptor6 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollectiveApi5 collective_api;
    PointToPointApi5 point_to_point_api;
    void* launch_stream;
    Collective5 collective;
    PointToPoint5 point_to_point;
    ProxyOperation proxy_operation;
    int proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
    CopyCollective6 copy_collective;
    CopySync copy_sync;
    CopyBatch copy_batch;
  };
};

struct Descriptor7 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollectiveApi7 collective_api;
    PointToPointApi7 point_to_point_api;
    void* launch_stream;
    Collective7 collective;
    PointToPoint7 point_to_point;
    ProxyOperation proxy_operation;
    int proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
    CopyCollective7 copy_collective;
    CopySync copy_sync;
    CopyBatch copy_batch;
    KernelPhase kernel_phase;
  };
};

/// What NCCL looks up by the name ncclProfiler_vN. Versions 5 to 7 differ in their descriptors only.
/// Six pointers in every version, so one library can show all of them and NCCL takes the newest that it knows.
struct Profiler4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator, int nodes, int ranks,
                 int rank, Logger log);
  Result (*start_event)(void* context, void** event, Descriptor4* descriptor);
  Result (*stop_event)(void* event);
  Result (*record_event_state)(void* event, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

template <class Descriptor>
struct Profiler {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, int* mask, const char* communicator_name, int nodes, int ranks,
                 int rank, Logger log);
  Result (*start_event)(void* context, void** event, Descriptor* descriptor);
  Result (*stop_event)(void* event);
  Result (*record_event_state)(void* event, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // A base's members come first, as in C: that is what is asserted.
static_assert(sizeof(void*) == 8 && sizeof(StateArguments) == 8 && sizeof(Profiler4) == 48);
static_assert(sizeof(GroupApi) == 8 && offsetof(GroupApi, depth) == 4);
static_assert(offsetof(CollectiveApi5, root) == 24 && offsetof(CollectiveApi5, stream) == 32);
static_assert(sizeof(CollectiveApi5) == 48 && offsetof(CollectiveApi5, captured) == 40);
static_assert(sizeof(CollectiveApi7) == 56 && offsetof(CollectiveApi7, user_tag) == 48);
static_assert(sizeof(PointToPointApi5) == 40 && offsetof(PointToPointApi5, captured) == 32);
static_assert(sizeof(PointToPointApi7) == 48 && offsetof(PointToPointApi7, user_tag) == 40);
static_assert(offsetof(Collective4, count) == 32 && offsetof(Collective4, root) == 40);
static_assert(offsetof(Collective4, datatype) == 48 && offsetof(Collective4, channels) == 56);
static_assert(offsetof(Collective4, warps) == 57 && offsetof(Collective4, algorithm) == 64);
static_assert(sizeof(Collective4) == 80 && offsetof(Collective4, protocol) == 72);
static_assert(sizeof(Collective5) == 88 && offsetof(Collective5, parent_group) == 80);
static_assert(offsetof(Collective7, kernel_variant) == 88 && offsetof(Collective7, symmetric) == 96);
static_assert(sizeof(Collective7) == 112 && offsetof(Collective7, user_tag) == 104);
static_assert(offsetof(PointToPoint4, datatype) == 16 && offsetof(PointToPoint4, count) == 24);
static_assert(offsetof(PointToPoint4, peer) == 32 && offsetof(PointToPoint4, channels) == 36);
static_assert(sizeof(PointToPoint4) == 40 && sizeof(PointToPoint5) == 48 && sizeof(PointToPoint7) == 56);
static_assert(offsetof(PointToPoint5, parent_group) == 40 && offsetof(PointToPoint7, user_tag) == 48);
static_assert(offsetof(ProxyOperation, channel) == 4 && offsetof(ProxyOperation, peer) == 8);
static_assert(sizeof(ProxyOperation) == 24 && offsetof(ProxyOperation, is_send) == 20);
static_assert(sizeof(KernelChannel) == 16 && offsetof(KernelChannel, gpu_timer) == 8 && sizeof(NetPlugin) == 16);
static_assert(offsetof(CopyCollective6, sync_strategy) == 56 && offsetof(CopyCollective6, intra_batch_sync) == 64);
static_assert(offsetof(CopyCollective6, batch_size) == 68 && offsetof(CopyCollective6, copy_sequence) == 76);
static_assert(sizeof(CopyCollective6) == 88 && offsetof(CopyCollective6, stream) == 80);
static_assert(sizeof(CopyCollective7) == 96 && offsetof(CopyCollective7, user_tag) == 88);
static_assert(sizeof(CopySync) == 8 && sizeof(CopyBatch) == 24 && offsetof(CopyBatch, bytes) == 8);
static_assert(sizeof(KernelPhase) == 24 && offsetof(KernelPhase, name) == 8 && offsetof(KernelPhase, gpu_timer) == 16);
static_assert(offsetof(Descriptor4, parent) == 8 && offsetof(Descriptor4, rank) == 16);
static_assert(offsetof(Descriptor5, parent) == 8 && offsetof(Descriptor5, rank) == 16);
static_assert(offsetof(Descriptor6, parent) == 8 && offsetof(Descriptor6, rank) == 16);
static_assert(offsetof(Descriptor7, parent) == 8 && offsetof(Descriptor7, rank) == 16);
static_assert(offsetof(Descriptor4, collective) == 24 && sizeof(Descriptor4) == 104);
static_assert(offsetof(Descriptor5, collective) == 24 && sizeof(Descriptor5) == 112);
static_assert(offsetof(Descriptor6, collective) == 24 && sizeof(Descriptor6) == 112);
static_assert(offsetof(Descriptor7, collective) == 24 && sizeof(Descriptor7) == 136);
static_assert(sizeof(Profiler<Descriptor7>) == 48);
#pragma GCC diagnostic pop

}  // namespace hocket::nccl
