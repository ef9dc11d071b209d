"""How a collective of n ranks on N machines uses the two levels of a cluster: inside a machine, and between machines.

Steps one after the other, and the share of the call's bytes (as nccl-tests counts them) that the busiest rank's part of
a level carries: its links inside the machine, its share of the machine's NICs. As NCCL does them (its cost model,
graph/tuning.cc): a ring over all ranks; for all_reduce over several machines a tree over the machines, floor(log2 N)
deep, with chains inside. Between machines the shares are what any algorithm must move that uses all NICs.
"""

from dataclasses import dataclass

from hocket.base.collectives import MESSAGE
from hocket.schedule import Kind

__all__ = ["INTER", "INTRA", "Use", "most_share", "use_of"]

INTRA, INTER = "intra-node", "inter-node"


@dataclass(frozen=True, slots=True)
class Use:
    """Steps and share of bytes of one level."""

    steps: int
    share: float


def use_of(kind: str, ranks: int, nodes: int) -> dict[str, Use]:
    """What the collective asks of each level that it uses."""
    local = ranks // nodes
    away = nodes - 1
    if kind == MESSAGE:
        return {INTRA: Use(1, 1.0)} if nodes == 1 else {INTER: Use(1, 1.0)}
    does = Kind(kind)
    if not (does.reduces or does.spreads):
        inside, outside = Use(1, (local - 1) / ranks), Use(1, (ranks - local) / ranks)
    elif does.reduces and does.spreads and nodes > 1:
        inside = Use(2 * (local - 1), 2 * (ranks - 1) / ranks)
        outside = Use(2 * (nodes.bit_length() - 1), 2 * away / ranks)
    else:
        twice = 2 if does.reduces and does.spreads else 1
        inside = Use(twice * (ranks - nodes), does.bus_factor(ranks))
        outside = Use(twice * away, does.bus_factor(nodes) / local)
    uses = {INTRA: inside} if local > 1 else {}
    return uses | ({INTER: outside} if nodes > 1 else {})


def most_share(kind: str, ranks: int, nodes: int) -> float:
    """The share that a rank's part of the NICs carries where a ring over all ranks does the collective: the most that
    NCCL's algorithms use."""
    uses = use_of(kind, ranks, nodes)
    if kind in (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER) and INTRA in uses:
        return uses[INTRA].share * nodes / ranks
    return uses[INTER].share
