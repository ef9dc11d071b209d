// What a GPU does at once, one thread takes turns at: a fiber a part of a kernel that waits for others.
#pragma once

#include <sched.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device.hpp"

namespace hocket::stand_in {

class Fibers {
 public:
  struct Waiting {
    const char* what = nullptr;
    int peer = -1;
    uint64_t step = 0;
  };

  /** Adds a part; it may add others while it runs, which `wait` and `join` let run. */
  void add(std::function<void()> part) {
    std::lock_guard<std::mutex> held(lock_);
    fibers_.push_back(std::make_unique<Fiber>(std::move(part)));
  }

  /** Of a part: lets others run until `ready()`, or until the kernel is aborted. False where it was. */
  template <typename Ready>
  bool wait(const Ready& ready, const char* what, int peer, uint64_t step) {
    while (!ready()) {
      if (aborted_) return false;
      running_->waits_for = {what, peer, step};
      give_way();
    }
    moved_ = true;
    return !aborted_;
  }

  /** Runs all parts to their ends. `abort`: NCCL's flag, read while nothing moves. */
  void run(const volatile uint32_t* abort) {
    for (int idle = 0; !fibers_.empty();) {
      moved_ = false;
      for (size_t i = 0; i < fibers_.size(); i++) resume(*fibers_[i]);
      remove_ended();
      if (moved_) hocketMoved();
      idle = moved_ ? 0 : idle + 1;
      if (idle > 4) usleep(idle < 100 ? 20 : 200);
      if (idle > 0 && abort && *abort) aborted_ = true;
    }
  }

  bool aborted() const { return aborted_; }

  /** What its parts wait for now, for who looks from another thread at a run that stands still. */
  template <typename Say>
  void tell(const Say& say) const {
    std::lock_guard<std::mutex> held(lock_);
    for (const auto& fiber : fibers_)
      if (!fiber->ended && fiber->waits_for.what) say(fiber->waits_for);
  }

 private:
  static constexpr size_t kStackBytes = size_t{128} << 10;

  struct Fiber {
    explicit Fiber(std::function<void()> part) : work(std::move(part)), stack(new char[kStackBytes]) {}
    std::function<void()> work;
    std::unique_ptr<char[]> stack;
    ucontext_t context;
    bool started = false;
    bool ended = false;
    Waiting waits_for;
  };

  void resume(Fiber& fiber) {
    if (fiber.ended) return;
    running_ = &fiber;
    if (!fiber.started) {
      fiber.started = true;
      moved_ = true;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &scheduler_;
      auto self = reinterpret_cast<uintptr_t>(this);
      makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
    }
    swapcontext(&scheduler_, &fiber.context);
  }

  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fibers*>((static_cast<uintptr_t>(high) << 32) | low);
    Fiber* mine = self->running_;
    mine->work();
    mine->ended = true;
    self->moved_ = true;
  }

  void remove_ended() {
    std::lock_guard<std::mutex> held(lock_);
    fibers_.erase(std::remove_if(fibers_.begin(), fibers_.end(), [](const auto& fiber) { return fiber->ended; }),
                  fibers_.end());
  }

  void give_way() {
    Fiber* mine = running_;
    swapcontext(&mine->context, &scheduler_);
    running_ = mine;
  }

  mutable std::mutex lock_;  // of the list: who asks where a run stands reads it from another thread
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* running_ = nullptr;
  ucontext_t scheduler_;
  bool moved_ = false;
  bool aborted_ = false;
};

/** Parts that run beside their maker, which waits for them where it leaves the block. */
class Team {
 public:
  explicit Team(Fibers& fibers) : fibers_(fibers) {}
  ~Team() {
    fibers_.wait([this] { return *left_ == 0; }, nullptr, -1, 0);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void add(std::function<void()> part) {
    ++*left_;
    fibers_.add([part = std::move(part), left = left_] {
      part();
      --*left;
    });
  }

 private:
  Fibers& fibers_;
  std::shared_ptr<int> left_ = std::make_shared<int>(0);
};

}  // namespace hocket::stand_in
