"""Pictures of one schedule: links over time, and how its chunks spread."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_time
from hocket.report.charts import Bar, BarPart, Chart, Mark, bar_chart, time_axis
from hocket.report.network import network_picture
from hocket.report.node_names import NodeNames
from hocket.schedule import Schedule

__all__ = ["arrivals", "compared_times", "spread_picture"]


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


def spread_picture(names: NodeNames, time_ps: int, share: NDArray[np.float64], arrived: NDArray[np.float64]) -> Chart:
    """An animation: ranks fill up as deliveries come (`arrived`, parts x ranks), links are hot while they are held
    (`share` as from `link_use_over_time`). The first frame is the end, with what links were held of the whole time."""
    parts = share.shape[1]
    times = np.arange(1, parts + 1) * (time_ps / parts)
    filled = np.concatenate([arrived[-1:], arrived])
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
