#include "record_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace hocket::nccl {
namespace {

constexpr size_t kSegmentBytes = kSegmentRecords * sizeof(Record);

/// Maps a part of the file whose blocks are all there: a full disk is an error here, not a signal later; so is a limit
/// on the size of files.
int map_part(int file, uint64_t offset, size_t bytes, void** mapped) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && offset + bytes > limit.rlim_cur) return EFBIG;
  if (const int error = posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes))) return error;
  *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  return *mapped == MAP_FAILED ? errno : 0;
}

}  // namespace

// Every mapped segment but the current one has a slot that is held, so there are never more of them than slots.
RecordFile::RecordFile(const std::string& path, size_t slots)
    : segments_(std::make_unique<Segment[]>(slots + 2)), count_(slots + 2) {
  free_.reserve(count_);
  for (size_t at = count_; at-- > 1;) free_.push_back(&segments_[at]);
  current_ = &segments_[0];  // Nothing is mapped, all of it taken: Grow maps the first.
  const auto check = [&](int error) {
    if (error == 0) return;
    if (file_ >= 0) {  // Nothing is left that a reader would take for a damaged file.
      close(file_);
      unlink(path.c_str());
    }
    throw std::runtime_error(path + ": " + std::strerror(error));
  };
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  check(file_ < 0 ? errno : 0);
  void* mapped = nullptr;
  check(map_part(file_, 0, kHeaderBytes, &mapped));
  header_ = static_cast<FileHeader*>(mapped);
  grow();
  check(header_->error);
}

RecordFile::~RecordFile() {
  for (size_t at = 0; at < count_; ++at) {
    if (segments_[at].records != nullptr) munmap(segments_[at].records, kSegmentBytes);
  }
  if (header_ != nullptr) munmap(header_, kHeaderBytes);
  if (file_ >= 0) close(file_);
}

// Lock-free but for one call in kSegmentRecords, since NCCL's proxy threads wait for nobody. Additions that find the
// segment full are harmless: they are as many as threads that met there.
Slot RecordFile::take() {
  while (!failed_.load(std::memory_order_relaxed)) {
    Segment* segment = current_.load(std::memory_order_acquire);
    const uint32_t at = segment->taken.fetch_add(1, std::memory_order_acq_rel);
    // Who took a slot keeps the segment mapped until that slot is recycled.
    if (at < kSegmentRecords) return {segment->records + at, segment, segment->first + at};
    grow();
  }
  return {};
}

void RecordFile::recycle(const Slot& slot) {
  Segment& segment = *slot.segment;
  // The last one out unmaps, so memory is that of segments with records under way.
  if (segment.recycled.fetch_add(1, std::memory_order_acq_rel) + 1 != kSegmentRecords) return;
  munmap(segment.records, kSegmentBytes);
  segment.records = nullptr;
  segment.recycled.store(0, std::memory_order_relaxed);
  const std::lock_guard lock(growing_);
  free_.push_back(&segment);
}

void RecordFile::grow() {
  const std::lock_guard lock(growing_);
  if (failed_ || current_.load()->taken.load() < kSegmentRecords) return;  // Another thread did it.
  Segment& segment = *free_.back();
  void* mapped = nullptr;
  if (const int error = map_part(file_, kHeaderBytes + next_first_ * sizeof(Record), kSegmentBytes, &mapped)) {
    header_->error = error;
    failed_ = true;
    return;
  }
  free_.pop_back();
  segment.records = static_cast<Record*>(mapped);
  segment.first = next_first_;
  next_first_ += kSegmentRecords;
  segment.taken.store(0, std::memory_order_release);
  current_.store(&segment, std::memory_order_release);
}

}  // namespace hocket::nccl
