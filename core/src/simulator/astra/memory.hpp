#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "clock.hpp"
#include "hocket/simulator/astra/setup.hpp"

namespace hocket::simulator::astra {

/// Remote memory: a server for all, for each node or, without waiting, for each rank. Servers serve one access at a
/// time, first come first served.
/// Compare AnalyticalRemoteMemory of the peer.
class Memory {
 public:
  Memory(const RemoteMemory& setup, Clock& clock) : setup_(setup), clock_(clock) {}

  /// Whether ranks wait for each other.
  bool is_shared() const { return setup_.kind != MemoryKind::kPerRank; }

  /// Accesses `bytes` for a node of the workload, which is done in the end.
  void access(int32_t rank, uint32_t node, int64_t bytes) {
    if (setup_.kind == MemoryKind::kPerRank) return start({rank, node, bytes});
    Server& server = servers_[server_of(rank)];
    if (server.busy) {
      server.waiting.push_back({rank, node, bytes});
    } else {
      server.busy = true;
      start({rank, node, bytes});
    }
  }

  /// A server has done what it worked on.
  void free(int32_t server_number) {
    Server& server = servers_[server_number];
    server.busy = !server.waiting.empty();
    if (!server.busy) return;
    const Access next = server.waiting.front();
    server.waiting.pop_front();
    start(next);
  }

 private:
  struct Access {
    int32_t rank;
    uint32_t node;
    int64_t bytes;
  };
  struct Server {
    bool busy = false;
    std::deque<Access> waiting;
  };

  int32_t server_of(int32_t rank) const { return setup_.kind == MemoryKind::kPool ? 0 : rank / setup_.ranks_per_node; }

  void start(const Access& access) {
    const Nanoseconds delay =
        setup_.latency + whole_nanoseconds(static_cast<double>(access.bytes) / setup_.bytes_per_ns);
    clock_.after(access.rank, delay, {Callback::kNode, access.node, 0});
    if (setup_.kind == MemoryKind::kPerRank) return;
    clock_.after(access.rank, delay, {Callback::kMemoryServer, 0, server_of(access.rank)});
  }

  RemoteMemory setup_;
  Clock& clock_;
  std::unordered_map<int32_t, Server> servers_;
};

}  // namespace hocket::simulator::astra
