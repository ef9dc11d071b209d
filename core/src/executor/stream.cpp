#include "stream.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::executor {
namespace {

constexpr int64_t kWord = 8;  // the longest element

}  // namespace

int64_t Stream::write(std::span<const std::byte> data) {
  auto* signature = reinterpret_cast<std::byte*>(&signature_);
  // The signature goes before the first byte, in the same system call; ranks in different collectives notice it before
  // any byte is taken for data.
  const iovec parts[] = {{signature + signature_sent_, sizeof signature_ - signature_sent_},
                         {const_cast<std::byte*>(data.data()), data.size()}};
  const int64_t sent = connection_->send(parts);
  const auto header = std::min<int64_t>(parts[0].iov_len, sent);
  signature_sent_ += header;
  return sent - header;
}

int64_t Stream::read(std::span<std::byte> data) {
  if (early_.empty()) return receive(data);
  const Early& first = early_.front();
  const int64_t count = std::min(first.end - first.taken, static_cast<int64_t>(data.size()));
  std::memcpy(data.data(), first.data.get() + first.taken, count);
  take_early(count);
  return count;
}

std::span<const std::byte> Stream::look(int64_t limit) {
  if (early_.empty()) {
    if (!begun()) receive({});
    const std::span<const std::byte> there = begun() ? connection_->look() : std::span<const std::byte>();
    const auto count = std::min(static_cast<int64_t>(there.size()), limit);
    // less could be a part of an element, which has to be taken before more of it comes, or the end of the peer
    if (count >= std::min(limit, kWord)) return there.first(count);
  }
  const int64_t kept = early_.empty() ? 0 : early_.front().end - early_.front().taken;
  if (kept < std::min(limit, kWord)) keep_early(limit - kept);
  if (early_.empty()) return {};
  const Early& first = early_.front();
  return {first.data.get() + first.taken, static_cast<size_t>(std::min(first.end - first.taken, limit))};
}

void Stream::take(int64_t count) {
  if (!early_.empty()) return take_early(count);
  connection_->take(count);
  came(count);
}

void Stream::take_early(int64_t count) {
  Early& first = early_.front();
  first.taken += count;
  if (first.taken < first.end) return;
  workspace_->give_piece(std::move(first.data));
  early_.pop_front();
}

bool Stream::keep_early(int64_t limit) {
  if (early_.empty() || early_.back().end == kPieceBytes) {
    // Elements lie in a piece as they lie in the stream, so none is cut by the end of a piece (see Early).
    const int64_t start = position_ % kWord;
    early_.push_back({workspace_->take_piece(), start, start});
  }
  Early& last = early_.back();
  const int64_t room = std::min({kPieceBytes - last.end, to_come_, limit});
  const int64_t count = receive({last.data.get() + last.end, static_cast<size_t>(room)});
  last.end += count;
  if (last.end == last.taken) {
    workspace_->give_piece(std::move(last.data));
    early_.pop_back();
  }
  return count > 0;
}

int64_t Stream::receive(std::span<std::byte> data) {
  auto* theirs = reinterpret_cast<std::byte*>(&their_signature_);
  const size_t missing = sizeof their_signature_ - signature_received_;
  const iovec parts[] = {{theirs + signature_received_, missing}, {data.data(), data.size()}};
  const int64_t received = connection_->receive(parts);
  const auto header = std::min<int64_t>(missing, received);
  signature_received_ += header;
  // A mix-up that would else end in wrong sums, which nobody notices.
  if (begun() && their_signature_ != signature_) {
    throw Error("rank " + std::to_string(peer_) +
                " is in another collective: the ranks issue theirs in different order, or with different sizes");
  }
  came(received - header);
  return received - header;
}

void Stream::came(int64_t count) {
  position_ += count;
  to_come_ -= count;
}

}  // namespace hocket::executor
