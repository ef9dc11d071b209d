"""Pictures of one schedule: links over time, and how its chunks spread."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_time
from hocket.report.charts import Bar, BarPart, Chart, Mark, bar_chart, time_axis
from hocket.report.network import network_picture
from hocket.report.node_names import NodeNames
from hocket.schedule import Schedule

__all__ = ["arrivals", "compared_times", "link_occupancy", "spread_picture"]


def link_occupancy(schedule: Schedule, bins: int) -> NDArray[np.float64]:
    """Share of its bandwidth at which each link is held in each of `bins` equal parts of the schedule's time: links x
    bins. A link that carries one transfer at a time is held in whole."""
    lengths = np.diff(schedule.route_offset)
    slowest = np.minimum.reduceat(schedule.topology.bandwidth[schedule.route_links], schedule.route_offset[:-1])
    size = schedule.collective.chunk_bytes[schedule.chunk].astype(np.float64)
    hold = schedule.finish_ps - schedule.start_ps
    if not schedule.blocking:
        hold = np.minimum(hold, np.ceil(size * 1e12 / slowest[schedule.route]).astype(np.int64))
    transfer = np.repeat(np.arange(schedule.num_transfers), lengths[schedule.route])
    first = np.cumsum(lengths[schedule.route]) - lengths[schedule.route]
    hop = schedule.route_offset[schedule.route[transfer]] + np.arange(len(transfer)) - first[transfer]
    link, weight = schedule.route_links[hop], _hop_shares(schedule)[hop]
    edges = np.linspace(0, max(1, schedule.time_ps), bins + 1)
    share = np.zeros((schedule.topology.num_links, bins))
    order = np.argsort(link, kind="stable")
    borders = np.searchsorted(link[order], np.arange(schedule.topology.num_links + 1))
    for each in range(schedule.topology.num_links):
        held = order[borders[each] : borders[each + 1]]
        if len(held):
            begin = schedule.start_ps[transfer[held]]
            end = begin + hold[transfer[held]]
            taken = _since(begin, weight[held], edges) - _since(end, weight[held], edges)
            share[each] = np.diff(taken) / np.diff(edges)
    return share


def _hop_shares(schedule: Schedule) -> NDArray[np.float64]:
    """Of each link of each route the share of its bandwidth that a transfer takes: all, or of a link that has bandwidth
    for several what the slowest link on the way from rank to rank has."""
    topology, links = schedule.topology, schedule.route_links
    if schedule.blocking or not len(links):
        return np.ones(len(links))
    begins = np.zeros(len(links), np.bool_)
    begins[schedule.route_offset[:-1]] = True
    begins[1:] |= topology.dst[links[:-1]] < topology.num_ranks
    parts = np.flatnonzero(begins)
    rate = np.minimum.reduceat(topology.bandwidth[links], parts)[np.cumsum(begins) - 1]
    slowest = np.full(topology.num_links, np.iinfo(np.int64).max)
    np.minimum.at(slowest, links, rate)
    shared = slowest[links] <= topology.bandwidth[links] // 2
    return np.where(shared, rate / topology.bandwidth[links], 1.0)


def _since(times: NDArray[np.int64], weight: NDArray[np.float64], until: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of weight * (what has passed since a time), until each of `until`."""
    order = np.argsort(times, kind="stable")
    passed = np.searchsorted(times[order], until, side="right")
    weights = np.concatenate([[0.0], np.cumsum(weight[order])])
    moments = np.concatenate([[0.0], np.cumsum(weight[order] * times[order])])
    since: NDArray[np.float64] = weights[passed] * until - moments[passed]
    return since


def arrivals(schedule: Schedule, times_ps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of its deliveries that each rank has by each time: times x ranks of the topology; 1 where none is due,
    0 outside the group."""
    ranks = schedule.topology.num_ranks
    dst = schedule.route_dst[schedule.route]
    order = np.lexsort((schedule.finish_ps, dst))
    borders = np.searchsorted(dst[order], np.arange(ranks + 1))
    share = np.zeros((len(times_ps), ranks))
    share[:, schedule.ranks] = 1
    for rank in range(ranks):
        finish = schedule.finish_ps[order[borders[rank] : borders[rank + 1]]]
        if len(finish):
            share[:, rank] = np.searchsorted(finish, times_ps, side="right") / len(finish)
    return share


def spread_picture(names: NodeNames, schedule: Schedule, share: NDArray[np.float64]) -> Chart:
    """An animation: ranks fill up as their deliveries come, links are hot while they are held (`share` as from
    `link_occupancy`: a frame a bin). The first frame is the end, with what links were held of the whole time."""
    bins = share.shape[1]
    times = np.arange(1, bins + 1) * (schedule.time_ps / bins)
    filled = arrivals(schedule, np.append(times[-1:], times))
    frames = np.concatenate([share.mean(axis=1)[:, None], share], axis=1)
    return network_picture(
        names, frames, filled, ["whole time", *(f"until {format_time(float(time))}" for time in times)]
    )


def compared_times(times: dict[str, int], chosen: str, bound_ps: int) -> Chart:
    """A bar an algorithm, quickest first, that of `chosen` in another colour, and a mark at the bound."""
    bars = []
    for name in sorted(times, key=lambda name: times[name]):
        said = f"{format_time(times[name])}, {times[name] / max(1, bound_ps):.3f} times the lower bound"
        part = "this schedule" if name == chosen else "native algorithms"
        mark = Mark(bound_ps, f"lower bound {format_time(bound_ps)}")
        bars.append(Bar(name, [BarPart(part, times[name], f"{name}: {said}")], mark, said))
    axis = time_axis(max(times.values(), default=0))
    colors = {"this schedule": "c0", "native algorithms": "bubble"}
    return bar_chart(bars, axis, colors, "times of other algorithms", mark="lower bound")
