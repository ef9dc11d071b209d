#pragma once

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recorder.hpp"

namespace hocket {

/// An event of a device that tells when its stream came there; null where none could be had.
using Mark = std::unique_ptr<c10::Event>;

/// When streams of devices came to a call, to its end or to the wait for it: lines `r`, `e`, `v` and `g` of stream.py.
///
/// Events are recorded on streams that are the job's own, which nothing waits for and nothing is held alive by; a
/// thread asks for them every millisecond, and events that are told are used again. Not while a graph is captured, when
/// CUDA lets nobody ask. A device's clock is told by an event whose time the host sees; a new one every second, for
/// elapsed times are milliseconds in float.
class DeviceTimes {
 public:
  explicit DeviceTimes(Recorder& recorder) : recorder_(recorder) {}

  static bool has_streams(c10::Device device) {
    return !device.is_cpu() && !device.is_meta() && c10::impl::hasDeviceGuardImpl(device.type());
  }

  /// What the device type's events can tell: PyTorch 2.5 and later asks all devices alike, of 2.4 none is asked.
  static bool can_tell(c10::Device device) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 5
    return has_streams(device);
#else
    return false;
#endif
  }

  /// Begins, once the stream is open, and again where it was closed.
  void open() {
    closed_ = false;
    if (!started_.exchange(true)) std::thread([this] { watch(); }).detach();
  }

  /// Tells what is complete, before the stream is closed, and drops the rest: the next stream knows nothing of it.
  void close() {
    if (closed_) return;
    for (const std::int64_t begin = now_ns(); waiting_ > 0 && now_ns() - begin < kLastPatienceNs;) {
      look();
      std::this_thread::sleep_for(kPeriod);
    }
    closed_ = true;
    drop();
    waiting_ = 0;
  }

  /// While one thread captures a graph, whoever calls.
  void capture(bool capturing) {
    const std::lock_guard lock(looking_);  // who looks ends before
    capturing_ = capturing;
  }

  /// The current stream's place; null where none is to be told.
  Mark mark(c10::Device device) { return capturing_ || closed_ ? nullptr : mark(current_stream(device)); }

  Mark mark(const c10::Stream& stream) {
    if (capturing_ || closed_ || waiting_ >= kLimit) return nullptr;
    try {
      if (is_captured(c10::impl::VirtualGuardImpl(stream.device_type()), stream)) return nullptr;
      Mark mark = take(stream.device());
      mark->record(stream);
      return mark;
    } catch (const std::exception&) {  // a device without events that tell times
      return nullptr;
    }
  }

  static c10::Stream current_stream(c10::Device device) {
    return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  }

