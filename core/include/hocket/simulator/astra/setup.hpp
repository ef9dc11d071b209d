#pragma once

#include <array>
#include <cstdint>
#include <vector>

/// ASTRA-sim's system layer and analytical networks, reproduced to the cycle: the peer's rules, not those of the
/// physical engine. Times are integer nanoseconds; where the peer computes in doubles, so does this.
namespace hocket::simulator::astra {

using Nanoseconds = int64_t;

enum class Shape : uint8_t { kRing, kFullyConnected, kSwitch };

/// One dimension of the network. Rank ids run fastest through the first.
struct Dimension {
  Shape shape;
  int32_t size;
  double bytes_per_ns;
  double latency_ns;  // of one link
};

/// The collectives that the peer simulates.
enum class Kind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll };
inline constexpr int kNumKinds = 4;

enum class Algorithm : uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree };

/// How one dimension does its part of a collective.
struct Implementation {
  Algorithm algorithm;
  int32_t window;  // messages that `direct` has in flight, -1: all
  bool flat;       // one*: a single logical dimension of all ranks
};

enum class Policy : uint8_t { kFifo, kLifo, kExplicit };

struct System {
  Policy policy;
  bool shrinking;  // localBWAware: reduce_scatter, all_reduce on the last dimension, all_gather
  bool congestion;
  bool rendezvous;
  int64_t splits;
  int32_t active_chunks;
  int32_t queues_per_dimension;
  Nanoseconds endpoint_delay;
  double local_memory_bandwidth;  // bytes/s
  double peak_performance;        // operations/s
  std::array<std::vector<Implementation>, kNumKinds> implementations;
};

enum class MemoryKind : uint8_t { kNone, kPerRank, kPerNode, kPool };

struct RemoteMemory {
  MemoryKind kind;
  Nanoseconds latency;
  double bytes_per_ns;
  int32_t ranks_per_node;
};

/// A communicator group: its ranks in ring order, and the first stream id of its collectives.
struct Group {
  std::vector<int32_t> ranks;
  int64_t first_stream;
};

}  // namespace hocket::simulator::astra
