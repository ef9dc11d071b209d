#pragma once

#include <poll.h>

#include <cstddef>
#include <vector>

#include "sockets.hpp"

namespace hocket::executor {

/// A connection that somebody opened, who said `hello` and may have handed `memory` over.
struct Arrival {
  Descriptor socket;
  Hello hello{};
  Descriptor memory;
};

/// What comes in at a rank's listening sockets. Whoever connects and says nothing keeps nobody waiting.
class Arrivals {
 public:
  explicit Arrivals(std::vector<Descriptor> listeners) : listeners_(std::move(listeners)) {}

  /// Those that said hello; waits for them no longer than `wait_ms`, and may return before that with none.
  std::vector<Arrival> take(int wait_ms);

 private:
  struct Newcomer {
    Arrival arrival;
    size_t heard = 0;
    bool gone = false;

    void listen();
  };

  std::vector<Descriptor> listeners_;
  std::vector<Newcomer> newcomers_;
};

}  // namespace hocket::executor
