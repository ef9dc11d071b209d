#pragma once

#include "bind.hpp"
#include "hocket/simulator/packets.hpp"

namespace hocket::bind {

/// What a simulation with packets says beside times, as Python gets it.
nb::dict packet_use(simulator::PacketUse use);

}  // namespace hocket::bind
