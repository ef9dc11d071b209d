#pragma once

#include <poll.h>

#include <vector>

#include "connection.hpp"

namespace hocket::executor {

/// Sleeps until one of several connections has something to do.
/// A ring in memory has no descriptor to poll: it is asked first, and says that it sleeps (`Connection::asleep`) before
/// it is looked at for the last time.
class Watch {
 public:
  /// For the next `sleep`: something to receive, or room to send.
  void add(Connection& connection, bool to_receive, bool to_send) {
    const std::optional<pollfd> polled = connection.asleep(to_receive, to_send);
    connections_.push_back(&connection);
    polled_.push_back(polled.value_or(pollfd{-1, 0, 0}));
    ready_ |= !polled;
  }

  /// Returns whether there is something to do, after `limit_ms` at the latest.
  bool sleep(int limit_ms) {
    const bool found = poll(polled_.data(), polled_.size(), ready_ ? 0 : limit_ms) > 0 || ready_;
    for (size_t k = 0; k < polled_.size(); k++) connections_[k]->awake(polled_[k].revents);
    connections_.clear();
    polled_.clear();
    ready_ = false;
    return found;
  }

 private:
  std::vector<Connection*> connections_;
  std::vector<pollfd> polled_;
  bool ready_ = false;
};

}  // namespace hocket::executor
