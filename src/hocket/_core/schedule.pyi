from enum import Enum

import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import Graph

HORIZON_PS: int

class Transfers:
    def __init__(
        self,
        graph: Graph,
        route_offset: NDArray[np.int64],
        route_links: NDArray[np.int32],
        chunk: NDArray[np.int32],
        route: NDArray[np.int32],
        reduce: NDArray[np.bool_],
        start_ps: NDArray[np.int64],
        finish_ps: NDArray[np.int64],
        num_chunks: int,
        own: NDArray[np.bool_],
    ) -> None: ...

class RankSets:
    def __init__(self, num_ranks: int, offset: NDArray[np.int64], ranks: NDArray[np.int32]) -> None: ...
    def check(self, sets: NDArray[np.int32], what: str) -> None: ...

class Chains:
    def __init__(self, transfers: Transfers) -> None: ...
    def longest(self, step: NDArray[np.float64]) -> float: ...

def dependencies(transfers: Transfers) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def retime(
    transfers: Transfers, chunk_bytes: NDArray[np.int64], blocking: bool, reducing: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def use_over_time(
    transfers: Transfers, chunk_bytes: NDArray[np.int64], blocking: bool, bins: int
) -> NDArray[np.int64]: ...
def verify(
    transfers: Transfers,
    ranks: NDArray[np.int32],
    relays: NDArray[np.int32],
    sets: RankSets,
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    chunk_bytes: NDArray[np.int64],
    sent: NDArray[np.bool_],
    timed: bool,
    blocking: bool,
) -> NDArray[np.int64]: ...
class Motion(Enum):
    SHIFT = ...
    SWING = ...
    FLIP = ...
    STAY = ...

class Spread(Enum):
    FROM_EACH = ...
    FROM_ROOT = ...
    EACH_TO_EACH = ...

class FoldedChecker:
    def __init__(
        self,
        graph: Graph,
        route_offset: NDArray[np.int64],
        route_links: NDArray[np.int32],
        orbit: NDArray[np.int32],
        sizes: list[int],
        motions: list[Motion],
        spread: Spread,
        chunks_per_rank: int,
        root: int,
        num_chunks: int,
        chunk_bytes: int,
        blocking: bool,
        mirrored: bool,
    ) -> None: ...
    def take(self, start_ps: NDArray[np.int64], route: NDArray[np.int32], chunk: NDArray[np.int32]) -> None: ...
    def finish(self) -> NDArray[np.int64]: ...
    @property
    def time_ps(self) -> int: ...
    @property
    def num_hops(self) -> int: ...

class RoundWriter:
    def __init__(self, descriptor: int, num_routes: int, num_chunks: int, next_round: int = 0) -> None: ...
    def take(self, round: int, routes: NDArray[np.int32], chunks: NDArray[np.int32]) -> None: ...
    def flush(self) -> None: ...
    @property
    def num_rounds(self) -> int: ...
    @property
    def num_transfers(self) -> int: ...

class RoundReader:
    def __init__(self, frames: NDArray[np.uint8], num_routes: int, num_chunks: int, length_ps: int) -> None: ...
    def read(self, wanted: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...
    @property
    def position(self) -> int: ...
    @property
    def num_rounds(self) -> int: ...

def route_durations(
    graph: Graph, route_offset: NDArray[np.int64], route_links: NDArray[np.int32], chunk_bytes: int
) -> NDArray[np.int64]: ...

class Holding(Enum):
    SHARED = ...
    WIRE = ...
    BLOCKING = ...

def least_time(
    graph: Graph,
    links: NDArray[np.int32],
    chunks: int,
    smallest_bytes: int,
    total_bytes: int,
    holding: Holding,
) -> int: ...
def least_times(
    graph: Graph,
    offset: NDArray[np.int64],
    links: NDArray[np.int32],
    sets: NDArray[np.int32],
    chunks: NDArray[np.int64],
    total_bytes: NDArray[np.int64],
    smallest_bytes: int,
    holding: Holding,
) -> NDArray[np.int64]: ...
def flow_bound(
    graph: Graph,
    rank: NDArray[np.int32],
    chunks: NDArray[np.int64],
    bytes: NDArray[np.int64],
    smallest_bytes: int,
    sink: int,
    holding: Holding,
    least_ps: int,
) -> int: ...
def cut_bound(
    graph: Graph, root: NDArray[np.int32], chunk_bytes: int, blocking: bool
) -> tuple[int, NDArray[np.int32]]: ...
def path_bound(
    graph: Graph,
    src: NDArray[np.int32],
    dst: NDArray[np.int32],
    bytes: NDArray[np.int64],
    largest_chunk: int,
    alike: bool,
    holding: Holding,
    prices: NDArray[np.int64],
    least_ps: int,
) -> int: ...
def path_prices(
    graph: Graph,
    src: NDArray[np.int32],
    dst: NDArray[np.int32],
    bytes: NDArray[np.int64],
    largest_chunk: int,
    alike: bool,
    holding: Holding,
    rounds: int,
    least_ps: int,
) -> NDArray[np.int64]: ...
def least_holds(graph: Graph, largest_chunk: int, alike: bool, holding: Holding) -> NDArray[np.int64]: ...
def grow_trees(
    num_ranks: int, src: NDArray[np.int64], dst: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def execute(
    num_ranks: int,
    num_connections: int,
    block_rank: NDArray[np.int32],
    send_connection: NDArray[np.int32],
    receive_connection: NDArray[np.int32],
    first_step: NDArray[np.int64],
    type: NDArray[np.uint8],
    count: NDArray[np.int32],
    source: NDArray[np.int64],
    destination: NDArray[np.int64],
    depends_on: NDArray[np.int64],
    location_rank: NDArray[np.int32],
    initial: NDArray[np.int32],
    wanted_location: NDArray[np.int64],
    wanted_chunk: NDArray[np.int32],
    wanted_source: NDArray[np.int32],
    fifo_depth: int,
    max_count: int,
) -> tuple[int, NDArray[np.int64], int]: ...
def execute_plan(
    num_ranks: int,
    num_chunks: int,
    block_rank: NDArray[np.int32],
    first_step: NDArray[np.int64],
    kind: NDArray[np.uint8],
    flags: NDArray[np.uint8],
    object: NDArray[np.int32],
    count: NDArray[np.int32],
    first_source: NDArray[np.int64],
    first_destination: NDArray[np.int64],
    operand_location: NDArray[np.int64],
    operand_alternate: NDArray[np.int64],
    operand_packet: NDArray[np.uint8],
    partner: NDArray[np.int32],
    port: NDArray[np.uint8],
    barrier_size: NDArray[np.int32],
    semaphore: NDArray[np.int32],
    location_rank: NDArray[np.int32],
    initial: NDArray[np.int32],
    callers: NDArray[np.uint8],
    wanted_location: NDArray[np.int64],
    wanted_chunk: NDArray[np.int32],
    wanted_source: NDArray[np.int32],
    launches: int,
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], int]: ...
