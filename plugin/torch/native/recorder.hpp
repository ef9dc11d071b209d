#pragma once

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stream.hpp"

namespace hocket {

/// Nanoseconds of Python's `time.perf_counter_ns`.
inline std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// This thread's number in the stream, by first appearance.
inline std::int64_t Thread() {
  static std::atomic<std::int64_t> threads = 0;
  thread_local const std::int64_t number = threads++;
  return number;
}

inline void Append(std::string& text, std::int64_t number) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// A process group: its number in the stream and its world ranks.
struct Group {
  std::int64_t id;
  std::vector<std::int64_t> ranks;
  std::atomic<std::int64_t> next_sequence = 0;
  std::atomic<std::uint64_t> without_future = 0;  // a bit for each operation whose Work has none
};

/// What is to be known of an operation when its Work is waited for. `any_source` is null unless the Work knows the
/// sender.
struct Issued {
  std::int64_t id;
  const Group* any_source;
};

/// Writes the lines that stream.py describes. Any thread may call; none needs Python's lock. In a forked child, where
/// `mutex_` may be locked for good, everything but `Abandon` does nothing.
class Recorder {
 public:
  /// Throws std::system_error.
  void Open(const std::string& path) {
    const std::lock_guard lock(mutex_);
    stream_.Open(path);
  }

  void Close() {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.Close();
  }

  void Abandon() { stream_.Abandon(); }

  void Select(bool recording) { selected_ = recording; }

  /// Whether what is issued now is to be recorded.
  bool recording() const { return selected_ && !stream_.dropping(); }

  bool dropping() const { return stream_.dropping(); }

  void Write(std::string_view line) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.Append(line);
  }

  /// What this thread issues until `EndBatch` is one batch of messages.
  void BeginBatch() { ThreadBatch() = {.number = next_batch_++, .last = -1}; }

  /// Ends it; `work` is the last that will be waited for, or null.
  void EndBatch(const void* work) {
    const Batch batch = std::exchange(ThreadBatch(), {});
    if (work == nullptr) return;
    if (batch.last >= 0) {
      Remember(work, {batch.last, nullptr});
    } else {
      TakeWork(work);
    }
  }

  /// What this thread issues until `EndSection` it also waits for until then, without Python.
  void BeginSection() { ThreadSection().emplace(); }

  /// An operation has been issued, in a section or not.
  static void AddToSection(std::int64_t id) {
    if (std::optional<Section>& section = ThreadSection()) {
      section->ids.push_back(id);
      section->last = Now();
    }
  }

  /// Where the function has not `returned`, but raised, nobody knows for what of it the thread has waited.
  void EndSection(bool returned) {
    const std::optional<Section> section = std::exchange(ThreadSection(), std::nullopt);
    if (returned && section && !section->ids.empty()) Together("internal", section->ids, section->last);
  }

  /// Writes down a call and returns its number. `shape` describes it in JSON; `addresses` are of its outputs, where
  /// `wait_tensor` may follow.
  std::int64_t Issue(std::string_view shape, std::int64_t sequence, const std::vector<const void*>& addresses) {
    const std::lock_guard lock(mutex_);
    const std::int64_t number = ShapeNumber(shape);
    const std::int64_t id = next_id_++;
    Bound(addresses_);
    for (const void* address : addresses) addresses_[address] = id;
    AppendLine("c ", {id, number, sequence, Now(), Thread()});
    ThreadLast() = id;
    if (Batch& batch = ThreadBatch(); batch.number >= 0) {
      batch.last = id;
      AppendLine("b ", {id, batch.number});
    }
    return id;
  }

  /// The backend refused the operation: it never took place.
  void NotIssued(std::int64_t id) { WriteLine("x ", {id}); }

  /// Between the two, what this thread has issued last is what writes at `address`.
  void ForgetLast() { ThreadLast() = -1; }