  /// A stream of our own for a group: what it waits for it waits for in order.
  c10::Stream side_stream(std::int64_t group, c10::Device device) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = sides_.try_emplace({group, device.index()}, device_default(device));
    if (is_new) at->second = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
    return at->second;
  }

  /// A line of `letter` for the operations `ids` is to tell when a stream came to `first` and, unless it is null,
  /// to `second`.
  void tell(char letter, std::vector<std::int64_t> ids, Mark first, Mark second = nullptr) {
    if (first == nullptr || closed_) return;
    const std::lock_guard lock(mutex_);
    ++waiting_;
    added_.push_back({letter, std::move(ids), std::move(first), std::move(second), nullptr});
    wake_.notify_one();
  }

 private:
  /// An event and the host's time at it.
  struct Anchor {
    c10::Event event;
    std::int64_t host_ns;
  };

  struct Pending {
    char letter;
    std::vector<std::int64_t> ids;
    Mark first;
    Mark second;
    std::shared_ptr<Anchor> anchor;
  };

  struct Device {
    std::shared_ptr<Anchor> anchor;
    std::int64_t anchored_ns = 0;
    std::optional<c10::Stream> stream;  // anchors are recorded there
  };

  /// So many are waited for at once: what more comes is not told.
  static constexpr std::size_t kLimit = 1 << 14;
  static constexpr auto kPeriod = std::chrono::milliseconds(1);
  static constexpr std::int64_t kAnchorNs = 1'000'000'000;
  static constexpr std::int64_t kPatienceNs = 2'000'000;
  static constexpr std::int64_t kAgainNs = 20'000'000;
  static constexpr std::int64_t kLastPatienceNs = 200'000'000;
  static constexpr int kTries = 5;

  static c10::Stream device_default(c10::Device device) { return c10::Stream(c10::Stream::DEFAULT, device); }

  /// Whether the stream is captured by somebody whom nobody saw begin; PyTorch tells in later versions alone.
  template <typename Guard>
  static bool is_captured(const Guard& guard, const c10::Stream& stream) {
    if constexpr (requires { guard.isStreamCapturing(stream); }) {
      return guard.isStreamCapturing(stream);
    } else {
      return false;
    }
  }

  Mark take(c10::Device device) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<Mark>& idle = idle_[device];
      if (!idle.empty()) {
        Mark mark = std::move(idle.back());
        idle.pop_back();
        return mark;
      }
    }
    return std::make_unique<c10::Event>(device.type(), c10::EventFlag::BACKEND_DEFAULT);  // with timing
  }

  void watch() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return waiting_ > 0; });
      }
      std::this_thread::sleep_for(kPeriod);
      if (!closed_) look();
    }
  }

  /// Tells what is complete. Nothing goes wrong for the job: what cannot be asked is dropped.
  void look() {
    const std::lock_guard looking(looking_);
    if (capturing_) return;
    take_added();
    std::vector<Pending> left;
    for (Pending& pending : pending_) {
      try {
        if (pending.anchor == nullptr) pending.anchor = anchor(pending.first->device());
        const c10::Event& last = pending.second == nullptr ? *pending.first : *pending.second;
        if (pending.anchor == nullptr || !last.query()) {
          left.push_back(std::move(pending));
          continue;
        }
        tell(pending);
      } catch (const std::exception&) {
      }
      give_back(pending);
    }
    pending_ = std::move(left);
  }

  void take_added() {
    const std::lock_guard lock(mutex_);
    for (Pending& pending : added_) pending_.push_back(std::move(pending));
    added_.clear();
  }

  void drop() {
    const std::lock_guard looking(looking_);
    take_added();
    for (Pending& pending : pending_) give_back(pending);
    pending_.clear();
  }

  void tell(const Pending& pending) {
    const std::int64_t first = host_time(*pending.anchor, *pending.first);
    for (const std::int64_t id : pending.ids) {
      if (pending.second == nullptr) {
        recorder_.told(pending.letter, {id, first});
      } else {
        recorder_.told(pending.letter, {id, first, host_time(*pending.anchor, *pending.second)});
      }
    }
  }

  static std::int64_t host_time(const Anchor& anchor, const c10::Event& event) {
    return anchor.host_ns + static_cast<std::int64_t>(anchor.event.elapsedTime(event) * 1e6);
  }

  void give_back(Pending& pending) {
    const std::lock_guard lock(mutex_);
    --waiting_;
    std::vector<Mark>& idle = idle_[pending.first->device()];
    idle.push_back(std::move(pending.first));
    if (pending.second != nullptr) idle.push_back(std::move(pending.second));
  }

  /// The device's last one, or a new one where that is old; null while there is none.
  std::shared_ptr<Anchor> anchor(c10::Device on) {
    Device& device = devices_[on];
    if (now_ns() - device.anchored_ns < kAnchorNs) return device.anchor;
    device.anchored_ns = now_ns();
    if (!device.stream) device.stream = c10::impl::VirtualGuardImpl(on.type()).getStreamFromGlobalPool(on);
    std::int64_t narrowest = kPatienceNs;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      c10::Event event(on.type(), c10::EventFlag::BACKEND_DEFAULT);
      std::int64_t before = now_ns();
      const std::int64_t begin = before;
      event.record(*device.stream);
      std::int64_t after = now_ns();
      while (!event.query() && after - begin < kPatienceNs) before = std::exchange(after, now_ns());
      after = now_ns();
      if (event.query() && after - before < narrowest) {
        narrowest = after - before;
        device.anchor = std::make_shared<Anchor>(std::move(event), before + narrowest / 2);
      }
    }
    // On a busy host the thread that asks may lose its core: it asks again soon.
    if (device.anchor == nullptr) device.anchored_ns -= kAnchorNs - kAgainNs;
    return device.anchor;
  }

  Recorder& recorder_;
  std::atomic<bool> started_ = false, closed_ = true, capturing_ = false;
  std::atomic<std::size_t> waiting_ = 0;
  std::mutex looking_;  // held by who asks the devices; guards what is used there alone
  std::vector<Pending> pending_;
  std::unordered_map<c10::Device, Device> devices_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable wake_;
  std::vector<Pending> added_;
  std::unordered_map<c10::Device, std::vector<Mark>> idle_;
  std::map<std::pair<std::int64_t, c10::DeviceIndex>, c10::Stream> sides_;
};

}  // namespace hocket
