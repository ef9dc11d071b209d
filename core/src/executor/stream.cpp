#include "stream.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "hocket/error.hpp"
#include "hocket/executor/mesh.hpp"

namespace hocket::executor {
namespace {

[[noreturn]] void lost(int32_t peer, const char* why) {
  throw PeerLost(peer, "lost the connection to rank " + std::to_string(peer) + " (" + why + ")");
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

int64_t Stream::write(std::span<const std::byte> data) {
  auto* signature = reinterpret_cast<std::byte*>(&signature_);
  iovec parts[] = {{signature + signature_sent_, sizeof signature_ - signature_sent_},
                   {const_cast<std::byte*>(data.data()), data.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t sent = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    if (would_block()) return 0;
    lost(peer_, std::strerror(errno));
  }
  const size_t header = std::min(parts[0].iov_len, static_cast<size_t>(sent));
  signature_sent_ += header;
  return sent - static_cast<int64_t>(header);
}

int64_t Stream::read(std::span<std::byte> data) {
  if (early_.empty()) return receive(data);
  Early& first = early_.front();
  const int64_t count = std::min(first.end - first.taken, static_cast<int64_t>(data.size()));
  std::memcpy(data.data(), first.data.get() + first.taken, count);
  first.taken += count;
  if (first.taken == first.end) {
    workspace_->give_piece(std::move(first.data));
    early_.pop_front();
  }
  return count;
}

bool Stream::keep_early() {
  if (early_.empty() || early_.back().end == kPieceBytes) early_.push_back({workspace_->take_piece(), 0, 0});
  Early& last = early_.back();
  const int64_t count =
      receive({last.data.get() + last.end, static_cast<size_t>(std::min(kPieceBytes - last.end, to_come_))});
  last.end += count;
  if (last.end == 0) {
    workspace_->give_piece(std::move(last.data));
    early_.pop_back();
  }
  return count > 0;
}

int64_t Stream::receive(std::span<std::byte> data) {
  auto* theirs = reinterpret_cast<std::byte*>(&their_signature_);
  const size_t missing = sizeof their_signature_ - signature_received_;
  iovec parts[] = {{theirs + signature_received_, missing}, {data.data(), data.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t received = recvmsg(socket_, &message, MSG_DONTWAIT);
  if (received == 0) lost(peer_, "closed");
  if (received < 0) {
    if (would_block()) return 0;
    lost(peer_, std::strerror(errno));
  }
  const size_t header = std::min(missing, static_cast<size_t>(received));
  signature_received_ += header;
  if (signature_received_ == sizeof their_signature_ && their_signature_ != signature_) {
    throw Error("rank " + std::to_string(peer_) +
                " is in another collective: the ranks issue theirs in different order, or with different sizes");
  }
  const int64_t count = received - static_cast<int64_t>(header);
  to_come_ -= count;
  return count;
}

}  // namespace hocket::executor
