#pragma once

#include "bind.hpp"
#include "hocket/simulator/packets.hpp"

namespace hocket::bind {

/// What a simulation with packets says beside times, as Python gets it.
nb::dict packet_use(simulator::PacketUse use);

/// How long something took how often, as Python gets it.
nb::dict latencies(const simulator::Latencies& found);

}  // namespace hocket::bind
