#pragma once

#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace late {

using Task = std::function<void()>;
using Clock = std::chrono::steady_clock;

/// Work that was captured instead of done, in the order of issue, which is an order it may be done in.
struct Graph {
  std::vector<Task> tasks;
  std::set<c10::StreamId> open;  // streams other than the first whose last work no other stream waits for
};

/// One recording of an event: whether its stream has come there, and when.
class Mark {
 public:
  Mark(c10::StreamId stream, std::shared_ptr<Graph> captured, std::uint64_t position)
      : stream(stream), captured(std::move(captured)), position(position) {}

  void reach() {
    const std::lock_guard lock(mutex_);
    at_ = Clock::now();
    reached_ = true;
    changed_.notify_all();
  }

  void wait() {
    refuse_capture();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }

  bool is_reached() {
    refuse_capture();
    const std::lock_guard lock(mutex_);
    return reached_;
  }

  Clock::time_point at() {
    const std::lock_guard lock(mutex_);
    return at_;
  }

  const c10::StreamId stream;
  const std::shared_ptr<Graph> captured;
  const std::uint64_t position;  // how much its stream had captured

 private:
  /// The host cannot ask for what is not done but captured; CUDA's words.
  void refuse_capture() const {
    TORCH_CHECK(captured == nullptr, "operation not permitted on an event last recorded in a capturing stream");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  Clock::time_point at_;
};

/// An event: its last recording; null before the first.
struct Event {
  std::shared_ptr<Mark> mark;
};

/// A queue of work and the thread that does it, one task after the other.
class Stream {
 public:
  explicit Stream(c10::StreamId id) : id_(id) {
    std::thread([this] { serve(); }).detach();
  }

  void push(Task task) {
    const std::lock_guard lock(mutex_);
    if (capture_ != nullptr) {
      ++captured_;
      capture_->tasks.push_back(std::move(task));
      return;
    }
    queue_.push_back(std::move(task));
    changed_.notify_all();
  }

  std::shared_ptr<Mark> record() {
    std::shared_ptr<Mark> mark;
    {
      const std::lock_guard lock(mutex_);
      mark = std::make_shared<Mark>(id_, capture_, captured_);
    }
    if (mark->captured == nullptr) push([mark] { mark->reach(); });
    return mark;
  }

  /// What is pushed from now on comes after the mark; a mark of a capture makes this stream a part of it.
  void wait_for(const std::shared_ptr<Mark>& mark);

  /// The host waits. Throws what went wrong in the stream's work.
  void synchronize() {
    TORCH_CHECK(capture() == nullptr, "operation not permitted when stream is capturing");
    record()->wait();
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      std::swap(error, error_);
    }
    if (error) std::rethrow_exception(error);
  }

  bool is_idle() {
    TORCH_CHECK(capture() == nullptr, "operation not permitted when stream is capturing");
    const std::lock_guard lock(mutex_);
    return queue_.empty() && !working_;
  }

  std::shared_ptr<Graph> capture() {
    const std::lock_guard lock(mutex_);
    return capture_;
  }

  void set_capture(std::shared_ptr<Graph> graph) {
    const std::lock_guard lock(mutex_);
    capture_ = std::move(graph);
  }

  std::uint64_t captured() {
    const std::lock_guard lock(mutex_);
    return captured_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !queue_.empty(); });
      {
        Task task = std::move(queue_.front());
        queue_.pop_front();
        working_ = true;
        lock.unlock();
        try {
          task();
        } catch (...) {
          const std::lock_guard relock(mutex_);
          error_ = std::current_exception();
        }
      }  // with what the task held
      lock.lock();
      working_ = false;
    }
  }

  const c10::StreamId id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool working_ = false;
  std::exception_ptr error_;
  std::shared_ptr<Graph> capture_;
  std::uint64_t captured_ = 0;
};

/// All streams of the one device; 0 is the default one. They live as long as the process.
class Streams {
 public:
  static Streams& get() {
    static auto* streams = new Streams;
    return *streams;
  }

  Stream& at(c10::StreamId id) {
    const std::lock_guard lock(mutex_);
    return *streams_.at(static_cast<std::size_t>(id));
  }

  c10::StreamId add() {
    const std::lock_guard lock(mutex_);
    streams_.push_back(std::make_unique<Stream>(static_cast<c10::StreamId>(streams_.size())));
    return static_cast<c10::StreamId>(streams_.size()) - 1;
  }

  /// One of a few that whoever asks shares.
  c10::StreamId from_pool() {
    constexpr std::size_t kPool = 4;
    {
      const std::lock_guard lock(mutex_);
      if (pool_.size() == kPool) return pool_[next_++ % kPool];
    }
    const c10::StreamId added = add();
    const std::lock_guard lock(mutex_);
    pool_.push_back(added);
    return added;
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return streams_.size();
  }

 private:
  Streams() { add(); }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<c10::StreamId> pool_;
  std::size_t next_ = 0;
};

inline void Stream::wait_for(const std::shared_ptr<Mark>& mark) {
  if (mark == nullptr || mark->stream == id_) return;
  const auto mine = capture();
  if (mark->captured == nullptr) {
    TORCH_CHECK(mine == nullptr, "dependency created on uncaptured work in another stream");
    push([mark] { mark->wait(); });
    return;
  }
  TORCH_CHECK(mine == nullptr || mine == mark->captured, "two captures cannot be joined");
  if (Streams::get().at(mark->stream).captured() == mark->position) mark->captured->open.erase(mark->stream);
  if (mine == nullptr) {
    set_capture(mark->captured);
    mark->captured->open.insert(id_);
  }
}

/// The calling thread's current stream.
inline c10::StreamId& current() {
  thread_local c10::StreamId stream = 0;
  return stream;
}

inline Stream& current_stream() { return Streams::get().at(current()); }

inline std::shared_ptr<Graph> begin_capture(c10::StreamId stream) {
  auto graph = std::make_shared<Graph>();
  Streams::get().at(stream).set_capture(graph);
  return graph;
}

/// Throws where another stream became a part of the capture and nothing waits for its last work.
inline void end_capture(const std::shared_ptr<Graph>& graph) {
  Streams& streams = Streams::get();
  for (std::size_t id = 0; id < streams.size(); ++id) {
    Stream& stream = streams.at(static_cast<c10::StreamId>(id));
    if (stream.capture() == graph) stream.set_capture(nullptr);
  }
  TORCH_CHECK(graph->open.empty(), "capturing stream has unjoined work");
}

}  // namespace late
