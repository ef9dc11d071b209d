#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stream.hpp"

namespace hocket {

/// A stream that is one file or, in segments, several, of which the oldest go where a cap in bytes says so.
///
/// Each begins with all that others refer to but shapes, which are to be described anew when `generation` changes. The
/// same as SegmentedStream of segments.py. Calls but `abandon` and `dropping` come one at a time.
class SegmentedStream {
 public:
  /// Opens `path` or, `in_segments`, the first of them beside it, in `max_bytes` of disk where that is not 0. Throws
  /// std::system_error.
  void open(const std::string& path, bool in_segments, std::int64_t max_bytes) {
    in_segments_ = in_segments;
    max_bytes_ = max_bytes;
    segment_bytes_ = std::numeric_limits<std::int64_t>::max();
    number_ = finished_bytes_ = 0;
    part_.clear();
    step_.reset();
    meta_.clear();
    head_.clear();
    finished_.clear();
    if (!in_segments) return stream_.open(path);
    begin_ = path.substr(0, path.size() - kEnding.size());
    if (max_bytes > 0) {
      segment_bytes_ = max_bytes / kShare;
      stream_.reserve_ahead(std::min<std::int64_t>(1 << 20, segment_bytes_ / 2));
    }
    while (std::filesystem::exists(segment_path())) ++number_;
    stream_.open(segment_path());
  }

  void append(std::string_view line) { stream_.append(line); }

  /// Appends a line with which all later segments begin, too; the first one is the meta.
  void keep(std::string_view line) {
    append(line);
    if (!in_segments_) return;
    if (meta_.empty()) {
      meta_ = line;
      return append(segment_line());
    }
    head_ += line;
  }

  /// Later segments do not begin with this line, which was kept.
  void forget(std::string_view line) {
    if (const auto at = head_.find(line); at != std::string::npos) head_.erase(at, line.size());
  }

  void end_step(std::int64_t number, std::int64_t t) {
    make_room();
    append("{\"k\":\"step\",\"n\":" + std::to_string(number) + ",\"t\":" + std::to_string(t) + "}\n");
    step_ = number + 1;
  }

  /// Begins a segment, where there are segments, of this part of the job and in this step.
  void begin_part(const std::string& part, std::int64_t step) {
    part_ = part;
    step_ = step;
    if (in_segments_) next();
  }

  /// Before an operation's issue: begins a segment where the last one is full.
  void make_room() {
    if (stream_.size() >= full_bytes()) next();
  }

  void close() { stream_.close(); }
  void abandon() { stream_.abandon(); }
  bool dropping() const { return stream_.dropping(); }

  /// Changes when a segment begins: then shapes are to be described anew.
  std::int64_t generation() const { return generation_; }

 private:
  static constexpr std::string_view kEnding = ".stream";
  static constexpr std::int64_t kShare = 8;     // of the cap is one segment: so much at most is gone with the oldest
  static constexpr std::int64_t kBlock = 4096;  // of a file system: what a file takes at least

  /// At most half of a segment says once more what others said: else a large head would fill each at once.
  std::int64_t full_bytes() const {
    return std::max(segment_bytes_, static_cast<std::int64_t>(2 * (meta_.size() + head_.size())));
  }

  std::string segment_path() const {
    char number[32];
    std::snprintf(number, sizeof number, ".%06lld", static_cast<long long>(number_));
    return begin_ + number + std::string(kEnding);
  }

  std::string segment_line() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const std::string step = step_ ? std::to_string(*step_) : "null";
    return "{\"k\":\"segment\",\"n\":" + std::to_string(number_) + ",\"part\":\"" + part_ + "\",\"step\":" + step +
           ",\"t\":" + std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) +
           ",\"cap\":" + std::to_string(max_bytes_) + "}\n";
  }

  void next() {
    if (stream_.dropping()) return;
    const std::int64_t blocks = (stream_.size() + kBlock - 1) / kBlock * kBlock;
    finished_.emplace_back(stream_.path(), blocks);
    finished_bytes_ += blocks;
    while (max_bytes_ > 0 && finished_.size() > 1 && finished_bytes_ + 2 * full_bytes() > max_bytes_) {
      const auto& [oldest, size] = finished_.front();
      unlink(oldest.c_str());
      finished_bytes_ -= size;
      finished_.pop_front();
    }
    ++number_;
    if (!stream_.move_to(segment_path())) return;
    ++generation_;
    append(meta_);
    append(segment_line());
    append(head_);
  }

  Stream stream_;
  bool in_segments_ = false;
  std::string begin_;  // of all paths
  std::int64_t max_bytes_ = 0;
  std::int64_t segment_bytes_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t number_ = 0;
  std::string part_;
  std::optional<std::int64_t> step_;
  std::int64_t generation_ = 0;
  std::string meta_, head_;
  std::deque<std::pair<std::string, std::int64_t>> finished_;
  std::int64_t finished_bytes_ = 0;
};

}  // namespace hocket
