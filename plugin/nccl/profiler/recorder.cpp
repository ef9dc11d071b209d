#include "recorder.hpp"

#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>

namespace hocket::nccl {
namespace {

int64_t Now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::string Host() {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

template <class Number>
void Add(Number& shared, Number more) {
  std::atomic_ref(shared).fetch_add(more, std::memory_order_relaxed);
}

/// Makes a shared number the largest (or, with `less`, the smallest but 0) that was offered.
template <class Number, class Better>
void Improve(Number& shared, Number offered, Better better) {
  std::atomic_ref ref(shared);
  Number now = ref.load(std::memory_order_relaxed);
  while ((now == 0 || better(offered, now)) && !ref.compare_exchange_weak(now, offered, std::memory_order_relaxed)) {
  }
}

/// How long a call took: by the GPU's timer, else until its last proxy stopped; 0 where only its enqueueing is known.
int64_t TimedNs(Record& record) {
  const uint64_t start = std::atomic_ref(record.gpu_start_ns).load(std::memory_order_relaxed);
  const uint64_t stop = std::atomic_ref(record.gpu_stop_ns).load(std::memory_order_relaxed);
  if (start > 0 && stop > start) return static_cast<int64_t>(stop - start);
  const int64_t end = std::atomic_ref(record.end_ns).load(std::memory_order_relaxed);
  return end > 0 ? end - record.start_ns : 0;
}

}  // namespace

Recorder::Recorder(const Settings& settings, Logger log)
    : settings_(settings),
      log_(log),
      process_(getpid()),
      // Containers of one machine may share its name, the folder and their process ids, but hardly the nanosecond.
      // The job may change its working folder.
      stem_(std::filesystem::absolute(settings.folder).string() + "/" + Host() + "." + std::to_string(process_) + "." +
            std::to_string(Now(CLOCK_REALTIME))),
      file_((std::filesystem::create_directories(settings.folder), stem_ + ".ncclprofile"), settings.pool),
      pool_(settings.pool, static_cast<uint64_t>(process_ ^ Now(CLOCK_REALTIME) >> 10)),
      reporter_(settings_, stem_, totals_, file_.header()) {
  FileHeader& header = file_.header();
  header.format = kFormat;
  header.record_bytes = sizeof(Record);
  header.header_bytes = kHeaderBytes;
  header.events = settings.events;
  header.epoch_ns = Now(CLOCK_REALTIME);
  header.monotonic_ns = Now(CLOCK_MONOTONIC);
  header.process = static_cast<uint32_t>(process_);
  header.pool = settings.pool;
  header.place = static_cast<uint32_t>(settings.rank + 1);
  std::strncpy(header.host, Host().c_str(), sizeof header.host - 1);
  std::memcpy(header.magic, kMagic, sizeof kMagic);
}

const Communicator* Recorder::Open(uint64_t id, const char* name, int nodes, int ranks, int rank) {
  if (open_ == 0) reporter_.Start();
  ++open_;
  const auto number = static_cast<uint32_t>(communicators_.size());
  const Communicator& communicator = communicators_.emplace_back(id, number, rank, ranks);
  if (const Slot slot = file_.Take(); slot.record != nullptr) {
    Record& record = *slot.record;
    record.communicator = number;
    record.start_ns = Now(CLOCK_MONOTONIC);
    record.sequence = id;
    record.peer = rank;
    record.call.count = static_cast<uint64_t>(ranks);
    record.call.channels = static_cast<uint32_t>(nodes);
    // The name may run on over the fields that follow the function.
    if (name != nullptr) std::memcpy(&record.call, name, strnlen(name, offsetof(Call, count) - 1));
    std::atomic_ref(record.call.kind).store(kCommunicator, std::memory_order_release);
    file_.Recycle(slot);
  }
  return &communicator;
}

void Recorder::Close() {
  if (--open_ == 0) reporter_.Stop();
}

Entry* Recorder::Begin(const Communicator& communicator, EventType kind, Handle parent) {
  Entry* entry = pool_.Take();
  if (entry == nullptr) {
    Drop(kind);
    return nullptr;
  }
  if (entry->slot.record != nullptr) file_.Recycle(entry->slot);
  entry->slot = file_.Take();
  entry->communicator = &communicator;
  entry->parent = 0;
  entry->counted.store(false, std::memory_order_relaxed);
  entry->counted_ns.store(0, std::memory_order_relaxed);
  if (entry->slot.record == nullptr) {
    Release(*entry);
    Drop(kind);
    return nullptr;
  }
  Record& record = *entry->slot.record;
  record.communicator = communicator.number;
  record.start_ns = Now(CLOCK_MONOTONIC);
  if (parent == 0 || parent == ignored()) return entry;
  if (const Entry* above = pool_.Acquire(parent)) {
    entry->parent = parent;
    record.parent = above->slot.number + 1;
    Add(above->slot.record->children_started, 1u);
  } else {
    Add(file_.header().orphans, uint64_t{1});
  }
  return entry;
}

void Recorder::Publish(Entry& entry, EventType kind) {
  Record& record = *entry.slot.record;
  if (record.gpu_start_ns != 0 && entry.parent != 0) {
    Improve(pool_.held(entry.parent).slot.record->gpu_start_ns, record.gpu_start_ns, std::less());
  }
  std::atomic_ref(record.call.kind).store(static_cast<uint32_t>(kind), std::memory_order_release);
}

void Recorder::Stop(Handle handle) {
  if (handle == ignored()) return;
  Entry* entry = pool_.Stop(handle);
  if (entry == nullptr) return Add(file_.header().late, uint64_t{1});
  const int64_t now = Now(CLOCK_MONOTONIC);
  std::atomic_ref(entry->slot.record->stop_ns).store(now, std::memory_order_relaxed);
  if (entry->parent != 0) {
    Entry& above = pool_.held(entry->parent);
    Improve(above.slot.record->end_ns, now, std::greater());
    Add(above.slot.record->children_stopped, 1u);
    Release(above);
  }
  Release(*entry);
}

void Recorder::ChangeState(Handle handle, int state, const StateArguments& arguments) {
  if (handle == ignored()) return;
  Entry* entry = pool_.Acquire(handle);
  if (entry == nullptr) return Add(file_.header().late, uint64_t{1});
  Record& record = *entry->slot.record;
  if (state == kKernelChannelStop || state == kKernelPhaseStop) {
    Improve(record.gpu_stop_ns, arguments.gpu_timer, std::greater());
    // The event may have been stopped before, and its parent be free by now.
    if (Entry* above = entry->parent == 0 ? nullptr : pool_.Acquire(entry->parent)) {
      Improve(above->slot.record->gpu_stop_ns, arguments.gpu_timer, std::greater());
      Release(*above);
    }
  } else if (state == kSendWait || state == kReceiveFlushWait) {
    // In all other states of a step NCCL passes what the step before it transferred.
    Improve(record.bytes, uint64_t{arguments.transferred_bytes}, std::greater());
  } else if (state >= kProxyIdle && state <= kProxyAppendEnd) {
    std::atomic_ref(record.sequence).store(static_cast<uint64_t>(state), std::memory_order_relaxed);
    Add(record.call.count, static_cast<uint64_t>(arguments.appended_operations));
  }
  Release(*entry);
}

void Recorder::Drop(EventType kind) {
  FileHeader& header = file_.header();
  Add(header.dropped[std::countr_zero(static_cast<uint64_t>(kind))], uint64_t{1});
  if (!file_.failed() || said_full_.exchange(true) || log_ == nullptr) return;
  log_(kWarn, ~0ul, __FILE__, __LINE__, "hocket: %s.ncclprofile: %s; nothing more is recorded", stem_.c_str(),
       std::strerror(header.error));
}

void Recorder::Release(Entry& entry) {
  pool_.Release(entry, [this](Entry& idle) { Settle(idle); });
}

void Recorder::Settle(Entry& entry) {
  constexpr uint32_t kCalls = kCollective | kPointToPoint | kCopyCollective;
  if (!settings_.counts() || entry.slot.record == nullptr) return;
  Record& record = *entry.slot.record;
  const bool stopped = std::atomic_ref(record.stop_ns).load(std::memory_order_relaxed) != 0;
  if (!stopped || (record.call.kind & kCalls) == 0) return;
  Total* total = totals_.Find(*entry.communicator, record.call);
  if (!entry.counted.exchange(true)) totals_.Count(total);
  if (total == nullptr) return;
  // Children that come later make the time longer; what was counted before is taken back.
  if (const int64_t now = TimedNs(record); now > 0) {
    const int64_t before = entry.counted_ns.exchange(now);
    total->timed_ns += now - before;
    if (before == 0) ++total->timed;
  }
}

}  // namespace hocket::nccl
