/// The growing file of records, mapped one segment at a time.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "record.hpp"

namespace hocket::nccl {

/// A mapped part of the file. Its last recycled slot unmaps it.
struct Segment {
  Record* records = nullptr;
  uint64_t first = 0;  // Number of its first record.
  std::atomic<uint32_t> taken{kSegmentRecords};
  std::atomic<uint32_t> recycled{0};
};

/// Room for one record, zeros at first; `record` is null where the file could not grow.
struct Slot {
  Record* record = nullptr;
  Segment* segment = nullptr;
  uint64_t number = 0;
};

class RecordFile {
 public:
  /// Makes the file, with a zeroed header and its first segment, for up to `slots` slots held at a time. Throws
  /// std::runtime_error naming the file.
  RecordFile(const std::string& path, size_t slots);
  /// Unmaps all: no slot may be in use any more.
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;

  FileHeader& header() { return *header_; }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  /// A slot, by one atomic addition; every kSegmentRecords-th call maps the next segment. The first call that finds
  /// the disk full notes it in the header; none after it tries again.
  Slot take();
  /// What the slot holds stays in the file; nobody touches it any more.
  void recycle(const Slot& slot);

 private:
  void grow();

  FileHeader* header_ = nullptr;
  int file_ = -1;
  std::atomic<Segment*> current_;
  std::mutex growing_;
  uint64_t next_first_ = 0;
  std::atomic<bool> failed_{false};
  std::unique_ptr<Segment[]> segments_;
  std::vector<Segment*> free_;
  size_t count_;
};

}  // namespace hocket::nccl
