#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "sockets.hpp"

namespace hocket::executor {

/// A connection that somebody opened, who said `hello` and may have handed `memory` over.
struct Arrival {
  Descriptor socket;
  Hello hello{};
  Descriptor memory;
};

/// What comes in at a rank's listening sockets. Whoever connects and says nothing, or half of it, keeps nobody waiting:
/// a newcomer has `kHelloDeadline` to say hello, and of more than `kMostNewcomers` that have not the oldest goes.
class Arrivals {
 public:
  static constexpr std::chrono::milliseconds kHelloDeadline{2000};
  static constexpr size_t kMostNewcomers = 256;

  explicit Arrivals(std::vector<Descriptor> listeners) : listeners_(std::move(listeners)) {}

  /// Those that said hello; waits for them no longer than `wait_ms`, and may return before that with none.
  std::vector<Arrival> take(int wait_ms);

  /// How many have not said all of their hello yet.
  size_t newcomers() const { return newcomers_.size(); }

 private:
  struct Newcomer {
    Arrival arrival;
    Clock::time_point deadline;
    size_t heard = 0;
    bool gone = false;

    void listen();
  };

  void accept_some();

  std::vector<Descriptor> listeners_;
  std::deque<Newcomer> newcomers_;  ///< the oldest first
};

}  // namespace hocket::executor
