"""What is slow in a predicted job, why, and what to do: read from the numbers that the page shows below."""

import shlex
from collections.abc import Iterator

import numpy as np

from hocket.base.units import exact_bandwidth, exact_bytes, format_bandwidth, format_bytes, format_time
from hocket.report.blocks import Advice
from hocket.report.node_names import NodeNames
from hocket.simulator.analysis import Columns, PredictionFacts, path_parts

__all__ = ["prediction_advice"]

_NOTABLE = 0.1  # a share of the time that is worth a word
_NEAR = 1.15  # times the lower bound, from where on little is left to gain
_BUSY = 0.7  # of its time, from where on a link rules
_FEW = 0.25  # of all links, up to where a spread of the work would help
_MORE = 1.05  # times the mean computation, from where on a rank has more to do than others
_MOST = 4
_Found = tuple[float, Advice]  # with the share of the time that it is about


def prediction_advice(facts: PredictionFacts, names: NodeNames, path: Columns) -> list[Advice]:
    """The points that matter, the one that takes the most of the time first, read from the critical path and the tables
    of ranks and of sorts of collectives."""
    if facts.time_ps <= 0:
        return []
    parts = path_parts(path)
    found = [*_collectives(facts, parts), *_waits(facts), *_links(facts, names), *_computation(facts, path, parts)]
    return [advice for _, advice in sorted(found, key=lambda each: -each[0])][:_MOST]


def _collectives(facts: PredictionFacts, parts: dict[str, int]) -> Iterator[_Found]:
    """The collective that takes the most of the critical path: far from its lower bound, ruled by latency, or at it."""
    kinds = {each.kind for each in facts.collectives}
    kind = next((part for part in parts if part in kinds), None)
    if kind is None or parts[kind] < _NOTABLE * facts.time_ps:
        return
    share, table = parts[kind] / facts.time_ps, facts.sorts
    at = table["kind"].tolist().index(kind)
    row = {name: column[at].item() for name, column in table.items()}
    size, count = format_bytes(row["size_bytes"]), row["count"]
    how_often = "once" if count == 1 else f"{count:,} times"
    why = (
        f"Most of it is {kind} of {size} on {row['ranks']} ranks, {how_often}: {row['algorithm']} takes"
        f" {format_time(row['mean_time_ps'])}{' on average' * (count > 1)}, {row['ratio']:.2f} times its lower bound,"
        f" at {format_bandwidth(row['busbw'])} busbw."
    )
    command = ""
    calls = [each for each in facts.collectives if (each.kind, each.size_bytes) == (kind, row["size_bytes"])]
    if count > 1 and all(each.regime == "latency" for each in calls):
        remedy = "Latency rules it: its steps take longer than its bytes. Fuse calls into fewer, larger ones (buckets)."
    elif row["ratio"] > _NEAR:
        stock = row["algorithm"].startswith("NCCL")
        remedy = "A better algorithm may exist for these links: synthesize one, and simulate the job with it."
        if stock:
            remedy = "Programs may be faster than the stock library: synthesize them for the runtime that runs them."
        topology = facts.topology
        if row["ranks"] == topology.num_ranks and kind != "barrier" and facts.is_spec:
            command = f"hocket synthesize {shlex.quote(kind)} -t {topology.name} -s {exact_bytes(row['size_bytes'])}"
            command += " --for device -o bundle/" if stock else f" -o {shlex.quote(kind)}.schedule"
    else:
        remedy = "No algorithm is much faster on these links. Move fewer bytes, or let computation hide more of it."
    yield (
        share,
        Advice(f"{kind} takes {share:.0%} of the critical path ({format_time(parts[kind])})", why, remedy, command),
    )


def _waits(facts: PredictionFacts) -> Iterator[_Found]:
    """Ranks that wait for one that comes late."""
    late, ranks = facts.caused_waits, facts.ranks
    waited = float(ranks["exposed_wait_ps"].mean()) / facts.time_ps
    if waited < _NOTABLE or not len(late["rank"]):
        return
    worst, kept = int(late["rank"][0]), int(late["ranks_kept_waiting"][0])
    of_all = int(late["caused_wait_ps"][0]) / max(int(late["caused_wait_ps"].sum()), 1)
    computed = int(ranks["compute_ps"][worst])
    ahead = computed / max(float(ranks["compute_ps"].mean()), 1.0)
    why = (
        f"Rank {worst} keeps {kept} other{'s' * (kept != 1)} waiting, {of_all:.0%} of all waits. It computes for"
        f" {format_time(computed)}, {ahead:.2f} times the mean of the ranks."
    )
    remedy = "It does no more than others: see on the critical path and the timeline what it waits for itself."
    if ahead > _MORE:
        remedy = f"Even out the work: rank {worst} has more of it than the others."
    yield waited, Advice(f"Ranks wait for each other for {waited:.0%} of the time", why, remedy)


def _links(facts: PredictionFacts, names: NodeNames) -> Iterator[_Found]:
    """Links that work nearly all the time."""
    if not facts.link_messages.any():
        return
    link = int(facts.link_busy_ps.argmax())
    busy, bandwidth = float(facts.link_utilisation[link]), int(facts.topology.bandwidth[link])
    if busy < _BUSY:
        return
    alike = int(np.count_nonzero(facts.link_utilisation > busy - 0.05))
    why = f"{names.link(link)} carries {format_bytes(int(facts.link_bytes[link]))}"
    why += f" at {format_bandwidth(bandwidth)}; "
    why += f"{alike:,} links are about as busy." if alike > 1 else "no other link is as busy."
    remedy = f"More bandwidth there helps the most: simulate it with {exact_bandwidth(2 * bandwidth)} per link."
    if alike < facts.topology.num_links * _FEW:
        remedy = (
            "Few links do most of the work: spread it by another algorithm or placement before you buy faster links."
        )
    # A busy link is seldom all of the reason: what takes the time of ranks comes before it.
    yield busy / 2, Advice(f"Links {names.sort(link)} are busy for {busy:.0%} of the time", why, remedy)


def _computation(facts: PredictionFacts, path: Columns, parts: dict[str, int]) -> Iterator[_Found]:
    """Computation that nothing hides."""
    share = parts.get("compute", 0) / facts.time_ps
    if share < 0.5:
        return
    last = int(facts.ranks["finish_ps"].argmax())
    exposed = int(facts.ranks["exposed_ps"][last])
    most, ranks = exposed / facts.time_ps, len({*path["rank"].tolist()})
    why = (
        f"{ranks} rank{'s are' if ranks != 1 else ' is'} on the path. Communication that nothing hides takes"
        f" {format_time(exposed)} ({most:.0%}) of rank {last}, the last to finish."
    )
    remedy = f"Faster kernels or accelerators help the most; without any communication the gain is at most {most:.0%}."
    yield share, Advice(f"Computation takes {share:.0%} of the critical path", why, remedy)
