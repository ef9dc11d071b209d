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
#include "hocket/executor/program.hpp"
#include "hocket/executor/workspace.hpp"

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

/// One rank's connections with the others of its group, one for each endpoint, opened when first needed.
class Mesh {
 public:
  /// Listens on `address.host`, on a free port. Throws Error where it cannot.
  Mesh(int32_t rank, Address address);
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  uint16_t port() const { return address_.port; }

  /// Opens the connections to `wanted` that are not open yet: through memory where both ranks have a name nearby and
  /// reach each other by it, else over TCP. All ranks must open theirs to each other, in one order of calls; of a pair
  /// the lower rank connects. Throws Error, naming the rank that could not be reached or did not come before
  /// `deadline`. `interrupted` is asked some ten times a second; what it throws ends the wait.
  void open(std::span<const Endpoint> wanted, std::span<const Address> addresses, Clock::time_point deadline,
            const std::function<void()>& interrupted);

  /// That of an endpoint that is open.
  Connection& connection(Endpoint endpoint) const { return *connections_.at(endpoint); }

  Workspace& workspace() { return workspace_; }

  /// The peer whose connection ended during a call; -1 if none did.
  int32_t lost() const { return lost_; }
  void lose(int32_t peer) { lost_ = peer; }

  /// Closes everything; peers that wait for this rank get an error.
  void close() noexcept;

 private:
  int32_t rank_;
  Address address_;
  std::unique_ptr<Arrivals> arrivals_;
  int32_t lost_ = -1;
  std::map<Endpoint, std::unique_ptr<Connection>> connections_;
  Workspace workspace_;
};

}  // namespace hocket::executor
