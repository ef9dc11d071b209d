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
    recorder->Report();
    if (recorder->open() > 0) return;
    recorder_ = nullptr;
    delete recorder;
  }

  Recorder* recorder() const { return recorder_.load(std::memory_order_acquire); }

  Result Open(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
              Logger log) noexcept {
    *context = nullptr;
    // The mask is one for all communicators of the process: those that are open already keep theirs.
    if (forked_) return kSuccess;
    try {
      const std::lock_guard lock(opening_);
      if (recorder() == nullptr) {
        const Settings settings = Settings::FromEnvironment();
        if (settings.folder.empty()) return kSuccess;
        pthread_atfork(nullptr, nullptr, AfterFork);
        recorder_ = new Recorder(settings, log);
      }
      *context = const_cast<Communicator*>(recorder()->Open(communicator, name, nodes, ranks, rank));
      std::atomic_ref(*mask).store(static_cast<int>(recorder()->events()), std::memory_order_relaxed);
    } catch (const std::exception& error) {
      const bool said = said_.exchange(true);
      if (!said && log != nullptr) log(kWarn, ~0ul, __FILE__, __LINE__, "hocket: no profile: %s", error.what());
    }
    return kSuccess;
  }

  void Close() {
    Recorder* const recorder = this->recorder();
    if (recorder == nullptr) return;
    const std::lock_guard lock(opening_);
    recorder->Close();
  }

 private:
  /// A forked child shares the file but none of the threads: its copy does nothing.
  static void AfterFork();

  std::atomic<Recorder*> recorder_{nullptr};
  std::atomic<bool> forked_{false};
  std::atomic<bool> said_{false};
  std::mutex opening_;
};

Process process;

void Process::AfterFork() {
  process.forked_ = true;
  process.recorder_ = nullptr;
}

template <class Descriptor>
Result StartEvent(void* context, void** event, Descriptor* descriptor) noexcept {
  *event = nullptr;
  Recorder* const recorder = process.recorder();
  if (recorder == nullptr || context == nullptr) return kSuccess;
  const auto kind = static_cast<EventType>(descriptor->type);
  Handle handle = recorder->ignored();
  if ((kind & recorder->events()) != 0) {
    const bool foreign = kind == kProxyOperation && descriptor->proxy_operation.pid != recorder->process();
    const Handle parent = foreign ? kForeign : reinterpret_cast<Handle>(descriptor->parent);
    handle = recorder->Start(*static_cast<const Communicator*>(context), kind, parent,
                             [&](Record& record) { Describe(record, *descriptor); });
  }
  *event = reinterpret_cast<void*>(handle);
  return kSuccess;
}

Result StopEvent(void* event) noexcept {
  Recorder* const recorder = process.recorder();
  if (recorder != nullptr && event != nullptr) recorder->Stop(reinterpret_cast<Handle>(event));
  return kSuccess;
}

Result RecordEventState(void* event, int state, StateArguments* arguments) noexcept {
  Recorder* const recorder = process.recorder();
  if (recorder == nullptr || event == nullptr || arguments == nullptr) return kSuccess;
  recorder->ChangeState(reinterpret_cast<Handle>(event), state, *arguments);
  return kSuccess;
}

Result Finalize(void* context) noexcept {
  if (context != nullptr) process.Close();
  return kSuccess;
}

Result Init4(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
             Logger log) noexcept {
  return process.Open(context, mask, name, communicator, nodes, ranks, rank, log);
}

Result Init5(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
             Logger log) noexcept {
  return process.Open(context, mask, name, communicator, nodes, ranks, rank, log);
}

template <class Descriptor>
constexpr Profiler<Descriptor> kProfiler = {"hocket",         Init5,   StartEvent<Descriptor>, StopEvent,
                                            RecordEventState, Finalize};

}  // namespace
}  // namespace hocket::nccl

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))
/// The symbols that NCCL looks for, newest first: version 4 by 2.27, 5 by 2.28, 6 by 2.29 and 2.30, 7 since 2.31.
HOCKET_EXPORT const hocket::nccl::Profiler4 ncclProfiler_v4 = {"hocket",
                                                               hocket::nccl::Init4,
                                                               hocket::nccl::StartEvent<hocket::nccl::Descriptor4>,
                                                               hocket::nccl::StopEvent,
                                                               hocket::nccl::RecordEventState,
                                                               hocket::nccl::Finalize};
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor5> ncclProfiler_v5 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor5>;
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor6> ncclProfiler_v6 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor6>;
HOCKET_EXPORT const hocket::nccl::Profiler<hocket::nccl::Descriptor7> ncclProfiler_v7 =
    hocket::nccl::kProfiler<hocket::nccl::Descriptor7>;
