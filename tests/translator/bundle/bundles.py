"""Schedules for bundles, and the command."""

from pathlib import Path

from hocket.schedule import Collective, Kind, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import Topology, load
from hocket.translator import PROFILES

NETWORK = "ring:4,bandwidth=10GB/s,latency=5us"
RUNTIMES = tuple(PROFILES)


def topology() -> Topology:
    return load(NETWORK)


def write_schedule(path: Path, kind: Kind, algorithm: str, size: int) -> Path:
    save(retime(build(algorithm, Collective(kind, 4, size, 1), topology())), path)
    return path
