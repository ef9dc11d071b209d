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
  const Communicator* Open(uint64_t id, const char* name, int nodes, int ranks, int rank);
  /// One of the open communicators has ended; with the last of them, reports are written. Late events may follow.
  void Close();
  int open() const { return open_; }
  void Report() { reporter_.Stop(); }

  /// Begins a record, whose particulars describe(record) fills in. Allocates nothing; takes no lock but every
  /// kSegmentRecords-th time.
  template <class Describe>
  Handle Start(const Communicator& communicator, EventType kind, Handle parent, Describe describe);
  /// The event has stopped, once.
  void Stop(Handle handle);
  void ChangeState(Handle handle, int state, const StateArguments& arguments);

 private:
  Entry* Begin(const Communicator& communicator, EventType kind, Handle parent);
  void Publish(Entry& entry, EventType kind);
  void Drop(EventType kind);
  void Release(Entry& entry);
  void Settle(Entry& entry);

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
Handle Recorder::Start(const Communicator& communicator, EventType kind, Handle parent, Describe describe) {
  Entry* entry = Begin(communicator, kind, parent);
  if (entry == nullptr) return ignored();
  describe(*entry->slot.record);
  Publish(*entry, kind);
  return pool_.handle(*entry);
}

}  // namespace hocket::nccl
