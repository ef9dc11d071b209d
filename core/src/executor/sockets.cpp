#include "sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "hocket/error.hpp"

namespace hocket::executor {
namespace {

constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

[[noreturn]] void refuse(int error = errno) { throw Error(std::strerror(error)); }

using Resolved = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Both families: a cluster may have names that mean IPv6 addresses alone.
Resolved resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw Error(gai_strerror(code));
  return {found, &freeaddrinfo};
}

/// A name in Linux' abstract namespace: no file, gone with its socket.
std::pair<sockaddr_un, socklen_t> nearby(uint64_t name) {
  const std::string text = "hocket/" + std::to_string(name);
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  std::copy(text.begin(), text.end(), place.sun_path + 1);
  return {place, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())};
}

}  // namespace

int Patience::next_ms() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 100));
}

std::pair<Descriptor, uint16_t> listen_at(const std::string& host) {
  const Resolved place = resolve(host, 0);
  Descriptor listener(::socket(place->ai_family, kKind, 0));
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (!listener || bind(listener.get(), place->ai_addr, place->ai_addrlen) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    refuse();
  }
  // sin_port and sin6_port lie at the same place
  return {std::move(listener), ntohs(reinterpret_cast<sockaddr_in*>(&bound)->sin_port)};
}

Descriptor listen_nearby(uint64_t name) {
  const auto [place, length] = nearby(name);
  Descriptor listener(::socket(AF_UNIX, kKind, 0));
  if (!listener || bind(listener.get(), reinterpret_cast<const sockaddr*>(&place), length) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    refuse();
  }
  return listener;
}

Descriptor connect_to(const std::string& host, uint16_t port, const Patience& patience) {
  const Resolved place = resolve(host, port);
  Descriptor socket(::socket(place->ai_family, kKind, 0));
  if (!socket) refuse();
  if (connect(socket.get(), place->ai_addr, place->ai_addrlen) != 0) {
    // The connection is being made: waited for in slices, so that Ctrl+C and the deadline are noticed.
    if (errno != EINPROGRESS) refuse();
    pollfd connected{socket.get(), POLLOUT, 0};
    while (poll(&connected, 1, patience.next_ms()) <= 0) {
      patience.interrupted();
      if (patience.over()) refuse(ETIMEDOUT);
    }
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) refuse(error);
  }
  return socket;
}

Descriptor connect_nearby(uint64_t name) {
  const auto [place, length] = nearby(name);
  Descriptor socket(::socket(AF_UNIX, kKind, 0));
  if (!socket || connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), length) != 0) return Descriptor();
  return socket;
}

void introduce(const Descriptor& socket, const Hello& hello, const Descriptor& memory) {
  iovec words{const_cast<Hello*>(&hello), sizeof hello};
  msghdr message{};
  message.msg_iov = &words;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  if (memory) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = memory.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  if (sendmsg(socket.get(), &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof hello)) refuse();
}

}  // namespace hocket::executor
