#pragma once

#include <optional>
#include <span>

#include "channels.hpp"
#include "clock.hpp"
#include "collectives.hpp"
#include "convoys.hpp"
#include "hocket/simulator/astra/simulate.hpp"
#include "links.hpp"
#include "lockstep.hpp"
#include "memory.hpp"
#include "streams.hpp"
#include "ties.hpp"
#include "transport.hpp"
#include "workload.hpp"

namespace hocket::simulator::astra {

/// All parts of a simulation, each of which reaches the others through this.
/// One process for all ranks, as the peer's analytical frontends; what their Sys objects hold for themselves is in
/// columns by rank here.
struct Engine {
  Engine(std::span<const Dimension> dimensions, const System& system, const RemoteMemory& memory,
         std::span<const Group> groups, const Program& program, std::span<const Program> custom);

  /// Runs to the end; in lockstep or convoys to where that does not hold.
  void run();
  Outcome outcome() const;

  std::span<const Dimension> dimensions;
  const System& system;
  std::span<const Group> groups;
  const Program& program;
  std::span<const Program> custom;
  int32_t num_ranks;  // of the network

  Clock clock;
  Ties ties{clock};
  Pool<Message> messages;
  Links links;
  Channels channels;
  Transport transport;
  Streams streams;
  Collectives collectives;
  Memory memory;
  Workload workload;
  std::optional<Lockstep> lockstep;  // where the program is one rank's and all do the same
  std::optional<Convoys> convoys;
  int64_t events = 0;

 private:
  void call(const Callback& callback);
  uint32_t node_behind(const Callback& callback) const;
};

}  // namespace hocket::simulator::astra
