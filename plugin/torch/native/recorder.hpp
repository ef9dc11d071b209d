#pragma once

#include <c10/core/Device.h>

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

#include "segments.hpp"

namespace hocket {

/// Nanoseconds of Python's `time.perf_counter_ns`.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// This thread's number in the stream, by first appearance.
inline std::int64_t thread_number() {
  static std::atomic<std::int64_t> threads = 0;
  thread_local const std::int64_t number = threads++;
  return number;
}

inline void append(std::string& text, std::int64_t number) {
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
/// sender; `device` is that of its tensors.
struct Issued {
  std::int64_t id;
  const Group* any_source;
  c10::Device device;
};

/// Writes the lines that stream.py describes. Any thread may call; none needs Python's lock. In a forked child, where
/// `mutex_` may be locked for good, everything but `abandon` does nothing.
///
/// Why in C++: recording a call takes two or three microseconds here and eighteen in Python (docs/collect.md); and
/// threads of autograd's engine issue collectives without Python's lock, which they would have to wait for.
class Recorder {
 public:
  /// Everything goes there from now on, as if nothing had been before. Throws std::system_error.
  void open(const std::string& path, bool in_segments, std::int64_t max_bytes) {
    const std::lock_guard lock(mutex_);
    shapes_.clear();
    addresses_.clear();
    works_.clear();
    known_works_ = 0;
    stream_.open(path, in_segments, max_bytes);
  }

  void close() {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.close();
  }

  void abandon() { stream_.abandon(); }

  void select(bool recording) { selected_ = recording; }

  /// Whether what is issued now is to be recorded.
  bool recording() const { return selected_ && !stream_.dropping(); }

  bool dropping() const { return stream_.dropping(); }

  void write(std::string_view line) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.append(line);
  }

  /// The same of a line with which later segments begin, too.
  void keep(std::string_view line) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.keep(line);
  }

