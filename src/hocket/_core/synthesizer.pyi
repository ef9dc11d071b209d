from enum import Enum
import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import RankSets, RoundWriter
from hocket._core.topology import Graph

Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]

class Stop:
    def __init__(self) -> None: ...
    def ask(self) -> None: ...
    def check(self) -> None: ...
    @property
    def asked(self) -> bool: ...
    @property
    def found(self) -> float: ...

class Network:
    def __init__(
        self,
        graph: Graph,
        route_offset: NDArray[np.int64],
        route_links: NDArray[np.int32],
        chunk_bytes: int,
        blocking: bool,
    ) -> None: ...
    @property
    def num_ranks(self) -> int: ...
    @property
    def num_links(self) -> int: ...
    @property
    def uniform(self) -> bool: ...
    @property
    def rounds_per_hop(self) -> int: ...

class Demand:
    def __init__(
        self,
        sets: RankSets,
        origin: NDArray[np.int32],
        wanted: NDArray[np.int32],
        through: NDArray[np.int32],
        bytes: NDArray[np.int64],
        priority: NDArray[np.int32],
    ) -> None: ...
    @property
    def num_chunks(self) -> int: ...

class Matcher:
    def __init__(self, network: Network, demand: Demand, seed: int) -> None: ...
    def next(self, stop: Stop) -> Columns | None: ...

class Translations:
    def __init__(self, network: Network, sizes: NDArray[np.int32], turns: NDArray[np.bool_]) -> None: ...
    @property
    def order(self) -> int: ...
    @property
    def num_orbits(self) -> int: ...
    @property
    def num_generators(self) -> int: ...
    @property
    def connected(self) -> bool: ...

class TranslatedTransfers:
    @property
    def num_transfers(self) -> int: ...
    @property
    def time_ps(self) -> int: ...

class SymmetricSpread:
    def __init__(self, network: Network, translations: Translations, chunks: int, seed: int) -> None: ...
    def next(self, stop: Stop) -> TranslatedTransfers | None: ...

def symmetric_exchange(translations: Translations, chunks: int, stop: Stop) -> TranslatedTransfers: ...
def translate_spread(
    translations: Translations, chunks: int, transfers: TranslatedTransfers, senders: int
) -> Columns: ...
def translate_exchange(
    translations: Translations, chunks: int, transfers: TranslatedTransfers, senders: int
) -> Columns: ...

class RoundTimes:
    @property
    def length_ps(self) -> int: ...
    @property
    def travel_ps(self) -> int: ...

class RoundSink: ...

class RoundColumns(RoundSink):
    def __init__(self, times: RoundTimes) -> None: ...
    def release(self) -> Columns: ...

class WrittenRounds(RoundSink):
    def __init__(self, writer: RoundWriter, route_of: NDArray[np.int32]) -> None: ...

class Orbits:
    def __init__(self, num_ranks: int, generators: NDArray[np.int32]) -> None: ...
    @property
    def order(self) -> int: ...

def round_times(network: Network, rounds_per_hop: int) -> RoundTimes: ...
def round_search_bytes(num_ranks: int, num_links: int, num_chunks: int, order: int, rounds_per_hop: int) -> int: ...

ROUND_RENEWAL: int

class RoundSearch:
    def __init__(
        self,
        network: Network,
        orbits: Orbits,
        origin: NDArray[np.int32],
        rounds_per_hop: int,
        rarest: bool,
        seed: int,
        attempt: int,
        threads: int,
        below_ps: int,
        sink: RoundSink,
        stop: Stop,
    ) -> None: ...
    def replay(self, rounds: NDArray[np.int64], links: NDArray[np.int32], chunks: NDArray[np.int32]) -> None: ...
    def resume(self, round: int) -> None: ...
    def run(self) -> int | None: ...

class Rule(Enum):
    LONGEST_WAY = ...
    BUSIEST_LINK = ...

# Offsets and links of the routes; packet, route, start and finish of each transfer.
RoutedTransfers = tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int64],
]

class PacketRouter:
    def __init__(
        self,
        graph: Graph,
        src: NDArray[np.int32],
        dst: NDArray[np.int32],
        bytes: NDArray[np.int64],
        relays: NDArray[np.uint8],
        blocking: bool,
        seed: int,
    ) -> None: ...
    def route(self, target_ps: int, sharpness: int, stop: Stop) -> None: ...
    @property
    def busiest_ps(self) -> int: ...
    def schedule(self, rule: Rule, stop: Stop) -> RoutedTransfers: ...
    def rounds(self, stop: Stop) -> RoutedTransfers | None: ...

def trees(
    network: Network,
    images: NDArray[np.int32],
    root: NDArray[np.int32],
    sums: bool,
    chunk_bytes: NDArray[np.int64],
    depth_percent: int,
    growth_passes: int,
    pace_percent: int,
    schedule_passes: int,
    seed: int,
    target_ps: int,
    stop: Stop,
) -> tuple[Columns, NDArray[np.uint8]]: ...
def packing_period(
    graph: Graph, root: NDArray[np.int32], chunk_bytes: int, blocking: bool, stop: Stop
) -> tuple[int, NDArray[np.int32]]: ...
def pack_spanning_trees(
    graph: Graph, root: NDArray[np.int32], chunk_bytes: int, blocking: bool, grain: int, stop: Stop
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...
def schedule_trees(
    network: Network,
    root: NDArray[np.int32],
    down: NDArray[np.int32],
    interval_ps: int,
    schedule_passes: int,
    target_ps: int,
    stop: Stop,
) -> Columns: ...

class Alternatives:
    def __init__(
        self, graph: Graph, relays: NDArray[np.uint8], weight: NDArray[np.int64], most: int
    ) -> None: ...
    @property
    def num_paths(self) -> int: ...
    @property
    def num_ports(self) -> int: ...
    @property
    def hops(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def plan(self, pair: NDArray[np.int32], bytes: NDArray[np.int64], passes: int, blocking: bool) -> Columns: ...
