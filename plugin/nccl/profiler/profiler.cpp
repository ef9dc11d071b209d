/// NCCL profiler plugin: a record of every call, one file a process, in the folder $HOCKET_NCCL_PROFILE.
///
/// This is NCCL's side: the functions it looks up. What goes wrong when the plugin begins is said once through NCCL's
/// logger; then NCCL is asked for no events, and the job goes on. The library stays loaded until the process ends
/// (-z nodelete): NCCL unloads a plugin after its last communicator, and sooner after an init that failed, for it
/// counts that communicator off twice.

#include <pthread.h>

#include <atomic>
#include <exception>
#include <mutex>

#include "describe.hpp"
#include "recorder.hpp"

namespace hocket::nccl {
namespace {

/// This process's recorder, from the first communicator until the process ends.
class Process {
 public:
  /// At exit NCCL's threads may still run: then everything they might touch stays.
  ~Process() {
    Recorder* recorder = recorder_;
    if (recorder == nullptr) return;
    const std::lock_guard lock(opening_);
    recorder->report();
    if (recorder->open() > 0) return;
    recorder_ = nullptr;
    delete recorder;
  }

  Recorder* recorder() const { return recorder_.load(std::memory_order_acquire); }

  Result open(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
              Logger log) noexcept {
    *context = nullptr;
    // The mask is one for all communicators of the process: those that are open already keep theirs.
    if (forked_) return kSuccess;
    try {
      const std::lock_guard lock(opening_);
      if (recorder() == nullptr) {
        const Settings settings = Settings::from_environment();
        if (settings.folder.empty()) return kSuccess;
        pthread_atfork(nullptr, nullptr, after_fork);
        recorder_ = new Recorder(settings, log);
      }
      *context = const_cast<Communicator*>(recorder()->open(communicator, name, nodes, ranks, rank));
      std::atomic_ref(*mask).store(static_cast<int>(recorder()->events()), std::memory_order_relaxed);
    } catch (const std::exception& error) {
      const bool said = said_.exchange(true);
      if (!said && log != nullptr) log(kWarn, ~0ul, __FILE__, __LINE__, "hocket: no profile: %s", error.what());
    }
    return kSuccess;
  }

  void close() {
    Recorder* const recorder = this->recorder();
    if (recorder == nullptr) return;
    const std::lock_guard lock(opening_);
    recorder->close();
  }

 private:
  /// A forked child shares the file but none of the threads: its copy does nothing.
  static void after_fork();

  std::atomic<Recorder*> recorder_{nullptr};
  std::atomic<bool> forked_{false};
  std::atomic<bool> said_{false};
  std::mutex opening_;
};

Process process;

void Process::after_fork() {
  process.forked_ = true;
  process.recorder_ = nullptr;
}

template <class Descriptor>
Result start_event(void* context, void** event, Descriptor* descriptor) noexcept {
  *event = nullptr;
  Recorder* const recorder = process.recorder();
  if (recorder == nullptr || context == nullptr) return kSuccess;
  const auto kind = static_cast<EventType>(descriptor->type);
  Handle handle = recorder->ignored();
  // NCCL makes parents of what was asked for on its own account: these get the handle of nothing, not a null one, which
  // would make it leave out their children.
  if ((kind & recorder->events()) != 0) {
    // With PXN a proxy works for another process of the node, and the parent is an address there.
    const bool foreign = kind == kProxyOperation && descriptor->proxy_operation.pid != recorder->process();
    const Handle parent = foreign ? kForeign : reinterpret_cast<Handle>(descriptor->parent);
    handle = recorder->start(*static_cast<const Communicator*>(context), kind, parent,
                             [&](Record& record) { describe(record, *descriptor); });
  }
  *event = reinterpret_cast<void*>(handle);
  return kSuccess;
}

Result stop_event(void* event) noexcept {
  Recorder* const recorder = process.recorder();
  if (recorder != nullptr && event != nullptr) recorder->stop(reinterpret_cast<Handle>(event));
  return kSuccess;
}

Result record_event_state(void* event, int state, StateArguments* arguments) noexcept {
  Recorder* const recorder = process.recorder();
  if (recorder == nullptr || event == nullptr || arguments == nullptr) return kSuccess;
  recorder->change_state(reinterpret_cast<Handle>(event), state, *arguments);
  return kSuccess;
}

Result finalize(void* context) noexcept {
  if (context != nullptr) process.close();
  return kSuccess;
}

Result init4(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
             Logger log) noexcept {
  return process.open(context, mask, name, communicator, nodes, ranks, rank, log);
}

Result init5(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
             Logger log) noexcept {
  return process.open(context, mask, name, communicator, nodes, ranks, rank, log);
}

template <class Descriptor>
constexpr Profiler<Descriptor> kProfiler = {"hocket",           init5,   start_event<Descriptor>, stop_event,
                                            record_event_state, finalize};

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
    hocket::nccl::kProfiler<hocket::nccl::Descriptor5>;
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor6> ncclProfiler_v6 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor6>;
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor7> ncclProfiler_v7 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor7>;
