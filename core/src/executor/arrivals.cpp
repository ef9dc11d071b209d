#include "arrivals.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hocket::executor {

std::vector<Arrival> Arrivals::take(int wait_ms) {
  // Newcomers first: their places in `polled` are their places in the list.
  std::vector<pollfd> polled;
  for (const Newcomer& newcomer : newcomers_) polled.push_back({newcomer.arrival.socket.get(), POLLIN, 0});
  for (const Descriptor& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
  poll(polled.data(), polled.size(), wait_ms);
  std::vector<Arrival> arrived;
  const auto hear = [&](Newcomer& newcomer) {
    newcomer.listen();
    if (newcomer.heard < sizeof(Hello)) return;
    arrived.push_back(std::move(newcomer.arrival));
    newcomer.gone = true;
  };
  const size_t before = newcomers_.size();
  const Clock::time_point now = Clock::now();
  for (size_t k = 0; k < before; k++) {
    if (polled[k].revents != 0) hear(newcomers_[k]);
    newcomers_[k].gone |= now > newcomers_[k].deadline;
  }
  accept_some();
  for (size_t k = before; k < newcomers_.size(); k++) hear(newcomers_[k]);  // most say it as they come
  std::erase_if(newcomers_, [](const Newcomer& newcomer) { return newcomer.gone; });
  while (newcomers_.size() > kMostNewcomers) newcomers_.pop_front();
  return arrived;
}

/// No more than a limit at once, so that a stranger who never stops connecting does not keep those who came waiting.
void Arrivals::accept_some() {
  for (const Descriptor& listener : listeners_) {
    for (size_t accepted = 0; accepted < kMostNewcomers; accepted++) {
      Descriptor socket{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
      if (!socket) break;
      newcomers_.emplace_back().arrival.socket = std::move(socket);
      newcomers_.back().deadline = Clock::now() + kHelloDeadline;
    }
  }
}

void Arrivals::Newcomer::listen() {
  iovec words{reinterpret_cast<std::byte*>(&arrival.hello) + heard, sizeof(Hello) - heard};
  msghdr message{};
  message.msg_iov = &words;
  message.msg_iovlen = 1;
  // The descriptor of the shared memory comes beside the hello's first byte (SCM_RIGHTS).
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(arrival.socket.get(), &message, MSG_CMSG_CLOEXEC);
  if (count < 0) {
    gone = errno != EAGAIN && errno != EINTR;
    return;
  }
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    // padding has room for one more than there should be: each is closed but the last
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, reinterpret_cast<const std::byte*>(header) + at, sizeof number);
      arrival.memory = Descriptor(number);
    }
  }
  const bool memory_is_lost = (message.msg_flags & MSG_CTRUNC) != 0;  // this process has too many files open
  gone = count == 0 || memory_is_lost;
  if (!gone) heard += count;
}

}  // namespace hocket::executor
