// Streams: work in order, each by a thread of its own, so that kernels of several ranks wait for one another as they do
// on GPUs.
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "device.hpp"

namespace hocket::stand_in {
namespace {

class Stream {
 public:
  explicit Stream(int device) : device_(device), thread_([this] { serve(); }) { thread_.detach(); }

  void enqueue(std::function<void()> work) {
    std::lock_guard<std::mutex> held(lock_);
    waiting_.push_back(std::move(work));
    changed_.notify_all();
  }

  void drain() {
    std::unique_lock<std::mutex> held(lock_);
    changed_.wait(held, [this] { return waiting_.empty() && !busy_; });
  }

 private:
  void serve() {
    current_device() = device_;
    std::unique_lock<std::mutex> held(lock_);
    while (true) {
      changed_.wait(held, [this] { return !waiting_.empty(); });
      auto work = std::move(waiting_.front());
      waiting_.pop_front();
      busy_ = true;
      held.unlock();
      work();
      work = nullptr;
      held.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  int device_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false;
  std::thread thread_;
};

std::mutex streams_lock;

// Never taken down: NCCL's threads may still use them while the process ends. The default stream is one a device.
Stream& stream_of(void* handle) {
  static auto* streams = new std::map<std::pair<void*, int>, std::unique_ptr<Stream>>;
  std::lock_guard<std::mutex> held(streams_lock);
  bool is_default = reinterpret_cast<uintptr_t>(handle) < 16;
  auto& found = (*streams)[{is_default ? nullptr : handle, is_default ? current_device() : 0}];
  if (!found) found = std::make_unique<Stream>(current_device());
  return *found;
}

}  // namespace

void enqueue(void* stream, std::function<void()> work) { stream_of(stream).enqueue(std::move(work)); }

void drain(void* stream) { stream_of(stream).drain(); }

}  // namespace hocket::stand_in
