"""What a tuner table changes of NCCL's own choices on a machine, by NCCL's model."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.constants import Constants
from hocket.nccl.model import NcclModel
from hocket.nccl.names import COLLECTIVES
from hocket.nccl.releases import NEWEST, Release
from hocket.nccl.settings import read_settings
from hocket.nccl.tuning.finding import choice_name
from hocket.nccl.tuning.table import CommunicatorRules, TunerTable
from hocket.topology.machines.hosts import Hosts

__all__ = ["SIZES", "RuleComparison", "compare"]

#: 8 B to 16 GiB.
SIZES = tuple(2**power for power in range(3, 35))


@dataclass(frozen=True, slots=True)
class RuleComparison:
    """From the `least` to the `most` of SIZES the rule of `line` (None: the constants) makes NCCL take `ruled` where it
    would take `own` without the table; with what the model expects of both at these two sizes, in us."""

    collective: str
    least: int
    most: int
    line: int | None
    ruled: str
    own: str
    ruled_us: tuple[float, float]
    own_us: tuple[float, float]


def compare(
    table: TunerTable,
    hosts: Hosts,
    collectives: Iterable[str],
    domains: tuple[int, int, int] | None = None,
    pipe_operations: int = 1,
    registered: bool = False,
    release: Release = NEWEST,
) -> list[RuleComparison]:
    """For the sizes that rules take, or at which constants change the choice; both times are by the table's constants.
    Raises TopologyError as NcclModel."""
    settings = read_settings([], release)
    without = NcclModel(hosts.machine, hosts.nodes, settings, domain=hosts.domain)
    nodes, ranks = hosts.nodes, without.ranks
    constants = table.rewrite_constants(nodes, ranks, release.constants.flat())
    model = NcclModel(hosts.machine, nodes, settings, Constants.from_flat(constants), domain=hosts.domain)
    rules, chooser = table.rules, CommunicatorRules(table, nodes, ranks, domains)
    found: list[RuleComparison] = []
    for collective in collectives:
        for size in SIZES:
            costs, own = _costs(model, collective, size), _quickest(_costs(without, collective, size))
            index, algorithm, protocol, _, _ = chooser.choose(
                COLLECTIVES.index(collective), size, pipe_operations, int(registered), costs
            )
            ruled = algorithm * 3 + protocol if index >= 0 else _quickest(costs)
            if index < 0 and ruled == own:
                continue
            one = RuleComparison(
                collective,
                size,
                size,
                rules[index].line if index >= 0 else None,
                choice_name(*divmod(ruled, 3)),
                choice_name(*divmod(own, 3)),
                (float(costs[ruled]),) * 2,
                (float(costs[own]),) * 2,
            )
            if found and _continues(found[-1], one):
                last = found.pop()
                ruled_us, own_us = (last.ruled_us[0], one.ruled_us[1]), (last.own_us[0], one.own_us[1])
                one = replace(one, least=last.least, ruled_us=ruled_us, own_us=own_us)
            found.append(one)
    return found


def _costs(model: NcclModel, collective: str, size: int) -> NDArray[np.float32]:
    """As NCCL hands them to a tuner: us by algorithm and protocol, -1 where not available."""
    return np.array([-1 if term.out else term.time_us for term in model.terms(collective, size)], np.float32)


def _quickest(costs: NDArray[np.float32]) -> int:
    return int(np.where(costs < 0, np.inf, costs).argmin())


def _continues(last: RuleComparison, one: RuleComparison) -> bool:
    return last.most * 2 == one.least and all(
        getattr(last, name) == getattr(one, name) for name in ("collective", "line", "ruled", "own")
    )
