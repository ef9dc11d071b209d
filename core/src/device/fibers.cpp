#include "fibers.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <chrono>
#include <thread>

namespace hocket::device {
namespace {

/// The interpreter keeps some hundred bytes a call, and calls nothing that needs more.
constexpr size_t kStackBytes = size_t{64} << 10;
/// Rounds in which nobody came further: so many before the thread lets others have the core each time, then before it
/// sleeps.
constexpr int32_t kEagerRounds = 4;
/// Few: a yield hands on to whom the scheduler likes, a nap lets this thread come before others when it ends.
constexpr int32_t kYieldingRounds = 12;
constexpr std::chrono::microseconds kNap{10};
constexpr std::chrono::milliseconds kLookInterval{100};

}  // namespace

struct Fibers::Fiber {
  ucontext_t own{};                 ///< where it goes on
  ucontext_t* scheduler = nullptr;  ///< where it hands on to
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
  const BlockRun* run_block = nullptr;
  int32_t block = 0;
  bool is_done = false;
  bool moved = false;  ///< since it was resumed

  static thread_local Fiber* current;

  static void enter() {
    Fiber& self = *current;
    (*self.run_block)(self.block, {0, 1, nullptr, nullptr});
    self.is_done = true;
    self.moved = true;
  }

  void begin(const BlockRun& run, int32_t number, ucontext_t* from) {
    run_block = &run;
    block = number;
    scheduler = from;
    is_done = false;
    getcontext(&own);
    own.uc_stack.ss_sp = stack.get();
    own.uc_stack.ss_size = kStackBytes;
    own.uc_link = from;
    makecontext(&own, &enter, 0);
  }

  void resume() {
    moved = false;
    current = this;
    swapcontext(scheduler, &own);
    current = nullptr;
  }
};

thread_local Fibers::Fiber* Fibers::Fiber::current = nullptr;

namespace {

/// What a thread does after a round in which nobody came further.
void rest(int32_t idle_rounds) {
  if (idle_rounds < kEagerRounds) return;
  if (idle_rounds < kYieldingRounds) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace

Fibers::Fibers(int32_t blocks) {
  for (int32_t block = 0; block < blocks; block++) fibers_.push_back(std::make_unique<Fiber>());
}

Fibers::~Fibers() = default;

namespace {

/// Naps of this thread end when they should: by default the system adds 50 us, five times what they are.
class PunctualNaps {
 public:
  PunctualNaps() : slack_(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }
  ~PunctualNaps() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_), 0, 0, 0);
  }
  PunctualNaps(const PunctualNaps&) = delete;
  PunctualNaps& operator=(const PunctualNaps&) = delete;

 private:
  const int slack_;
};

}  // namespace

void Fibers::run(int32_t blocks, const BlockRun& run_block, const std::function<void()>& look_around) {
  const PunctualNaps punctual;
  ucontext_t scheduler;
  for (int32_t block = 0; block < blocks; block++) fibers_[block]->begin(run_block, block, &scheduler);
  auto looked = std::chrono::steady_clock::now();
  int32_t idle_rounds = 0;
  for (int32_t left = blocks; left > 0;) {
    bool moved = false;
    for (int32_t block = 0; block < blocks; block++) {
      Fiber& fiber = *fibers_[block];
      if (fiber.is_done) continue;
      fiber.resume();
      moved |= fiber.moved;
      left -= fiber.is_done ? 1 : 0;
    }
    idle_rounds = moved ? 0 : idle_rounds + 1;
    rest(idle_rounds);
    if (idle_rounds % 64 != 63) continue;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked < kLookInterval) continue;
    look_around();
    looked = now;
  }
}

bool let_fibers_run(int32_t looks) {
  Fibers::Fiber* const self = Fibers::Fiber::current;
  if (self == nullptr) return false;
  // the first look of a wait: the one before was successful
  self->moved |= looks == 1;
  swapcontext(&self->own, self->scheduler);
  return true;
}

}  // namespace hocket::device