  /// Later segments do not begin with this line, which was kept.
  void forget(std::string_view line) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.forget(line);
  }

  void end_step(std::int64_t number, std::int64_t t) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.end_step(number, t);
  }

  void begin_part(const std::string& part, std::int64_t step) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    stream_.begin_part(part, step);
  }

  /// What this thread issues until `end_batch` is one batch of messages.
  void begin_batch() { thread_batch() = {.number = next_batch_++, .last = -1, .device = c10::kCPU}; }

  /// Ends it; `work` is the last that will be waited for, or null.
  void end_batch(const void* work) {
    const Batch batch = std::exchange(thread_batch(), {});
    if (work == nullptr) return;
    if (batch.last >= 0) {
      remember(work, {batch.last, nullptr, batch.device});
    } else {
      take_work(work);
    }
  }

  /// What this thread issues until `end_section` it also waits for until then, without Python.
  void begin_section() { thread_section().emplace(); }

  /// An operation has been issued, in a section or not.
  static void add_to_section(std::int64_t id) {
    if (std::optional<Section>& section = thread_section()) {
      section->ids.push_back(id);
      section->last = now_ns();
    }
  }

  /// Where the function has not `returned`, but raised, nobody knows for what of it the thread has waited.
  void end_section(bool returned) {
    const std::optional<Section> section = std::exchange(thread_section(), std::nullopt);
    if (returned && section && !section->ids.empty()) together("internal", section->ids, section->last);
  }

  /// Writes down a call and returns its number. `shape` describes it in JSON; `addresses` are of its outputs, where
  /// `wait_tensor` may follow.
  std::int64_t issue(std::string_view shape, std::int64_t sequence, const std::vector<const void*>& addresses) {
    const std::lock_guard lock(mutex_);
    stream_.make_room();
    const std::int64_t number = shape_number(shape);
    const std::int64_t id = next_id_++;
    bound(addresses_);
    for (const void* address : addresses) addresses_[address] = id;
    append_line("c ", {id, number, sequence, now_ns(), thread_number()});
    thread_last() = id;
    if (Batch& batch = thread_batch(); batch.number >= 0) {
      batch.last = id;
      append_line("b ", {id, batch.number});
    }
    return id;
  }

  /// Whether what this thread issues is part of a batch.
  static bool in_batch() { return thread_batch().number >= 0; }

  /// The number of this thread's batch, -1 outside of one.
  static std::int64_t batch() { return thread_batch().number; }

  /// The device of what this thread issued last, for its batch.
  static void issued_on(c10::Device device) { thread_batch().device = device; }

  /// What a device told of an operation: a line of that letter.
  void told(char letter, std::initializer_list<std::int64_t> numbers) { write_line({letter, ' '}, numbers); }

  /// The backend refused the operation: it never took place.
  void not_issued(std::int64_t id) { write_line("x ", {id}); }

  /// Between the two, what this thread has issued last is what writes at `address`.
  void forget_last() { thread_last() = -1; }

  void writes_at(const void* address) {
    if (thread_last() < 0 || stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    bound(addresses_);
    addresses_[address] = thread_last();
  }

  void done(std::int64_t id) { write_line("d ", {id, now_ns()}); }

  void waited(std::int64_t id, std::int64_t begin) { write_line("w ", {id, begin, now_ns() - begin, thread_number()}); }

  /// Of a receive from any source, which was world rank `peer`.
  void waited(std::int64_t id, std::int64_t begin, std::int64_t peer) {
    write_line("a ", {id, begin, now_ns() - begin, thread_number(), peer});
  }

  /// From `begin` to now this thread waited for those of the operations `ids` that have no wait: a line of that kind.
  void together(std::string_view kind, const std::vector<std::int64_t>& ids, std::int64_t begin) {
    std::string line = R"({"k":")";
    line.append(kind).append(R"(","t0":)");
    hocket::append(line, begin);
    line += R"(,"t1":)";
    hocket::append(line, now_ns());
    line += R"(,"thread":)";
    hocket::append(line, thread_number());
    line += R"(,"ids":[)";
    for (const std::int64_t id : ids) {
      hocket::append(line, id);
      line += ',';
    }
    line.back() = ']';
    line += "}\n";
    write(line);
  }

  /// Remembers which operation a Work belongs to, by its address.
  void remember(const void* work, Issued issued) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    bound(works_);
    works_.insert_or_assign(work, issued);
    known_works_ = works_.size();
  }

  /// The operation of a Work that nobody has waited for.
  std::optional<Issued> find_work(const void* work) {
    if (stream_.dropping()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = works_.find(work);
    return found == works_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The operation of a Work that is waited for, and forgets it.
  std::optional<Issued> take_work(const void* work) {
    if (!remembers_works()) return std::nullopt;
    return take(works_, work);
  }

  /// Whether any Work is one of a recorded operation: between windows of steps none is.
  bool remembers_works() const { return known_works_ > 0; }

  /// The operation that writes at an address, and forgets it.
  std::optional<std::int64_t> take_address(const void* address) { return take(addresses_, address); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  /// The batch under way and its last message; -1 where there is none.
  struct Batch {
    std::int64_t number = -1;
    std::int64_t last = -1;
    c10::Device device = c10::kCPU;
  };

  /// A function under way that issues and waits, what it has issued, and when the last of it.
  struct Section {
    std::vector<std::int64_t> ids;
    std::int64_t last = 0;
  };

  static std::optional<Section>& thread_section() {
    thread_local std::optional<Section> section;
    return section;
  }

  /// The number of the operation that this thread issued last, -1 for none.
  static std::int64_t& thread_last() {
    thread_local std::int64_t last = -1;
    return last;
  }

  static Batch& thread_batch() {
    thread_local Batch batch;
    return batch;
  }

  /// Of shapes, addresses and works at most so many are remembered (hook.py's LIMIT): memory must not grow with the
  /// job.
  static constexpr std::size_t kLimit = 1 << 16;

  template <typename Map>
  static void bound(Map& map) {
    if (map.size() >= kLimit) map.clear();
  }

  template <typename Value>
  std::optional<Value> take(std::unordered_map<const void*, Value>& map, const void* key) {
    if (stream_.dropping()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = map.find(key);
    if (found == map.end()) return std::nullopt;
    const Value value = found->second;
    map.erase(found);
    known_works_ = works_.size();
    return value;
  }

  std::int64_t shape_number(std::string_view shape) {
    if (std::exchange(described_, stream_.generation()) != stream_.generation()) shapes_.clear();
    if (const auto known = shapes_.find(shape); known != shapes_.end()) return known->second;
    bound(shapes_);
    const std::int64_t number = next_shape_++;
    shapes_.emplace(shape, number);
    line_ = R"({"k":"shape","id":)";
    hocket::append(line_, number);
    line_.append(",").append(shape).append("}\n");
    stream_.append(line_);
    return number;
  }

  void write_line(const std::string& letter, std::initializer_list<std::int64_t> numbers) {
    if (stream_.dropping()) return;
    const std::lock_guard lock(mutex_);
    append_line(letter, numbers);
  }

  void append_line(std::string_view letter, std::initializer_list<std::int64_t> numbers) {
    line_ = letter;
    for (const std::int64_t number : numbers) {
      hocket::append(line_, number);
      line_ += ' ';
    }
    line_.back() = '\n';
    stream_.append(line_);
  }

  std::mutex mutex_;  // guards what follows but the two flags that are read without
  SegmentedStream stream_;
  std::int64_t described_ = 0;  // the stream's generation that has the descriptions of shapes_
  std::atomic<bool> selected_ = false;
  std::atomic<std::int64_t> next_batch_ = 0;
  std::string line_;
  std::int64_t next_id_ = 0;
  std::int64_t next_shape_ = 0;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> shapes_;
  std::unordered_map<const void*, std::int64_t> addresses_;
  std::unordered_map<const void*, Issued> works_;
  std::atomic<std::size_t> known_works_ = 0;  // read without the mutex
};

}  // namespace hocket
