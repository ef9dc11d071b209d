/// NCCL profiler plugin: a record of every call, one file a process, in the folder $HOCKET_NCCL_PROFILE.
///
/// This is NCCL's side: the functions it looks up. What goes wrong when the plugin begins is said once through NCCL's
/// logger; then NCCL is asked for no events, and the job goes on. The library stays loaded until the process ends
/// (-z nodelete): NCCL unloads a plugin after its last communicator, and sooner after an init that failed, for it
/// counts that communicator off twice.

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <string>

#include "chain.hpp"
#include "describe.hpp"
#include "recorder.hpp"

namespace hocket::nccl {
namespace {

/// What NCCL holds for a communicator.
struct Context {
  const Communicator* recorded = nullptr;
  ChainedContext chained;
};

/// This process's recorder, and the profiler behind it, from the first communicator until the process ends.
class Process {
 public:
  /// At exit NCCL's threads may still run: then everything they might touch stays.
  ~Process() {
    Recorder* const recorder = recorder_;
    Chain* const chain = chain_;
    const std::lock_guard lock(opening_);
    if (recorder != nullptr) recorder->report();
    if (open_ > 0) return;
    recorder_ = nullptr;
    chain_ = nullptr;
    delete recorder;
    delete chain;
  }

  Recorder* recorder() const { return recorder_.load(std::memory_order_acquire); }

  Chain* chain() const { return chain_.load(std::memory_order_acquire); }

  /// `version` of the interface is the one by which NCCL calls.
  Result open(int version, void** context, int* mask, const CommunicatorPlace& place, Logger log) noexcept {
    *context = nullptr;
    // The mask is one for all communicators of the process: those that are open already keep theirs.
    if (forked_) return kSuccess;
    const std::lock_guard lock(opening_);
    const Communicator* const recorded = record(place, log);
    begin_chain(version, log);
    if (recorded == nullptr && chain() == nullptr) return kSuccess;
    Context& made = contexts_.emplace_back();
    made.recorded = recorded;
    if (chain() != nullptr && !chain()->open(made.chained, place, log)) {
      say(log, refused_, std::string(chain()->name()) + ": its init failed; it gets no events of this communicator");
    }
    *context = &made;
    ++open_;
    mask_ = mask;
    tell_mask();
    return kSuccess;
  }

