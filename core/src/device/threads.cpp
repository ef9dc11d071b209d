#include "hocket/device/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <barrier>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "fibers.hpp"
#include "hocket/error.hpp"
#include "kernels.hpp"
#include "peers.hpp"

namespace hocket::device {
namespace {

/// Looks at a word before a thread gives its core away, and then before it sleeps: yielding is not enough on a machine
/// whose other threads do the same, since the scheduler lets each of them go on for its whole slice.
constexpr int32_t kSpins = 64;
constexpr int32_t kTurns = 4096;
constexpr std::chrono::microseconds kNap{50};
constexpr std::chrono::milliseconds kInterruptInterval{100};
/// Of slices, so that every one begins where a pack does.
constexpr int64_t kAlignment = 16;

/// Of a thread of a test: stops it at random, by a seed that the test records.
thread_local std::optional<std::minstd_rand> disturbance;

int64_t round_down(int64_t bytes) { return bytes / kAlignment * kAlignment; }
int64_t round_up(int64_t bytes) { return round_down(bytes + kAlignment - 1); }

}  // namespace

void give_way(int32_t looks) {
  if (let_fibers_run(looks)) return;
  disturb();
  if (looks < kSpins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else if (looks < kTurns) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(kNap);
  }
}

void disturb() {
  if (!disturbance) return;
  const auto chance = (*disturbance)() % 64;
  if (chance == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds((*disturbance)() % 200));
  } else if (chance < 8) {
    sched_yield();
  }
}

Launch launch_of(const Tables& tables, const Window& window, const Call& call, int32_t rank, int32_t num_ranks) {
  // A message is never cut: what was proved of a program is of whole messages. So its chunks share a slot.
  const int64_t room = call.packets ? window.packet_bytes : window.slot_bytes;
  const int64_t most = round_down(room / tables.largest_count);
  if (most <= 0) {
    throw Error("a message of " + std::to_string(tables.largest_count) + " chunks does not fit a slot of " +
                std::to_string(room) + " bytes");
  }
  Launch launch{};
  launch.window = window;
  launch.chunk_bytes = call.chunk_bytes;
  launch.slice_bytes = std::min(most, round_up(std::max<int64_t>(call.chunk_bytes, 1)));
  launch.iterations = static_cast<int32_t>((call.chunk_bytes + launch.slice_bytes - 1) / launch.slice_bytes);
  launch.depth = std::min(call.depth, call.packets ? kPacketSlots : window.plain_slots);
  launch.num_blocks = static_cast<int32_t>(tables.blocks.size());
  launch.num_ranks = num_ranks;
  launch.rank = rank;
  launch.packets = call.packets ? 1 : 0;
  launch.scratch_chunks = static_cast<int32_t>(tables.scratch_chunks);
  launch.divided_bytes = call.divided_bytes;
  // also what messages of the call are cut into: who cuts in another way has another program
  launch.signature = call.signature + static_cast<uint64_t>(launch.slice_bytes) * 0x9E3779B97F4A7C15u +
                     static_cast<uint64_t>(launch.iterations);
  launch.timeout_ns = static_cast<uint64_t>(call.timeout.count());
  launch.buffers[0] = reinterpret_cast<uint8_t*>(call.buffers[0]);
  launch.buffers[1] = reinterpret_cast<uint8_t*>(call.buffers[1]);
  return launch;
}

/// But for the addresses of the rank's memory, as `launch_of`. Chunks need no slot: what goes over switches lies in the
/// window itself, a slice of every chunk at a time.
SwitchLaunch switch_launch_of(const SwitchTables& tables, const SwitchWindow& window, const Call& call, int32_t rank) {
  SwitchLaunch launch{};
  launch.window = window;
  launch.runs = tables.runs.data();
  launch.buffers[0] = reinterpret_cast<uint8_t*>(call.buffers[0]);
  launch.buffers[1] = reinterpret_cast<uint8_t*>(call.buffers[1]);
  launch.chunk_bytes = call.chunk_bytes;
  launch.signature = call.signature;
  launch.timeout_ns = static_cast<uint64_t>(call.timeout.count());
  launch.num_runs = static_cast<int32_t>(tables.runs.size());
  launch.rank = rank;
  launch.adds = tables.adds ? 1 : 0;
  launch.spreads = tables.spreads ? 1 : 0;
  return launch;
}

