#pragma once

#include <span>

#include "channels.hpp"
#include "clock.hpp"
#include "collectives.hpp"
#include "hocket/simulator/astra/simulate.hpp"
#include "links.hpp"
#include "memory.hpp"
#include "streams.hpp"
#include "transport.hpp"
#include "workload.hpp"

namespace hocket::simulator::astra {

/// All parts of a simulation, each of which reaches the others through this.
struct Engine {
  Engine(std::span<const Dimension> dimensions, const System& system, const RemoteMemory& memory,
         std::span<const Group> groups, const Program& program, std::span<const Program> custom);

  void run();
  Outcome outcome() const;

  std::span<const Dimension> dimensions;
  const System& system;
  std::span<const Group> groups;
  const Program& program;
  std::span<const Program> custom;
  int32_t num_ranks;

  Clock clock;
  Pool<Message> messages;
  Links links;
  Channels channels;
  Transport transport;
  Streams streams;
  Collectives collectives;
  Memory memory;
  Workload workload;
  int64_t events = 0;

 private:
  void call(const Callback& callback);
  uint32_t node_behind(const Callback& callback) const;
};

}  // namespace hocket::simulator::astra
