#pragma once

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "shared.hpp"

namespace hocket {

/// An autograd pass and what it has issued. The engine's callbacks own it: those of a pass that raises are never
/// called, but go with it.
///
/// Keyed by the engine's number of the pass, since a pass issues from several threads.
class Pass {
 public:
  /// Of the pass under way in this thread; null outside of any. A new one `watch`es its end.
  static std::shared_ptr<Pass> current() {
    const int task = torch::autograd::get_current_graph_task_id();
    if (task == -1) return nullptr;
    std::shared_ptr<Pass> pass;
    {
      const std::lock_guard lock(mutex());
      std::weak_ptr<Pass>& known = all_passes()[task];
      pass = known.lock();
      if (pass != nullptr) return pass;
      pass = std::make_shared<Pass>(task);
      known = pass;
    }
    watch(pass);
    return pass;
  }

  explicit Pass(int task) : task_(task) {}
  Pass(const Pass&) = delete;

  ~Pass() {
    const std::lock_guard lock(mutex());
    all_passes().erase(task_);
  }

  void add(std::int64_t id, c10::Device device) {
    const std::lock_guard lock(mutex());
    ids_.push_back(id);
    device_ = device;
  }

 private:
  /// Writes down when it ends: DDP's reducer waits there, in C++, for all that was issued.
  ///
  /// The engine runs its final callbacks in order of arrival. One queued now precedes DDP's, which comes with the last
  /// bucket; one queued from there follows it.
  static void watch(const std::shared_ptr<Pass>& pass) {
    torch::autograd::Engine::get_default_engine().queue_callback([pass] {
      DeviceTimes& times = Shared::get().times;
      const std::int64_t begin = now_ns();
      const auto arrived =
          std::make_shared<Mark>(DeviceTimes::can_tell(pass->device_) ? times.mark(pass->device_) : nullptr);
      torch::autograd::Engine::get_default_engine().queue_callback([pass, begin, arrived, &times] {
        Shared::get().recorder.together("backward", pass->ids_, begin);
        if (*arrived != nullptr) times.tell('v', pass->ids_, std::move(*arrived), times.mark(pass->device_));
      });
    });
  }

  static std::mutex& mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
  }

  static std::map<int, std::weak_ptr<Pass>>& all_passes() {
    static auto* known = new std::map<int, std::weak_ptr<Pass>>;
    return *known;
  }

  const int task_;
  std::vector<std::int64_t> ids_;
  c10::Device device_ = c10::kCPU;  // of the last
};

}  // namespace hocket
