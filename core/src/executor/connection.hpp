#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sockets.hpp"

namespace hocket::executor {

/// This rank's end of the bytes, both ways, between two ranks on a channel; kept from call to call. Nothing here
/// blocks. A peer that is gone throws PeerLost once what it sent has been taken.
/// Bytes, not messages: message borders are the program's, which both ends have, so nothing is framed.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Hands over what there is room for; returns how much that was.
  virtual int64_t send(std::span<const iovec> parts) = 0;

  /// Fills `parts` as far as bytes have come; returns how much that is.
  virtual int64_t receive(std::span<const iovec> parts) = 0;

  /// The bytes that came, where they lie in memory of this process already; none where they have to be received.
  virtual std::span<const std::byte> look() { return {}; }

  /// Done with the first `count` bytes of `look`.
  virtual void take(int64_t count) { static_cast<void>(count); }

  /// What `poll` has to watch until there is something to receive (or room to send); none where there is already.
  virtual std::optional<pollfd> asleep(bool to_receive, bool to_send) = 0;

  /// After `poll`, with what it found.
  virtual void awake(short found) { static_cast<void>(found); }

  /// Whether the ranks talk through memory.
  virtual bool is_memory() const { return false; }

  /// The peer is to notice at once that nothing more comes. (Closing alone does not tell it while a process that this
  /// one forked, such as a loader of data, has the socket open, too.)
  virtual void end() noexcept = 0;
};

/// Over a connected socket, whatever lies between the ranks.
std::unique_ptr<Connection> over_socket(Descriptor socket, int32_t peer);

/// Memory for two ranks of one machine to talk through; none where the system gives none.
Descriptor create_shared_memory();

/// Through such memory, which both ranks map. The socket wakes the one that sleeps, and ends with its peer. `first`:
/// whether this rank made the memory. Throws Error where it cannot be mapped.
std::unique_ptr<Connection> over_memory(Descriptor socket, const Descriptor& memory, bool first, int32_t peer);

/// Throws PeerLost.
[[noreturn]] void lose(int32_t peer, const char* why);

}  // namespace hocket::executor
