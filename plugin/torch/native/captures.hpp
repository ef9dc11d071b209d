#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hocket {

/// The calls of a graph: descriptions of their shapes, of each call the place of its shape and its batch or -1, and how
/// many collectives of each group they are.
struct Captured {
  std::vector<std::string> shapes;
  std::vector<std::pair<std::int64_t, std::int64_t>> calls;
  std::map<std::int64_t, std::int64_t> counts;
};

/// The captures of graphs under way; other threads' calls meanwhile are none of theirs: captures.py.
class Captures {
 public:
  /// Whether there are any; read without the mutex by every call.
  bool any() const { return count_ > 0; }

  /// This thread captures on a stream from now on; the capture's number.
  std::int64_t begin(std::int64_t thread, std::int64_t stream) {
    const std::lock_guard lock(mutex_);
    captures_[++begun_] = {thread, stream, {}, {}};
    count_ = captures_.size();
    return begun_;
  }

  /// What came together.
  Captured end(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    Captured captured = std::move(captures_.at(number).captured);
    captures_.erase(number);
    count_ = captures_.size();
    return captured;
  }

  /// A call is issued, a collective of `group` or a message (none): whether it is captured.
  bool take(std::int64_t thread, std::int64_t stream, const std::string& shape, std::int64_t batch,
            std::optional<std::int64_t> group) {
    const std::lock_guard lock(mutex_);
    Capture* capture = nullptr;
    for (auto& [_, one] : captures_) {  // autograd's threads work on the streams of the forward pass
      if (one.stream == stream || (capture == nullptr && one.thread == thread)) capture = &one;
      if (one.stream == stream) break;
    }
    if (capture == nullptr) return false;
    Captured& captured = capture->captured;
    const auto [place, is_new] = capture->places.try_emplace(shape, captured.shapes.size());
    if (is_new) captured.shapes.push_back(shape);
    captured.calls.emplace_back(place->second, batch);
    if (group) ++captured.counts[*group];
    return true;
  }

 private:
  struct Capture {
    std::int64_t thread;
    std::int64_t stream;
    std::unordered_map<std::string, std::int64_t> places;
    Captured captured;
  };

  std::atomic<std::size_t> count_ = 0;
  std::mutex mutex_;  // guards the rest
  std::int64_t begun_ = 0;
  std::map<std::int64_t, Capture> captures_;
};

}  // namespace hocket