  void WritesAt(const void* address) {
    if (ThreadLast() < 0 || stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    Bound(addresses_);
    addresses_[address] = ThreadLast();
  }

  void Done(std::int64_t id) { WriteLine("d ", {id, Now()}); }

  void Waited(std::int64_t id, std::int64_t begin) { WriteLine("w ", {id, begin, Now() - begin, Thread()}); }

  /// Of a receive from any source, which was world rank `peer`.
  void Waited(std::int64_t id, std::int64_t begin, std::int64_t peer) {
    WriteLine("a ", {id, begin, Now() - begin, Thread(), peer});
  }

  /// From `begin` to now this thread waited for those of the operations `ids` that have no wait: a line of that kind.
  void Together(std::string_view kind, const std::vector<std::int64_t>& ids, std::int64_t begin) {
    std::string line = R"({"k":")";
    line.append(kind).append(R"(","t0":)");
    hocket::Append(line, begin);
    line += R"(,"t1":)";
    hocket::Append(line, Now());
    line += R"(,"thread":)";
    hocket::Append(line, Thread());
    line += R"(,"ids":[)";
    for (const std::int64_t id : ids) {
      hocket::Append(line, id);
      line += ',';
    }
    line.back() = ']';
    line += "}\n";
    Write(line);
  }

  /// Remembers which operation a Work belongs to, by its address.
  void Remember(const void* work, Issued issued) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    Bound(works_);
    works_[work] = issued;
  }

  /// The operation of a Work that nobody has waited for.
  std::optional<Issued> FindWork(const void* work) {
    if (stream_.dropping()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = works_.find(work);
    return found == works_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The operation of a Work that is waited for, and forgets it.
  std::optional<Issued> TakeWork(const void* work) { return Take(works_, work); }

  /// The operation that writes at an address, and forgets it.
  std::optional<std::int64_t> TakeAddress(const void* address) { return Take(addresses_, address); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  /// The batch under way and its last message; -1 where there is none.
  struct Batch {
    std::int64_t number = -1;
    std::int64_t last = -1;
  };

  /// A function under way that issues and waits, what it has issued, and when the last of it.
  struct Section {
    std::vector<std::int64_t> ids;
    std::int64_t last = 0;
  };

  static std::optional<Section>& ThreadSection() {
    thread_local std::optional<Section> section;
    return section;
  }

  /// The number of the operation that this thread issued last, -1 for none.
  static std::int64_t& ThreadLast() {
    thread_local std::int64_t last = -1;
    return last;
  }

  static Batch& ThreadBatch() {
    thread_local Batch batch;
    return batch;
  }

  /// Of shapes, addresses and works at most so many are remembered (hook.py's LIMIT): memory must not grow with the
  /// job.
  static constexpr std::size_t kLimit = 1 << 16;

  template <typename Map>
  static void Bound(Map& map) {
    if (map.size() >= kLimit) map.clear();
  }

  template <typename Value>
  std::optional<Value> Take(std::unordered_map<const void*, Value>& map, const void* key) {
    if (stream_.dropping()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = map.find(key);
    if (found == map.end()) return std::nullopt;
    const Value value = found->second;
    map.erase(found);
    return value;
  }

  std::int64_t ShapeNumber(std::string_view shape) {
    if (const auto known = shapes_.find(shape); known != shapes_.end()) return known->second;
    Bound(shapes_);
    const std::int64_t number = next_shape_++;
    shapes_.emplace(shape, number);
    line_ = R"({"k":"shape","id":)";
    hocket::Append(line_, number);
    line_.append(",").append(shape).append("}\n");
    stream_.Append(line_);
    return number;
  }

  void WriteLine(std::string_view letter, std::initializer_list<std::int64_t> numbers) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    AppendLine(letter, numbers);
  }

  void AppendLine(std::string_view letter, std::initializer_list<std::int64_t> numbers) {
    line_ = letter;
    for (const std::int64_t number : numbers) {
      hocket::Append(line_, number);
      line_ += ' ';
    }
    line_.back() = '\n';
    stream_.Append(line_);
  }

  std::mutex mutex_;  // guards what follows but the two flags that are read without
  Stream stream_;
  std::atomic<bool> selected_ = false;
  std::atomic<std::int64_t> next_batch_ = 0;
  std::string line_;
  std::int64_t next_id_ = 0;
  std::int64_t next_shape_ = 0;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> shapes_;
  std::unordered_map<const void*, std::int64_t> addresses_;
  std::unordered_map<const void*, Issued> works_;
};

}  // namespace hocket
