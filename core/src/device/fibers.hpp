#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "hocket/device/target.hpp"

namespace hocket::device {

bool let_fibers_run(int32_t looks);

/// One lane's way through one block of a launch.
using BlockRun = std::function<void(int32_t block, const Lanes&)>;

/// Runs the blocks of a launch in turns in one thread: a block that waits hands on to the next.
/// A thread each would be switched for each message, and there are more blocks than cores.
class Fibers {
 public:
  explicit Fibers(int32_t blocks);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Returns when so many blocks are through. `look_around` is called some ten times a second.
  void run(int32_t blocks, const BlockRun& run_block, const std::function<void()>& look_around);

 private:
  struct Fiber;
  friend bool let_fibers_run(int32_t looks);

  std::vector<std::unique_ptr<Fiber>> fibers_;
};

/// Within a fiber, between two looks at a word: lets the others run. False outside of one.
bool let_fibers_run(int32_t looks);

}  // namespace hocket::device
