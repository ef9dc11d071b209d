from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import Transfers
from hocket._core.topology import Graph

_Paths = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]

class Plan:
    @overload
    def __init__(
        self,
        transfers: Transfers,
        bytes: NDArray[np.int64],
        members: NDArray[np.int32],
        relays: NDArray[np.int32],
        paths: _Paths,
        by_step: bool,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        connection: NDArray[np.int32],
        sends: NDArray[np.int32],
        delivers: NDArray[np.int32],
        reduce: NDArray[np.bool_],
        own: NDArray[np.bool_],
        step: NDArray[np.int64],
        bytes: NDArray[np.int64],
        copies: int,
        paths: _Paths,
        route_dst: NDArray[np.int32],
        by_step: bool,
    ) -> None: ...
    @property
    def num_messages(self) -> int: ...

class Job:
    def __init__(
        self,
        graph: Graph,
        rank_offset: NDArray[np.int64],
        kind: NDArray[np.uint8],
        operand: NDArray[np.int64],
        member: NDArray[np.int32],
        dependency_offset: NDArray[np.int64],
        dependency: NDArray[np.int64],
        message_paths: _Paths,
        message_bytes: NDArray[np.int64],
        message_priority: NDArray[np.int32],
        message_stream: NDArray[np.int32],
        access_memory: NDArray[np.int32],
        access_service_ps: NDArray[np.int64],
        access_latency_ps: NDArray[np.int64],
        plan_of: NDArray[np.int32],
        priority_of: NDArray[np.int32],
        plan_members: NDArray[np.int32],
    ) -> None: ...

class PacketSettings:
    def __init__(
        self,
        payload_bytes: NDArray[np.int64],
        header_bytes: NDArray[np.int64],
        buffer_bytes: NDArray[np.int64],
        ack_bytes: NDArray[np.int64],
        ack_every: NDArray[np.int64],
        split_ps: NDArray[np.int64],
        gap_ps: NDArray[np.int64],
        format_of: NDArray[np.uint8],
        ring_of: NDArray[np.int32],
        train: int,
        flow_control: int,
        arbitration: int,
        channels: int,
        marks: bool,
        mark_from_bytes: int,
        mark_all_bytes: int,
        mark_ppm: int,
        retransmit_ps: int,
        seed: int,
    ) -> None: ...

def replay(
    job: Job,
    plans: Sequence[Plan],
    graph: Graph,
    model: str,
    stores: NDArray[np.uint8],
    queueing: NDArray[np.uint8],
    slowdown: tuple[int, int],
    record_occupancy: bool,
    link_bins: int,
    adaptive: bool,
    packets: PacketSettings | None,
) -> dict[str, Any]: ...
def traffic(
    graph: Graph,
    stores: NDArray[np.uint8],
    packets: PacketSettings,
    message_bytes: int,
    near: NDArray[np.int64],
    far: NDArray[np.int64],
    far_ppm: int,
    paths: _Paths,
    is_far: NDArray[np.uint8],
    gap_ps: NDArray[np.int64],
    window: int,
    adaptive: bool,
    seed: int,
    from_ps: int,
    until_ps: int,
    drains: bool,
    bins: int,
    outer: NDArray[np.uint8],
) -> dict[str, Any]: ...
def message_graph(
    job: Job, plans: Sequence[Plan], graph: Graph, packets: PacketSettings, most_steps: int
) -> dict[str, NDArray[Any]]: ...
def buffer_waits(job: Job, plans: Sequence[Plan], graph: Graph) -> tuple[NDArray[np.int32], int, NDArray[np.int32]]: ...
def program_time(
    kind: NDArray[np.uint8],
    message: NDArray[np.int32],
    starts: NDArray[np.int32],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    lag: NDArray[np.int64],
    latency: NDArray[np.int32],
    row: NDArray[np.int32],
    connection: NDArray[np.int32],
    bytes: NDArray[np.int64],
    busy_ps: NDArray[np.int64],
    latency_ps: NDArray[np.int64],
    launch_ps: int,
    paths: _Paths,
    graph: Graph,
    stores: NDArray[np.uint8],
    queueing: NDArray[np.uint8],
    alike: int,
) -> int: ...
def critical_path(
    job: Job,
    graph: Graph,
    bound_offset: NDArray[np.int64],
    own_ps: NDArray[np.int64],
    hear_ps: NDArray[np.int64],
    source: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def slack(
    rank_offset: NDArray[np.int64],
    kind: NDArray[np.uint8],
    operand: NDArray[np.int64],
    dependency_offset: NDArray[np.int64],
    dependency: NDArray[np.int64],
    start_ps: NDArray[np.int64],
    finish_ps: NDArray[np.int64],
    cause: NDArray[np.int32],
) -> NDArray[np.int64]: ...
