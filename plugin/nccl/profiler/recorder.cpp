#include "recorder.hpp"

#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>

#include "device.hpp"

namespace hocket::nccl {
namespace {

int64_t now_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::string host() {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

template <class Number>
void add(Number& shared, Number more) {
  std::atomic_ref(shared).fetch_add(more, std::memory_order_relaxed);
}

/// Makes a shared number the largest (or, with `less`, the smallest but 0) that was offered.
template <class Number, class Better>
/// Children stop in any order and on several threads; the first start and the last end are theirs together.
void improve(Number& shared, Number offered, Better better) {
  std::atomic_ref ref(shared);
  Number now = ref.load(std::memory_order_relaxed);
  while ((now == 0 || better(offered, now)) && !ref.compare_exchange_weak(now, offered, std::memory_order_relaxed)) {
  }
}

/// How long a call took: by the GPU's timer, else until its last proxy stopped; 0 where only its enqueueing is known.
int64_t timed_ns(Record& record) {
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
      stem_(std::filesystem::absolute(settings.folder).string() + "/" + host() + "." + std::to_string(process_) + "." +
            std::to_string(now_ns(CLOCK_REALTIME))),
      file_((std::filesystem::create_directories(settings.folder), stem_ + ".ncclprofile"), settings.pool),
      pool_(settings.pool, static_cast<uint64_t>(process_ ^ now_ns(CLOCK_REALTIME) >> 10)),
      reporter_(settings_, stem_, totals_, file_.header()) {
  FileHeader& header = file_.header();
  header.format = kFormat;
  header.record_bytes = sizeof(Record);
  header.header_bytes = kHeaderBytes;
  header.events = settings.events;
  header.epoch_ns = now_ns(CLOCK_REALTIME);
  header.monotonic_ns = now_ns(CLOCK_MONOTONIC);
  header.process = static_cast<uint32_t>(process_);
  header.pool = settings.pool;
  header.place = static_cast<uint32_t>(settings.rank + 1);
  std::strncpy(header.host, host().c_str(), sizeof header.host - 1);
  std::memcpy(header.magic, kMagic, sizeof kMagic);
}

const Communicator* Recorder::open(uint64_t id, const char* name, int nodes, int ranks, int rank) {
  if (open_ == 0) reporter_.start();
  ++open_;
  const auto number = static_cast<uint32_t>(communicators_.size());
  const Communicator& communicator = communicators_.emplace_back(id, number, rank, ranks);
  if (const Slot slot = file_.take(); slot.record != nullptr) {
    Record& record = *slot.record;
    record.communicator = number;
    record.start_ns = now_ns(CLOCK_MONOTONIC);
    record.sequence = id;
    record.peer = rank;
    record.call.count = static_cast<uint64_t>(ranks);
    record.call.channels = static_cast<uint32_t>(nodes);
    record.warps = static_cast<uint32_t>(current_device() + 1);
    // The name may run on over the fields that follow the function.
    if (name != nullptr) std::memcpy(&record.call, name, strnlen(name, offsetof(Call, count) - 1));
    std::atomic_ref(record.call.kind).store(kCommunicator, std::memory_order_release);
    file_.recycle(slot);
  }
  return &communicator;
}

void Recorder::close() {
  if (--open_ == 0) reporter_.stop();
}

Entry* Recorder::begin(const Communicator& communicator, EventType kind, Handle parent) {
  Entry* entry = pool_.take();
  if (entry == nullptr) {
    drop(kind);
    return nullptr;
  }
  if (entry->slot.record != nullptr) file_.recycle(entry->slot);
  entry->slot = file_.take();
  entry->communicator = &communicator;
  entry->parent = 0;
  entry->counted.store(false, std::memory_order_relaxed);
  entry->counted_ns.store(0, std::memory_order_relaxed);
  if (entry->slot.record == nullptr) {
    release(*entry);
    drop(kind);
    return nullptr;
  }
  Record& record = *entry->slot.record;
  record.communicator = communicator.number;
  record.start_ns = now_ns(CLOCK_MONOTONIC);
  if (parent == 0 || parent == ignored()) return entry;
  // The reference lasts until this event stops: a parent is not reused under its children.
  if (const Entry* above = pool_.acquire(parent)) {
    entry->parent = parent;
    record.parent = above->slot.number + 1;
    add(above->slot.record->children_started, 1u);
  } else {
    add(file_.header().orphans, uint64_t{1});
  }
  return entry;
}

void Recorder::publish(Entry& entry, EventType kind) {
  Record& record = *entry.slot.record;
  if (record.gpu_start_ns != 0 && entry.parent != 0) {
    improve(pool_.held(entry.parent).slot.record->gpu_start_ns, record.gpu_start_ns, std::less());
  }
  // Last, and with release: a reader of the file of a running or killed job takes a record for whole once it has a
  // kind.
  std::atomic_ref(record.call.kind).store(static_cast<uint32_t>(kind), std::memory_order_release);
}

void Recorder::stop(Handle handle) {
  if (handle == ignored()) return;
  Entry* entry = pool_.stop(handle);
  if (entry == nullptr) return add(file_.header().late, uint64_t{1});
  const int64_t now = now_ns(CLOCK_MONOTONIC);
  std::atomic_ref(entry->slot.record->stop_ns).store(now, std::memory_order_relaxed);
  if (entry->parent != 0) {
    Entry& above = pool_.held(entry->parent);
    improve(above.slot.record->end_ns, now, std::greater());
    add(above.slot.record->children_stopped, 1u);
    release(above);
  }
  release(*entry);
}

void Recorder::change_state(Handle handle, int state, const StateArguments& arguments) {
  if (handle == ignored()) return;
  Entry* entry = pool_.acquire(handle);
  if (entry == nullptr) return add(file_.header().late, uint64_t{1});
  Record& record = *entry->slot.record;
  if (state == kKernelChannelStop || state == kKernelPhaseStop) {
    improve(record.gpu_stop_ns, arguments.gpu_timer, std::greater());
    // The event may have been stopped before, and its parent be free by now.
    if (Entry* above = entry->parent == 0 ? nullptr : pool_.acquire(entry->parent)) {
      improve(above->slot.record->gpu_stop_ns, arguments.gpu_timer, std::greater());
      release(*above);
    }
  } else if (state == kSendWait || state == kReceiveFlushWait) {
    // In all other states of a step NCCL passes what the step before it transferred.
    improve(record.bytes, uint64_t{arguments.transferred_bytes}, std::greater());
  } else if (state >= kProxyIdle && state <= kProxyAppendEnd) {
    std::atomic_ref(record.sequence).store(static_cast<uint64_t>(state), std::memory_order_relaxed);
    add(record.call.count, static_cast<uint64_t>(arguments.appended_operations));
  }
  release(*entry);
}

void Recorder::drop(EventType kind) {
  FileHeader& header = file_.header();
  add(header.dropped[std::countr_zero(static_cast<uint64_t>(kind))], uint64_t{1});
  if (!file_.failed() || said_full_.exchange(true) || log_ == nullptr) return;
  log_(kWarn, ~0ul, __FILE__, __LINE__, "hocket: %s.ncclprofile: %s; nothing more is recorded", stem_.c_str(),
       std::strerror(header.error));
}

void Recorder::release(Entry& entry) {
  pool_.release(entry, [this](Entry& idle) { settle(idle); });
}

// Called with no reference left or about to be: all children that have started have stopped, as far as is known now.
void Recorder::settle(Entry& entry) {
  constexpr uint32_t kCalls = kCollective | kPointToPoint | kCopyCollective;
  if (!settings_.counts() || entry.slot.record == nullptr) return;
  Record& record = *entry.slot.record;
  const bool stopped = std::atomic_ref(record.stop_ns).load(std::memory_order_relaxed) != 0;
  if (!stopped || (record.call.kind & kCalls) == 0) return;
  Total* total = totals_.find(*entry.communicator, record.call);
  if (!entry.counted.exchange(true)) totals_.count(total);
  if (total == nullptr) return;
  // Children that come later make the time longer; what was counted before is taken back.
  if (const int64_t now = timed_ns(record); now > 0) {
    const int64_t before = entry.counted_ns.exchange(now);
    total->timed_ns += now - before;
    if (before == 0) ++total->timed;
  }
}

}  // namespace hocket::nccl
