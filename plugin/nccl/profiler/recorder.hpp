/// What one process records: its file, the events under way, the totals.
#pragma once
#include <deque>
#include <string>

#include "abi.hpp"
#include "record_file.hpp"
#include "record_pool.hpp"
#include "reporter.hpp"
#include "settings.hpp"
#include "totals.hpp"

namespace hocket::nccl {

/// A parent in another process: its handle says nothing here.
constexpr Handle kForeign = 1;

/// What one event costs is an atomic addition, a clock and a line of memory: measured by
/// plugin/nccl/tests/profiler_cost.
class Recorder {
 public:
  /// Makes the folder and the file. Throws std::exception with a message that names what cannot be made.
  Recorder(const Settings& settings, Logger log);

  /// The mask of the events that NCCL is asked for.
  uint64_t events() const { return settings_.events; }
  int process() const { return process_; }
  /// The handle of what is not recorded: a null one would make NCCL leave out its children.
  Handle ignored() const { return pool_.none(); }

  /// A communicator, which lives as long as this; notes it in the file. Throws std::runtime_error where the reports
  /// have no thread. Calls of these two do not overlap.
  const Communicator* open(uint64_t id, const char* name, int nodes, int ranks, int rank);
  /// One of the open communicators has ended; with the last of them, reports are written. Late events may follow.
  void close();
  void report() { reporter_.stop(); }

  /// Begins a record, whose particulars describe(record) fills in. Allocates nothing; takes no lock but every
  /// kSegmentRecords-th time.
  template <class Describe>
  Handle start(const Communicator& communicator, EventType kind, Handle parent, Describe describe);
  /// The event has stopped, once.
  void stop(Handle handle);
  void change_state(Handle handle, int state, const StateArguments& arguments);

 private:
  Entry* begin(const Communicator& communicator, EventType kind, Handle parent);
  void publish(Entry& entry, EventType kind);
  void drop(EventType kind);
  void release(Entry& entry);
  void settle(Entry& entry);

  const Settings settings_;
  const Logger log_;
  const int process_;
  const std::string stem_;
  RecordFile file_;
  RecordPool pool_;
  Totals totals_;
  Reporter reporter_;
  std::deque<Communicator> communicators_;
  int open_ = 0;
  std::atomic<bool> said_full_{false};
};

template <class Describe>
Handle Recorder::start(const Communicator& communicator, EventType kind, Handle parent, Describe describe) {
  Entry* entry = begin(communicator, kind, parent);
  if (entry == nullptr) return ignored();
  describe(*entry->slot.record);
  publish(*entry, kind);
  return pool_.handle(*entry);
}

}  // namespace hocket::nccl