  /// The second profiler may ask for other events at any time.
  void follow_mask() {
    if (chain()->events() == told_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(opening_);
    tell_mask();
  }

  void close(Context& context) {
    const std::lock_guard lock(opening_);
    --open_;
    if (chain() != nullptr) chain()->close(context.chained);
    if (recorder() != nullptr && context.recorded != nullptr) recorder()->close();
  }

 private:
  /// A forked child shares the file but none of the threads: its copy does nothing.
  static void after_fork();

  /// The communicator in this process's profile; null where there is none.
  const Communicator* record(const CommunicatorPlace& place, Logger log) {
    try {
      if (recorder() == nullptr) {
        const Settings settings = Settings::from_environment();
        if (settings.folder.empty()) return nullptr;
        watch_forks();
        recorder_ = new Recorder(settings, log);
      }
      return recorder()->open(place.id, place.name, place.nodes, place.ranks, place.rank);
    } catch (const std::exception& error) {
      say(log, said_, std::string("no profile: ") + error.what());
      return nullptr;
    }
  }

  /// Loads the second profiler, once.
  void begin_chain(int version, Logger log) {
    const char* const library = std::getenv(kChainVariable);
    if (library == nullptr || *library == '\0' || chain_begun_) return;
    chain_begun_ = true;
    try {
      const uint32_t events = Settings::from_environment().pool;
      chain_ = new Chain(library, version, events, static_cast<uint64_t>(getpid()) * 2654435761u);
      watch_forks();
    } catch (const std::exception& error) {
      say(log, refused_, std::string(kChainVariable) + "=" + library + " is left out: " + error.what());
    }
  }

  void watch_forks() {
    if (!watching_) pthread_atfork(nullptr, nullptr, after_fork);
    watching_ = true;
  }

  void tell_mask() {
    told_ = chain() != nullptr ? chain()->events() : 0;
    const uint64_t events = told_ | (recorder() != nullptr ? recorder()->events() : 0);
    std::atomic_ref(*mask_).store(static_cast<int>(events), std::memory_order_relaxed);
  }

  /// Says it through NCCL's logger, unless something was said of this kind.
  static void say(Logger log, bool& said, const std::string& text) {
    if (!said && log != nullptr) log(kWarn, ~0ul, __FILE__, __LINE__, "hocket: %s", text.c_str());
    said = true;
  }

  static constexpr const char* kChainVariable = "HOCKET_NCCL_PROFILER_CHAIN";

  std::atomic<Recorder*> recorder_{nullptr};
  std::atomic<Chain*> chain_{nullptr};
  std::deque<Context> contexts_;
  std::atomic<uint64_t> told_{0};  // What NCCL was told that the second profiler asks for.
  int open_ = 0;                   // Communicators.
  int* mask_ = nullptr;            // NCCL's, one for the process.
  std::atomic<bool> forked_{false};
  bool said_ = false, refused_ = false, chain_begun_ = false, watching_ = false;
  std::mutex opening_;
};

Process process;

void Process::after_fork() {
  process.forked_ = true;
  process.recorder_ = nullptr;
  process.chain_ = nullptr;
}

/// The recorder's part of an event, and its handle.
template <class Descriptor>
Handle start_record(Recorder& recorder, const Communicator* communicator, Chain* chain, const Descriptor& descriptor) {
  const auto kind = static_cast<EventType>(descriptor.type);
  // NCCL makes parents of what was asked for on its own account: these get the handle of nothing, not a null one, which
  // would make it leave out their children.
  if ((kind & recorder.events()) == 0 || communicator == nullptr) return recorder.ignored();
  // With PXN a proxy works for another process of the node, and the parent is an address there.
  const bool foreign = kind == kProxyOperation && descriptor.proxy_operation.pid != recorder.process();
  const auto given = reinterpret_cast<Handle>(descriptor.parent);
  const Handle parent = foreign ? kForeign : chain != nullptr ? chain->own(given) : given;
  return recorder.start(*communicator, kind, parent, [&](Record& record) { describe(record, descriptor); });
}

template <class Descriptor>
Result start_event(void* context, void** event, Descriptor* descriptor) noexcept {
  *event = nullptr;
  Recorder* const recorder = process.recorder();
  Chain* const chain = process.chain();
  if ((recorder == nullptr && chain == nullptr) || context == nullptr) return kSuccess;
  Context& opened = *static_cast<Context*>(context);
  Handle handle = recorder == nullptr ? 0 : start_record(*recorder, opened.recorded, chain, *descriptor);
  if (chain != nullptr) {
    process.follow_mask();
    handle = chain->start(opened.chained, *descriptor, handle);
  }
  *event = reinterpret_cast<void*>(handle);
  return kSuccess;
}

Result stop_event(void* event) noexcept {
  auto handle = reinterpret_cast<Handle>(event);
  if (Chain* const chain = process.chain(); chain != nullptr && handle != 0) handle = chain->stop(handle);
  Recorder* const recorder = process.recorder();
  if (recorder != nullptr && handle != 0) recorder->stop(handle);
  return kSuccess;
}

Result record_event_state(void* event, int state, StateArguments* arguments) noexcept {
  auto handle = reinterpret_cast<Handle>(event);
  if (Chain* const chain = process.chain(); chain != nullptr && handle != 0) {
    handle = chain->change_state(handle, state, arguments);
  }
  Recorder* const recorder = process.recorder();
  if (recorder != nullptr && handle != 0 && arguments != nullptr) recorder->change_state(handle, state, *arguments);
  return kSuccess;
}

Result finalize(void* context) noexcept {
  if (context != nullptr) process.close(*static_cast<Context*>(context));
  return kSuccess;
}

Result init4(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
             Logger log) noexcept {
  return process.open(4, context, mask, {name, communicator, nodes, ranks, rank}, log);
}

template <int kVersion>
Result init(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
            Logger log) noexcept {
  return process.open(kVersion, context, mask, {name, communicator, nodes, ranks, rank}, log);
}

template <class Descriptor, int kVersion>
constexpr Profiler<Descriptor> kProfiler = {"hocket",   init<kVersion>,     start_event<Descriptor>,
                                            stop_event, record_event_state, finalize};

}  // namespace
}  // namespace hocket::nccl

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))
/// The symbols that NCCL looks for, newest first: version 4 by 2.27, 5 by 2.28, 6 by 2.29 and 2.30, 7 since 2.31.
HOCKET_EXPORT const hocket::nccl::Profiler4 ncclProfiler_v4 = {"hocket",
                                                               hocket::nccl::init4,
                                                               hocket::nccl::start_event<hocket::nccl::Descriptor4>,
                                                               hocket::nccl::stop_event,
                                                               hocket::nccl::record_event_state,
                                                               hocket::nccl::finalize};
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor5> ncclProfiler_v5 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor5, 5>;
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor6> ncclProfiler_v6 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor6, 6>;
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor7> ncclProfiler_v7 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor7, 7>;
