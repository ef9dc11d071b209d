#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "connection.hpp"
#include "hocket/executor/workspace.hpp"

namespace hocket::executor {

/// This rank's end of one connection during one call: the bytes of all its messages after one word, the signature of
/// the call. Neither direction ever blocks. Errors of the connection throw Error, naming the peer.
class Stream {
 public:
  Stream(Connection& connection, int32_t peer, uint64_t signature, Workspace& workspace)
      : connection_(&connection), peer_(peer), signature_(signature), workspace_(&workspace) {}

  Connection& connection() const { return *connection_; }
  int32_t peer() const { return peer_; }

  /// One message more of this call will come in.
  void expect(int64_t bytes) { to_come_ += bytes; }

  /// Whether the connection still owes bytes of this call.
  bool owes() const { return to_come_ > 0; }

  /// Whether the peer is known to have begun this call.
  bool begun() const { return signature_received_ == sizeof their_signature_; }

  /// Hands over what the connection takes; returns how much that was.
  int64_t write(std::span<const std::byte> data);

  /// Fills `data` as far as bytes have come; returns how much that is.
  int64_t read(std::span<std::byte> data);

  /// At most `limit` of the bytes that came, where they lie. At least one whole element's, once all of it has come.
  std::span<const std::byte> look(int64_t limit);

  /// Done with the first `count` bytes of `look`.
  void take(int64_t count);

  /// Takes up to `limit` bytes from the connection that nobody asked for yet; returns whether there were any.
  bool keep_early(int64_t limit = kPieceBytes);

 private:
  /// A piece that came before anybody asked for it; what is not taken of it lies from `taken` to `end`. Its last byte
  /// is the last of an element: it is as far from the start of the stream as from that of the piece, in words.
  struct Early {
    Workspace::Piece data;
    int64_t taken;
    int64_t end;
  };

  int64_t receive(std::span<std::byte> data);
  void take_early(int64_t count);
  void came(int64_t count);

  Connection* connection_;
  int32_t peer_;
  uint64_t signature_;
  Workspace* workspace_;
  size_t signature_sent_ = 0;
  size_t signature_received_ = 0;
  uint64_t their_signature_ = 0;
  int64_t to_come_ = 0;
  int64_t position_ = 0;  ///< bytes of messages that came
  std::deque<Early> early_;
};

}  // namespace hocket::executor
