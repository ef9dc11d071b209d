#include "chain.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <stdexcept>

namespace hocket::nccl {
namespace {

constexpr int kOldest = 4, kNewest = 7;
/// Kinds of events up to each version.
constexpr std::array<uint64_t, kNewest + 1> kKnown{0, 0, 0, 0, kNetPlugin, kKernelLaunch, kCopyBatch, kKernelPhase};

/// What NCCL starts because of a kind: its parents, by the number of its bit.
constexpr std::array<uint64_t, kEventTypes> kParents{
    kGroupApi,                    // group
    kGroup | kCollectiveApi,      // collective
    kGroup | kPointToPointApi,    // point to point
    kCollective | kPointToPoint,  // proxy operation
    kProxyOperation,              // proxy step
    0,                            // proxy control
    kCollective | kPointToPoint,  // kernel channel
    kProxyStep,                   // net plugin
    0,                            // group API
    kGroupApi,                    // collective API
    kGroupApi,                    // point to point API
    kGroupApi,                    // kernel launch
    kCollectiveApi,               // copy collective
    kCopyCollective,              // copy sync
    kCopyCollective,              // copy batch
    kKernelChannel,               // kernel phase
};

/// Which kinds ask for a kind: itself and all below it, by the number of its bit.
constexpr std::array<uint64_t, kEventTypes> kAskers = [] {
  std::array<uint64_t, kEventTypes> askers{};
  for (int asker = 0; asker < kEventTypes; ++asker) {
    uint64_t above = uint64_t{1} << asker, seen = 0;
    while (above != seen) {
      seen = above;
      for (int bit = 0; bit < kEventTypes; ++bit) above |= (above >> bit & 1) != 0 ? kParents[bit] : 0;
    }
    for (int bit = 0; bit < kEventTypes; ++bit) askers[bit] |= (above >> bit & 1) << asker;
  }
  return askers;
}();

/// As NCCL looks for NCCL_PROFILER_PLUGIN.
void* open_library(const std::string& library) {
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string why = opened == nullptr ? dlerror() : "";
  if (opened == nullptr && library.find('/') == library.npos) {
    opened = dlopen(("libnccl-profiler-" + library + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (opened == nullptr) throw std::runtime_error(why);
  return opened;
}

void* symbol(void* library, int version) {
  return dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str());
}

std::string offered(void* library) {
  std::string all;
  for (int version = 1; version <= kNewest; ++version) {
    if (symbol(library, version) != nullptr) all += (all.empty() ? "v" : ", v") + std::to_string(version);
  }
  return all.empty() ? "no profiler" : all;
}

}  // namespace

Chain::Chain(const std::string& library, int version, uint32_t entries, uint64_t mark)
    : process_(getpid()), links_(entries, mark, true) {
  void* const opened = open_library(library);
  for (version_ = version; version_ >= kOldest && table_ == nullptr;) {
    table_ = static_cast<const Table*>(symbol(opened, version_));
    if (table_ == nullptr) --version_;
  }
  Dl_info mine{}, found{};
  const bool known = dladdr(&kParents, &mine) != 0 && dladdr(table_, &found) != 0;
  if (table_ != nullptr && known && mine.dli_fbase == found.dli_fbase) throw std::runtime_error("it is this profiler");
  if (table_ != nullptr) return;
  const std::string offers = offered(opened);
  dlclose(opened);
  throw std::runtime_error("it offers " + offers + ", but v4 to v" + std::to_string(version) +
                           " of NCCL's profiler interface can be chained to this NCCL");
}

bool Chain::open(ChainedContext& context, const CommunicatorPlace& place, Logger log) {
  const auto [name, id, nodes, ranks, rank] = place;
  Result result;
  if (version_ == 4) {
    result = reinterpret_cast<decltype(Profiler4::init)>(table_->init)(&context.other, &mask_, name, id, nodes, ranks,
                                                                       rank, log);
  } else {
    result = reinterpret_cast<decltype(Profiler<Descriptor7>::init)>(table_->init)(&context.other, id, &mask_, name,
                                                                                   nodes, ranks, rank, log);
  }
  context.open = result == kSuccess && context.other != nullptr;
  return result == kSuccess;
}

void Chain::close(ChainedContext& context) {
  if (context.open.exchange(false)) table_->finalize(context.other);
}

bool Chain::wants(uint64_t type) const {
  return type <= kKnown[version_] && (events() & kAskers[std::countr_zero(type)]) != 0;
}

Handle Chain::own(Handle handle) {
  Link* const link = links_.acquire(handle);
  if (link == nullptr) return handle;
  const Handle own = link->own;
  release(*link);
  return own;
}

void* Chain::other_of(Handle handle) {
  Link* const link = links_.acquire(handle);
  if (link == nullptr) return nullptr;
  void* const other = link->other;
  release(*link);
  return other;
}

Handle Chain::begin(ChainedContext& context, Handle own, Handle parent, void* descriptor) {
  Link* const link = links_.take();
  if (link == nullptr) return own;  // Too many are under way: the second profiler misses this one.
  // The parent's link lasts until this event stops, as its record does.
  link->parent = links_.acquire(parent) == nullptr ? 0 : parent;
  link->own = own;
  link->context = &context;
  link->other = nullptr;
  table_->start_event(context.other, &link->other, descriptor);
  return links_.handle(*link);
}

Handle Chain::stop(Handle handle) {
  Link* const link = links_.stop(handle);
  if (link == nullptr) return handle;
  const Handle own = link->own;
  if (link->other != nullptr && link->context->open.load()) table_->stop_event(link->other);
  if (link->parent != 0) release(links_.held(link->parent));
  release(*link);
  return own;
}

Handle Chain::change_state(Handle handle, int state, StateArguments* arguments) {
  Link* const link = links_.acquire(handle);
  if (link == nullptr) return handle;
  const Handle own = link->own;
  if (link->other != nullptr && link->context->open.load()) table_->record_event_state(link->other, state, arguments);
  release(*link);
  return own;
}

}  // namespace hocket::nccl
