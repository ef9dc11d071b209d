"""One search for groups whose links are alike, on real machines; and groups that are not alike."""

import numpy as np
import pytest

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, verify
from hocket.synthesizer.alike_groups import solve_alike
from hocket.topology import load

AFFORDABLE_S = 5.0


@pytest.mark.parametrize(
    "spec,kind,groups",
    [
        ("dgx-h100:nodes=4", Kind.ALL_REDUCE, [tuple(range(first, first + 8)) for first in range(0, 32, 8)]),
        ("dgx-h100:nodes=2,nvls=1", Kind.ALL_REDUCE, [tuple(range(first, first + 8)) for first in range(0, 16, 8)]),
        ("dgx-h100:nodes=4", Kind.REDUCE_SCATTER, [tuple(range(first, 32, 8)) for first in range(8)]),
        ("torus:4x4,bandwidth=50GB/s,latency=500ns", Kind.ALL_GATHER, [tuple(range(at, 16, 4)) for at in range(4)]),
        ("dgx-h100:nodes=2", Kind.ALL_TO_ALL, [(0, 1), (3, 8), (15, 9)]),
    ],
)
def test_each_group_has_a_schedule_on_its_own_links(spec: str, kind: Kind, groups: list[tuple[int, ...]]) -> None:
    topology = load(spec)
    collective = Collective(kind, len(groups[0]), 1 << 24)
    found = solve_alike(collective, topology, groups, AFFORDABLE_S)
    again = solve_alike(collective, topology, groups[::-1], AFFORDABLE_S, threads=2)
    assert [*found] == groups
    for group, schedule in found.items():
        assert tuple(schedule.ranks.tolist()) == group and schedule.topology.fingerprint == topology.fingerprint
        verify(schedule)
        others = np.setdiff1d(np.arange(topology.num_ranks), group)
        ends = np.concatenate([topology.src[schedule.route_links], topology.dst[schedule.route_links]])
        assert not np.isin(ends, others).any()
        assert schedule.time_ps == again[group].time_ps
    if kind is not Kind.ALL_TO_ALL:
        assert len({schedule.time_ps for schedule in found.values()}) == 1


def test_what_takes_too_long_is_refused() -> None:
    topology = load("dgx-h100:nodes=2")
    with pytest.raises(ScheduleError, match="its search would take about"):
        solve_alike(Collective(Kind.ALL_REDUCE, 16, 1 << 24), topology, [tuple(range(16))], 1e-9)
    with pytest.raises(ScheduleError, match="a group of 300 ranks, more than 256"):
        solve_alike(Collective(Kind.ALL_REDUCE, 300, 1 << 24), topology, [tuple(range(300))], AFFORDABLE_S)
