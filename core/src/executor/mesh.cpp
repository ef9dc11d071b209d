#include "hocket/executor/mesh.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::executor {
namespace {

/// What the connecting rank says first.
struct Hello {
  uint64_t token;
  int32_t rank;
  int32_t channel;
};

constexpr int64_t kInterruptIntervalMs = 100;

std::string reason() { return std::strerror(errno); }

using Resolved = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Resolved resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw Error("address " + host + ": " + gai_strerror(code));
  return {found, &freeaddrinfo};
}

void make_ready(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int64_t left_ms(Clock::time_point deadline) {
  return std::max<int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count(), 0);
}

}  // namespace

Mesh::Mesh(int32_t rank, Address address) : rank_(rank), address_(std::move(address)) {
  const Resolved place = resolve(address_.host, address_.port);
  listener_ = ::socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (listener_ < 0 || bind(listener_, place->ai_addr, place->ai_addrlen) != 0 || listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    const std::string why = reason();
    close();
    throw Error("cannot listen on " + address_.host + ": " + why);
  }
  // sin_port and sin6_port lie at the same place
  address_.port = ntohs(reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

Mesh::~Mesh() { close(); }

void Mesh::close() noexcept {
  for (const auto& [endpoint, socket] : sockets_) ::close(socket);
  sockets_.clear();
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
}

void Mesh::open(std::span<const Endpoint> wanted, std::span<const Address> addresses, Clock::time_point deadline,
                const std::function<void()>& interrupted) {
  for (const Endpoint& endpoint : wanted) {
    if (endpoint.peer > rank_ && !sockets_.contains(endpoint)) {
      connect_to(endpoint, addresses[endpoint.peer], deadline);
    }
  }
  for (const Endpoint& endpoint : wanted) {
    while (!sockets_.contains(endpoint)) {
      pollfd incoming{listener_, POLLIN, 0};
      if (poll(&incoming, 1, static_cast<int>(std::min(left_ms(deadline), kInterruptIntervalMs))) > 0) accept_one();
      interrupted();
      if (Clock::now() > deadline) {
        throw Error("rank " + std::to_string(endpoint.peer) + " has not connected in time: it has ended, or issues " +
                    "its collectives in another order");
      }
    }
  }
}

void Mesh::connect_to(Endpoint endpoint, const Address& address, Clock::time_point deadline) {
  const Resolved place = resolve(address.host, address.port);
  const int socket = ::socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{left_ms(deadline) / 1000 + 1, 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const Hello hello{address.token, rank_, endpoint.channel};
  if (socket < 0 || connect(socket, place->ai_addr, place->ai_addrlen) != 0 ||
      send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof hello)) {
    const std::string why = reason();
    if (socket >= 0) ::close(socket);
    throw Error("cannot connect to rank " + std::to_string(endpoint.peer) + " at " + address.host + " port " +
                std::to_string(address.port) + ": " + why + "; GLOO_SOCKET_IFNAME names the interface to use");
  }
  make_ready(socket);
  sockets_[endpoint] = socket;
}

void Mesh::accept_one() {
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return;
  const timeval patience{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Hello hello{};
  const bool whole = recv(socket, &hello, sizeof hello, MSG_WAITALL) == static_cast<ssize_t>(sizeof hello);
  const Endpoint endpoint{hello.rank, hello.channel};
  if (!whole || hello.token != address_.token || sockets_.contains(endpoint)) {
    ::close(socket);
    return;
  }
  make_ready(socket);
  sockets_[endpoint] = socket;
}

}  // namespace hocket::executor
