"""Which rule of a tuner table applies to which size on one communicator."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.names import ALGORITHMS, PROTOCOLS, can_do
from hocket.nccl.tuning.table import CommunicatorRules, TunerRule, TunerTable

__all__ = ["Segment", "segments"]

_LARGEST = 2**64 - 1

#: NCCL's us of a size, 7 x 3 flat (float32), negative where not available.
Costs = Callable[[int], NDArray[np.float32]]


@dataclass(frozen=True)
class Segment:
    """Sizes from `least` to `most` bytes (None: all larger ones) for which `rule` applies, or none: NCCL's own choice.
    `algorithm` and `protocol` are -1 where NCCL chooses; `passed` are rules before it that cannot be had."""

    least: int
    most: int | None
    rule: TunerRule | None
    algorithm: int
    protocol: int
    channels: int
    passed: tuple[TunerRule, ...]


def segments(
    table: TunerTable,
    function: int,
    nodes: int,
    ranks: int,
    domains: tuple[int, int, int] | None = None,
    pipe_operations: int = 1,
    registered: bool = False,
    costs: Costs | None = None,
) -> list[Segment]:
    """The sizes of a collective (its place in COLLECTIVES) from 0 on, by what applies to them.

    Without `costs` all counts as available that NCCL has kernels for on such a communicator.
    """
    rules, chooser = table.rules, CommunicatorRules(table, nodes, ranks, domains)
    found: list[Segment] = []
    starts = _starts(rules, function, ranks)
    for least, following in zip(starts, [*starts[1:], None], strict=True):
        offered = costs(least) if costs else _kernels(function, nodes, ranks)
        index, algorithm, protocol, channels, passed = chooser.choose(
            function, least, pipe_operations, int(registered), offered
        )
        rule = rules[index] if index >= 0 else None
        if rule is None:
            algorithm = protocol = -1
        elif costs is None:
            algorithm, protocol = rule.algorithm, rule.protocol
        segment = Segment(
            least,
            None if following is None else following - 1,
            rule,
            algorithm,
            protocol,
            channels,
            tuple(rules[one] for one in passed),
        )
        if found and replace(segment, least=found[-1].least, most=found[-1].most) == found[-1]:
            segment = replace(segment, least=found.pop().least)
        found.append(segment)
    return found


def _starts(rules: list[TunerRule], function: int, ranks: int) -> list[int]:
    """The sizes at which another rule may begin to match."""
    starts = {0}
    for rule in rules:
        if rule.function != function:
            continue
        least, most = rule.bytes
        least_per_rank, most_per_rank = rule.bytes_per_rank
        starts |= {least, most + 1, least_per_rank * ranks, (most_per_rank + 1) * ranks}
    return sorted(start for start in starts if start <= _LARGEST)


def _kernels(function: int, nodes: int, ranks: int) -> NDArray[np.float32]:
    """1 for what there may be on such a communicator, -1 for what there cannot."""
    several_nodes = {"CollNetDirect", "CollNetChain", "NVLSTree"}
    several_gpus = {"NVLS", "NVLSTree"}
    costs = []
    for number, algorithm in enumerate(ALGORITHMS):
        fits = (nodes > 1 or algorithm not in several_nodes) and (ranks > nodes or algorithm not in several_gpus)
        fits = fits and (ranks == nodes or algorithm != "PAT")
        costs += [1.0 if fits and can_do(function, number, protocol) else -1.0 for protocol in range(len(PROTOCOLS))]
    return np.array(costs, np.float32)
