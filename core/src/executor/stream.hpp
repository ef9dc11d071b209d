#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "hocket/executor/workspace.hpp"

namespace hocket::executor {

/// This rank's end of one connection during one call: the bytes of all its messages after one word, the signature of
/// the call. Neither direction ever blocks. Errors of the socket throw Error, naming the peer.
class Stream {
 public:
  Stream(int socket, int32_t peer, uint64_t signature, Workspace& workspace)
      : socket_(socket), peer_(peer), signature_(signature), workspace_(&workspace) {}

  int socket() const { return socket_; }
  int32_t peer() const { return peer_; }

  /// One message more of this call will come in.
  void expect(int64_t bytes) { to_come_ += bytes; }

  /// Whether the socket still owes bytes of this call.
  bool owes() const { return to_come_ > 0; }

  /// Whether the peer is known to have begun this call.
  bool begun() const { return signature_received_ == sizeof their_signature_; }

  /// Hands over what the socket takes; returns how much that was.
  int64_t write(std::span<const std::byte> data);

  /// Fills `data` as far as bytes have come; returns how much that is.
  int64_t read(std::span<std::byte> data);

  /// Takes bytes from the socket that nobody asked for yet; returns whether there were any.
  bool keep_early();

 private:
  /// A piece that came before anybody asked for it; what is not taken of it lies from `taken` to `end`.
  struct Early {
    Workspace::Piece data;
    int64_t taken;
    int64_t end;
  };

  int64_t receive(std::span<std::byte> data);

  int socket_;
  int32_t peer_;
  uint64_t signature_;
  Workspace* workspace_;
  size_t signature_sent_ = 0;
  size_t signature_received_ = 0;
  uint64_t their_signature_ = 0;
  int64_t to_come_ = 0;
  std::deque<Early> early_;
};

}  // namespace hocket::executor