// Users read this beside the name of their collective: the words name the rank that was waited for, not this one.
std::string words_of(const Failure& failure) {
  const std::string peer = "rank " + std::to_string(failure.peer);
  const std::string where =
      "thread block " + std::to_string(failure.block) + " step " + std::to_string(failure.step) + ": ";
  switch (failure.reason) {
    case Reason::kNoMessage:
      return where + "no message came from " + peer + " in time";
    case Reason::kNoRoom:
      return where + peer + " took no message in time";
    case Reason::kNotBegun:
      return where + peer + " has not begun this collective in time";
    case Reason::kNoStep:
      return where + "another thread block of this rank did not come so far in time";
    case Reason::kOtherCall:
      return where + peer + " is in another collective, or in one of another size, type or program";
    case Reason::kPeerGaveUp:
      return peer + " gave up";
    case Reason::kPeerDied:
      return peer + " has died";
    case Reason::kNone:
      break;
  }
  return "no failure";
}

/// Threads that wait for the next launch: to start them takes longer than most calls do.
class Threads::Pool {
 public:
  Pool(int32_t blocks, int32_t lanes, std::optional<uint64_t> seed) : lanes_(lanes), seed_(seed) {
    for (int32_t block = 0; block < blocks; block++) meetings_.push_back(std::make_unique<std::barrier<>>(lanes));
    for (int32_t block = 0; block < blocks; block++) {
      for (int32_t lane = 0; lane < lanes; lane++) threads_.emplace_back([this, block, lane] { serve(block, lane); });
    }
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Wakes the threads of so many blocks; `run_block` is used until `ended`.
  void begin(int32_t blocks, const BlockRun& run_block) {
    {
      const std::lock_guard lock(mutex_);
      run_block_ = &run_block;
      blocks_ = blocks;
      running_ = blocks_ * lanes_;
      number_++;
    }
    begun_.notify_all();
  }
  /// Whether all are through, which is waited for for a while.
  bool ended() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, kInterruptInterval, [this] { return running_ == 0; });
  }

 private:
  static void meet(void* place) { static_cast<std::barrier<>*>(place)->arrive_and_wait(); }

  void serve(int32_t block, int32_t lane) {
    if (seed_) disturbance.emplace(static_cast<uint32_t>(*seed_ * 1009 + block * 31 + lane + 1));
    const Lanes lanes{lane, lanes_, &meet, meetings_[block].get()};
    for (uint64_t seen = 0;;) {
      const BlockRun* run_block;
      {
        std::unique_lock lock(mutex_);
        begun_.wait(lock, [&] { return ends_ || (number_ != seen && block < blocks_); });
        if (ends_) return;
        seen = number_;
        run_block = run_block_;
      }
      (*run_block)(block, lanes);
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) ended_.notify_all();
    }
  }

  const int32_t lanes_;
  const std::optional<uint64_t> seed_;
  std::vector<std::unique_ptr<std::barrier<>>> meetings_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const BlockRun* run_block_ = nullptr;
  int32_t blocks_ = 0;  ///< of this launch, which is gone once it has ended
  int32_t running_ = 0;
  uint64_t number_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

Threads::Threads(int32_t rank, std::span<std::byte* const> windows, std::span<const int32_t> processes,
                 const Window& window, int32_t most_blocks, const std::optional<SwitchWindow>& switches, int32_t lanes,
                 std::optional<uint64_t> seed)
    : rank_(rank),
      window_(window),
      switches_(switches),
      most_blocks_(most_blocks),
      peers_(std::make_unique<Peers>(processes)),
      memories_(most_blocks),
      switch_memories_(most_blocks) {
  if (switches_ && switches_->blocks > most_blocks) throw Error("a window of more thread blocks than was said");
  if (lanes == 1 && !seed) {
    fibers_ = std::make_unique<Fibers>(most_blocks);
  } else {
    pool_ = std::make_unique<Pool>(most_blocks, lanes, seed);
  }
  for (std::byte* const place : windows) windows_.push_back(reinterpret_cast<uint8_t*>(place));
  words_.resize(kWordStride * (3 + 2 * most_blocks + 2 * window.connections));
  uint64_t* word = words_.data();
  const auto take = [&](int32_t count) { return std::exchange(word, word + kWordStride * count); };
  state_.calls = take(1);
  state_.arrived = take(1);
  state_.failure = take(1);
  state_.progress = take(most_blocks);
  state_.sent = take(window.connections);
  state_.received = take(window.connections);
  met_ = take(most_blocks);
}

Threads::~Threads() = default;

