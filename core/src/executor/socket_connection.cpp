#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "connection.hpp"

namespace hocket::executor {
namespace {

class SocketConnection final : public Connection {
 public:
  SocketConnection(Descriptor socket, int32_t peer) : socket_(std::move(socket)), peer_(peer) {
    // Nagle's algorithm would keep a short message back until the one before it is acknowledged.
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  int64_t send(std::span<const iovec> parts) override {
    // A peer that is gone is an error here, not SIGPIPE to a process that is not ours.
    const msghdr message = of(parts);
    return moved(sendmsg(socket_.get(), &message, MSG_NOSIGNAL));
  }

  int64_t receive(std::span<const iovec> parts) override {
    msghdr message = of(parts);
    const ssize_t count = recvmsg(socket_.get(), &message, 0);
    if (count == 0) lose(peer_, "closed");
    return moved(count);
  }

  std::optional<pollfd> asleep(bool to_receive, bool to_send) override {
    return pollfd{socket_.get(), static_cast<short>((to_receive ? POLLIN : 0) | (to_send ? POLLOUT : 0)), 0};
  }

  void end() noexcept override { shutdown(socket_.get(), SHUT_RDWR); }

 private:
  static msghdr of(std::span<const iovec> parts) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    return message;
  }

  int64_t moved(ssize_t count) const {
    if (count >= 0) return count;
    if (errno != EAGAIN && errno != EINTR) lose(peer_, std::strerror(errno));
    return 0;
  }

  Descriptor socket_;
  int32_t peer_;
};

}  // namespace

std::unique_ptr<Connection> over_socket(Descriptor socket, int32_t peer) {
  return std::make_unique<SocketConnection>(std::move(socket), peer);
}

void lose(int32_t peer, const char* why) {
  throw PeerLost(peer, "lost the connection to rank " + std::to_string(peer) + " (" + why + ")");
}

}  // namespace hocket::executor
