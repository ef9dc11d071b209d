"""How long it takes: replays traces and schedules on a topology, next to the physical bound."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.simulator.algorithm_choice import DEFAULT_ALGORITHMS
    from hocket.simulator.api import (
        simulate_collective,
        simulate_expected,
        simulate_kernel,
        simulate_program,
        simulate_schedule,
        simulate_traces,
    )
    from hocket.simulator.disturbance import Disturbance, Flow
    from hocket.simulator.fidelity import Fidelity
    from hocket.simulator.memory import RemoteMemory, parse_remote_memory
    from hocket.simulator.models import LinkSetting, Model, Queueing, Switching
    from hocket.simulator.packets import LinkPackets, Packets, PacketTraffic, parse_packets
    from hocket.simulator.placement import parse_placement
    from hocket.simulator.prediction import CollectiveTime, Occupancy, Prediction
    from hocket.simulator.timeline import write_timeline
    from hocket.simulator.timeline_part import TimelineCut, timeline_part

__all__ = [
    "DEFAULT_ALGORITHMS",
    "CollectiveTime",
    "Disturbance",
    "Fidelity",
    "Flow",
    "LinkPackets",
    "LinkSetting",
    "Model",
    "Occupancy",
    "PacketTraffic",
    "Packets",
    "Prediction",
    "Queueing",
    "RemoteMemory",
    "Switching",
    "TimelineCut",
    "parse_packets",
    "parse_placement",
    "parse_remote_memory",
    "simulate_collective",
    "simulate_expected",
    "simulate_kernel",
    "simulate_program",
    "simulate_schedule",
    "simulate_traces",
    "timeline_part",
    "write_timeline",
]