void Threads::run(const Tables& tables, const Call& call, const std::function<void()>& interrupted) {
  Launch launch = launch_of(tables, window_, call, rank_, static_cast<int32_t>(windows_.size()));
  if (launch.num_blocks > most_blocks_) throw Error("a program of more thread blocks than was said");
  const size_t scratch = 2 * tables.scratch_chunks * launch.slice_bytes / sizeof(Pack);
  if (scratch_.size() < scratch) scratch_.resize(scratch);
  launch.windows = windows_.data();
  launch.state = state_;
  launch.blocks = tables.blocks.data();
  launch.steps = tables.steps.data();
  launch.buffers[2] = reinterpret_cast<uint8_t*>(scratch_.data());
  Kernel* const kernel = kernel_of(call.element, call.reduction);
  const auto run_block = [&](int32_t block, const Lanes& lanes) { kernel(launch, block, lanes, memories_[block]); };
  run_blocks(launch.num_blocks, run_block, interrupted);
}

void Threads::run(const SwitchTables& tables, const Call& call, const std::function<void()>& interrupted) {
  if (!switches_) throw Error("a program over switches, for which no window was made");
  SwitchLaunch launch = switch_launch_of(tables, *switches_, call, rank_);
  launch.windows = windows_.data();
  launch.failure = state_.failure;
  launch.met = met_;
  SwitchKernel* const kernel = switch_kernel_of(call.element, call.reduction);
  const auto run_block = [&](int32_t block, const Lanes& lanes) {
    kernel(launch, block, lanes, switch_memories_[block]);
  };
  // what the interpreter's blocks tell those who look whether a process died, the host tells here
  const auto tell = [&](int64_t place, uint64_t number) {
    store_release(reinterpret_cast<uint64_t*>(windows_[rank_] + place), number);
  };
  const uint64_t number = load_acquire(state_.calls) + 1;
  tell(Window::begun(), number);
  run_blocks(launch.window.blocks, run_block, interrupted);
  store_release(state_.calls, number);
  tell(Window::ended(), number);
}

/// Returns when all blocks are through, or rethrows what looking around threw: then all ranks have been told to give
/// up.
void Threads::run_blocks(int32_t blocks, const BlockRun& run_block, const std::function<void()>& interrupted) {
  std::exception_ptr thrown;
  const auto look_around = [&] {
    if (thrown) return;
    leave_the_dead();
    try {
      interrupted();
    } catch (...) {
      thrown = std::current_exception();
      close();
    }
  };
  if (fibers_) {
    fibers_->run(blocks, run_block, look_around);
  } else {
    pool_->begin(blocks, run_block);
    while (!pool_->ended()) look_around();
  }
  if (thrown) std::rethrow_exception(thrown);
  // It stays: the counts of messages are no longer those of the others, so that every later call fails as well.
  if (load_acquire(state_.failure) == 0) return;
  const Failure why = failure();
  const bool is_known = why.reason == Reason::kPeerDied && peers_->process(why.peer) > 0;
  throw Error(is_known ? "rank " + std::to_string(why.peer) + " (process " + std::to_string(peers_->process(why.peer)) +
                             ") has died"
                       : words_of(why));
}

// Who ended after its part of this call is missed by nobody yet.
int32_t Threads::missed() const noexcept {
  const auto word = [](uint8_t* window, int64_t place) { return reinterpret_cast<uint64_t*>(window + place); };
  const uint64_t call = load_relaxed(word(windows_[rank_], Window::begun()));
  for (const int32_t peer : peers_->ended()) {
    if (load_relaxed(word(windows_[peer], Window::ended())) < call) return peer;
  }
  return -1;
}

void Threads::leave_the_dead() noexcept {
  const int32_t peer = missed();
  if (peer < 0) return;
  claim(reinterpret_cast<uint64_t*>(windows_[rank_]), kDied | (static_cast<uint64_t>(peer) + 1));
}

// Another rank may have seen a dead one earlier, and be heard of here before that is seen.
Failure Threads::failure() const {
  Failure why = Failure::of(load_acquire(state_.failure));
  const int32_t dead = why.reason == Reason::kPeerGaveUp ? missed() : -1;
  if (dead >= 0) why = {Reason::kPeerDied, dead, why.block, why.step};
  return why;
}

int32_t Threads::lost() const { return load_acquire(state_.failure) == 0 ? -1 : failure().peer; }

void Threads::close() noexcept {
  // The first to give up is the one to be named.
  for (uint8_t* const window : windows_) claim(reinterpret_cast<uint64_t*>(window), static_cast<uint64_t>(rank_) + 1);
}

}  // namespace hocket::device
