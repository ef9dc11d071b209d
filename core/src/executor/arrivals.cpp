#include "arrivals.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hocket::executor {

std::vector<Arrival> Arrivals::take(int wait_ms) {
  std::vector<pollfd> polled;
  for (const Descriptor& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
  for (const Newcomer& newcomer : newcomers_) polled.push_back({newcomer.arrival.socket.get(), POLLIN, 0});
  poll(polled.data(), polled.size(), wait_ms);
  for (const Descriptor& listener : listeners_) {
    while (Descriptor socket{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)}) {
      newcomers_.emplace_back().arrival.socket = std::move(socket);
    }
  }
  std::vector<Arrival> arrived;
  for (Newcomer& newcomer : newcomers_) {
    newcomer.listen();
    if (newcomer.heard == sizeof(Hello)) {
      arrived.push_back(std::move(newcomer.arrival));
      newcomer.gone = true;
    }
  }
  std::erase_if(newcomers_, [](const Newcomer& newcomer) { return newcomer.gone; });
  return arrived;
}

void Arrivals::Newcomer::listen() {
  iovec words{reinterpret_cast<std::byte*>(&arrival.hello) + heard, sizeof(Hello) - heard};
  msghdr message{};
  message.msg_iov = &words;
  message.msg_iovlen = 1;
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
