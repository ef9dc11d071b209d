#include "hocket/executor/mesh.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "arrivals.hpp"
#include "connection.hpp"
#include "hocket/error.hpp"

namespace hocket::executor {
namespace {

/// Connects as rank `hello.rank` to rank `peer`.
/// Memory first, which is quickest; TCP where the other rank cannot be reached so.
std::unique_ptr<Connection> connect(int32_t peer, const Hello& hello, const Address& address, bool nearby,
                                    const Patience& patience) {
  try {
    // A name in the abstract namespace is not seen from another network namespace or machine: the attempt is the test.
    if (nearby) {
      Descriptor socket = connect_nearby(address.nearby);
      const Descriptor memory = socket ? create_shared_memory() : Descriptor();
      if (memory) {
        introduce(socket, hello, memory);
        return over_memory(std::move(socket), memory, true, peer);
      }
    }
    Descriptor socket = connect_to(address.host, address.port, patience);
    introduce(socket, hello, Descriptor());
    return over_socket(std::move(socket), peer);
  } catch (const Error& error) {
    throw Error("cannot connect to rank " + std::to_string(peer) + " at " + address.host + " port " +
                std::to_string(address.port) + ": " + error.what() + "; GLOO_SOCKET_IFNAME names the interface to use");
  }
}

}  // namespace

Mesh::Mesh(int32_t rank, Address address) : rank_(rank), address_(std::move(address)) {
  try {
    std::vector<Descriptor> listeners;
    auto [listener, port] = listen_at(address_.host);
    address_.port = port;
    listeners.push_back(std::move(listener));
    if (address_.nearby != 0) listeners.push_back(listen_nearby(address_.nearby));
    arrivals_ = std::make_unique<Arrivals>(std::move(listeners));
  } catch (const Error& error) {
    throw Error("cannot listen on " + address_.host + ": " + error.what());
  }
}

Mesh::~Mesh() = default;

std::string Mesh::transports() const {
  const auto is_memory = [](const auto& entry) { return entry.second->is_memory(); };
  const auto in_memory = std::count_if(connections_.begin(), connections_.end(), is_memory);
  const auto over_tcp = static_cast<int64_t>(connections_.size()) - in_memory;
  if (in_memory == 0 || over_tcp == 0) return over_tcp == 0 ? "shared memory" : "TCP";
  return "shared memory to " + std::to_string(in_memory) + " and TCP to " + std::to_string(over_tcp) + " connections";
}

// Ended before they are destroyed, so that peers notice even while a forked child holds the sockets.
void Mesh::close() noexcept {
  for (const auto& [endpoint, connection] : connections_) connection->end();
  connections_.clear();
  arrivals_ = std::make_unique<Arrivals>(std::vector<Descriptor>());
}

void Mesh::open(std::span<const Endpoint> wanted, std::span<const Address> addresses, Clock::time_point deadline,
                const std::function<void()>& interrupted) {
  const Patience patience{deadline, interrupted};
  for (const Endpoint& endpoint : wanted) {
    // The lower rank connects, so no pair opens two; all connect before they wait for anybody, so no circle of waits.
    if (endpoint.peer < rank_ || connections_.contains(endpoint)) continue;
    const Address& address = addresses[endpoint.peer];
    const bool nearby = address_.nearby != 0 && address.nearby != 0;
    connections_[endpoint] =
        connect(endpoint.peer, {address.token, rank_, endpoint.channel}, address, nearby, patience);
  }
  for (const Endpoint& endpoint : wanted) {
    while (!connections_.contains(endpoint)) {
      for (Arrival& arrival : arrivals_->take(patience.next_ms())) {
        const Endpoint theirs{arrival.hello.rank, arrival.hello.channel};
        // A stranger, or the same rank twice: the socket closes as the arrival goes out of scope.
        if (arrival.hello.token != address_.token || connections_.contains(theirs)) continue;
        connections_[theirs] = arrival.memory
                                   ? over_memory(std::move(arrival.socket), arrival.memory, false, theirs.peer)
                                   : over_socket(std::move(arrival.socket), theirs.peer);
      }
      interrupted();
      if (patience.over()) {
        throw Error("rank " + std::to_string(endpoint.peer) + " has not connected in time: it has ended, or issues " +
                    "its collectives in another order");
      }
    }
  }
}

}  // namespace hocket::executor
