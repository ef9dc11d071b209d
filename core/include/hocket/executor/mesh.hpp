#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/executor/transport.hpp"

namespace hocket::executor {

using Clock = std::chrono::steady_clock;

class Arrivals;
class Connection;

/// Where a rank listens; whoever connects must know its `token`, so that strangers are turned away. Ranks of the same
/// machine and network namespace also find it by the name `nearby`, if that is not 0, and then talk through memory.
struct Address {
  std::string host;
  uint16_t port;
  uint64_t token;
  uint64_t nearby;
};

/// A peer's connection ended during a call.
struct PeerLost : Error {
  PeerLost(int32_t peer, const std::string& why) : Error(why), peer(peer) {}
  int32_t peer;
};

/// Connections of this rank with the others of its group, one for each endpoint, opened when first needed: through
/// memory or over TCP.
/// Full mesh on demand: only pairs that some program joins have a connection. Gloo, which it stands beside, connects
/// all.
class Mesh : public Transport {
 public:
  /// Listens on `address.host`, on a free port. Throws Error where it cannot.
  Mesh(int32_t rank, Address address);
  ~Mesh() override;

  uint16_t port() const { return address_.port; }

  /// Opens the connections to `wanted` that are not open yet: through memory where both ranks have a name nearby and
  /// reach each other by it, else over TCP. All ranks must open theirs to each other, in one order of calls; of a pair
  /// the lower rank connects. Throws Error, naming the rank that could not be reached or did not come before
  /// `deadline`. `interrupted` is asked some ten times a second; what it throws ends the wait.
  void open(std::span<const Endpoint> wanted, std::span<const Address> addresses, Clock::time_point deadline,
            const std::function<void()>& interrupted);

  /// That of an endpoint that is open.
  Connection& connection(Endpoint endpoint) const { return *connections_.at(endpoint); }

  /// As `Transport::run`; the program's endpoints must be open.
  ///
  /// One thread walks through all thread blocks; a message is cut into pieces, and fused steps pass pieces on as they
  /// come; a step that receives begins while the one before it still sends, unless it overwrites what is sent. A
  /// connection holds any number of messages: what comes before its receive is kept, so that a program proved with some
  /// FIFO depth ends whatever the sizes. Throws Error when a peer is gone or runs another call (naming it), or when
  /// nothing moved for the call's timeout (naming those that are waited for).
  void run(const Program& program, const Call& call) override;

  /// How the open connections run: "shared memory", "TCP", or both with the number of each.
  std::string transports() const;

  /// The peer whose connection ended during a call; -1 if none did.
  int32_t lost() const { return lost_; }

  /// Closes everything; peers that wait for this rank get an error.
  void close() noexcept;

 private:
  int32_t rank_;
  Address address_;
  std::unique_ptr<Arrivals> arrivals_;
  int32_t lost_ = -1;
  std::map<Endpoint, std::unique_ptr<Connection>> connections_;
};

}  // namespace hocket::executor
