"""The collectives of a prediction: a row a sort, with their bandwidths and lower bounds."""

from collections.abc import Iterator

from hocket.base.units import format_bandwidth, format_bytes, format_bytes_apart, format_time
from hocket.report.blocks import Block, Details, Text
from hocket.report.tables import Formats, table_of
from hocket.simulator.analysis import PredictionFacts

__all__ = ["collective_blocks"]


def collective_blocks(facts: PredictionFacts) -> Iterator[Block]:
    """The table of sorts, and by process group behind a line."""
    sorts = facts.sorts
    times: Formats = {
        "mean_wait_ps": format_time,
        "mean_time_ps": format_time,
        "mean_bound_ps": format_time,
        "ratio": "{:.3f}".format,
        "algbw": format_bandwidth,
        "busbw": format_bandwidth,
    }
    first: Formats = {"count": str, "kind": str, "ranks": str, "size_bytes": format_bytes}
    apart = format_bytes_apart(sorts["size_bytes"].tolist())
    total: Formats = {"total_time_ps": format_time}
    yield table_of(
        sorts, first | {"size_bytes": apart.__getitem__} | {"algorithm": str} | total | times, "collectives by sort"
    )
    yield Text(
        "Wait: from the first member's start to the last one's; time: from there to the end; ratio: time over lower"
        " bound; algbw and busbw as in nccl-tests."
    )
    regimes = [each.regime for each in facts.collectives]
    if all(regimes):
        yield Text(
            f"{regimes.count('latency')} of {len(regimes)} collectives are ruled by latency: they take less than twice"
            " what they would without any bytes."
        )
    groups = facts.groups
    if len(groups["group"]) > 1:
        by_group = table_of(groups, {"group": lambda name: name or "all ranks"} | first | times, "by process group")
        yield Details("By process group, with the mean size", [by_group])
