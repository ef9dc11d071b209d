/// A second profiler behind this one ($HOCKET_NCCL_PROFILER_CHAIN): NCCL itself loads one only.
#pragma once
#include <atomic>
#include <string>

#include "abi.hpp"
#include "handle_pool.hpp"

namespace hocket::nccl {

/// A communicator as the second profiler knows it.
struct ChainedContext {
  void* other = nullptr;          // What its init gave; null: it takes no events of this one.
  std::atomic<bool> open{false};  // Until its finalize, after which it may have freed everything.
};

/// What a communicator is, for init.
struct CommunicatorPlace {
  const char* name;
  uint64_t id;
  int nodes, ranks, rank;
};

/// The second profiler, as NCCL would treat it alone: it gets the events that it asks for, and those above them, with
/// its own handles and its own mask. What NCCL holds for such an event is a handle of a link between both profilers'.
///
/// The interface's versions 5 to 7 only add members behind others and kinds of events, so that the descriptor of a
/// later one is one of an earlier; to version 4 the descriptor's first byte is the type, and the parent the group, as
/// NCCL makes it.
class Chain {
 public:
  /// Loads the library (a path, or a name as in NCCL_PROFILER_PLUGIN) and takes its newest version up to `version`, by
  /// which NCCL calls. `entries` events can be under way at once. Throws std::runtime_error saying what is wrong.
  Chain(const std::string& library, int version, uint32_t entries, uint64_t mark);

  /// What NCCL must be asked for, for the second profiler.
  uint64_t events() const { return static_cast<uint64_t>(std::atomic_ref(mask_).load(std::memory_order_relaxed)); }
  const char* name() const { return table_->name; }

  /// Whether it takes the communicator. Calls of this and `close` do not overlap.
  bool open(ChainedContext& context, const CommunicatorPlace& place, Logger log);
  void close(ChainedContext& context);

  /// Of a handle of NCCL's the recorder's.
  Handle own(Handle handle);
  /// Starts the event there too, where it is wanted, and returns the handle for NCCL: of a link to `own` and what the
  /// second profiler gave, or `own`.
  template <class Descriptor>
  Handle start(ChainedContext& context, const Descriptor& descriptor, Handle own);
  /// Both return the recorder's handle of the event.
  Handle stop(Handle handle);
  Handle change_state(Handle handle, int state, StateArguments* arguments);

 private:
  struct alignas(64) Link {
    std::atomic<uint64_t> word{0};
    Handle own = 0;
    Handle parent = 0;
    void* other = nullptr;
    ChainedContext* context = nullptr;
  };
  /// ncclProfiler_vN, of any version.
  struct Table {
    const char* name;
    void* init;
    Result (*start_event)(void* context, void** event, void* descriptor);
    Result (*stop_event)(void* event);
    Result (*record_event_state)(void* event, int state, StateArguments* arguments);
    Result (*finalize)(void* context);
  };

  bool wants(uint64_t type) const;
  void release(Link& link) {
    links_.release(link, [](Link&) {});
  }
  /// What the second profiler gave for an event of NCCL's; null where it has none.
  void* other_of(Handle handle);
  Handle begin(ChainedContext& context, Handle own, Handle parent, void* descriptor);

  const int process_;
  const Table* table_ = nullptr;
  int version_ = 0;  // By which it is called.
  int mask_ = 0;     // It may keep the address, and write there at any time.
  HandlePool<Link> links_;
};

template <class Descriptor>
Handle Chain::start(ChainedContext& context, const Descriptor& descriptor, Handle own) {
  if (!context.open.load(std::memory_order_relaxed) || !wants(descriptor.type)) return own;
  Descriptor passed = descriptor;
  // With PXN a proxy works for another process of the node, and the parent is an address there.
  const bool foreign = descriptor.type == kProxyOperation && descriptor.proxy_operation.pid != process_;
  const Handle parent = foreign ? 0 : reinterpret_cast<Handle>(descriptor.parent);
  passed.parent = other_of(parent);
  if constexpr (requires { descriptor.collective.parent_group; }) {
    void** group = descriptor.type == kCollective     ? &passed.collective.parent_group
                   : descriptor.type == kPointToPoint ? &passed.point_to_point.parent_group
                                                      : nullptr;
    if (group != nullptr) *group = other_of(reinterpret_cast<Handle>(*group));
    if (group != nullptr && version_ == 4) passed.parent = *group;
  }
  return begin(context, own, parent, &passed);
}

}  // namespace hocket::nccl
