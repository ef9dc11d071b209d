"""Metrics of calls on devices: by the devices' times, and no number where these are not known."""

from pathlib import Path
from typing import Any

import pytest
import streams
from streams import END, call, done, meta, wait

from hocket.recording.metrics.reader import MetricsReader

MS = 1_000_000
DEVICE = {"stream": 7, "in": 8_000_000, "out": 8_000_000}


def write(folder: Path, rank: int, device_lines: list[str], count: int = 2, is_async: bool = True) -> None:
    """A rank whose host issues its calls within 100 us and waits for none of them; what its device tells."""
    lines: list[Any] = [meta(rank), streams.group([0, 1])]
    for number in range(count):
        t = 10_000 * number
        lines += call(number, t, **DEVICE, **{"async": int(is_async)})
        lines += [done(number, t + 1000), wait(number, t + 2000, t + 3000)]
    streams.write(folder, rank, *lines, *device_lines, END)


def value(families: Any, name: str, **labels: str) -> Any:
    (family,) = [family for family in families if family.name == f"hocket_{name}"]
    return next(value for found, value in family.samples if dict(found).items() >= labels.items())


def families(folder: Path) -> list[Any]:
    return list(MetricsReader(folder).read())


def names_with_samples(found: list[Any]) -> set[str]:
    return {family.name.removeprefix("hocket_") for family in found if family.samples}


def test_calls_on_devices_count_by_the_device_s_times(tmp_path: Path) -> None:
    """Rank 1's stream comes 2 ms late to each of two calls that end at 6 ms and 16 ms, and are waited for from 4 ms and
    14 ms on: 4 ms of transfer each, for 8 MB."""
    for rank in range(2):
        late = 2 * MS * rank
        lines = []
        for number in range(2):
            begin = 10 * MS * number
            lines += [f"r {number} {begin + late}", f"v {number} {begin + 4 * MS} {begin + 6 * MS}"]
        write(tmp_path, rank, lines)
    found = families(tmp_path)
    assert value(found, "collectives") == 2
    assert value(found, "transfer_seconds") == pytest.approx(0.008)
    assert value(found, "skew_seconds") == pytest.approx(0.004)
    assert value(found, "exposed_seconds") == pytest.approx(2 * 0.004)
    assert value(found, "busbw_bytes_per_second") == pytest.approx(2e9)  # 2 (n - 1) / n is 1
    assert [value(found, "rank_late_seconds", rank=str(rank)) for rank in (0, 1)] == [0, pytest.approx(0.004)]
    assert "untimed_collectives" not in names_with_samples(found)


def test_calls_of_a_group_take_their_turns(tmp_path: Path) -> None:
    """Two calls are ready at once and end at 4 ms and 8 ms: they take 4 ms each, not 4 and 8; they were synchronous,
    whose stream waits for them until then."""
    for rank in range(2):
        write(tmp_path, rank, [f"e 0 0 {4 * MS}", f"e 1 0 {8 * MS}"], is_async=False)
    found = families(tmp_path)
    assert value(found, "transfer_seconds") == pytest.approx(0.008)
    assert value(found, "skew_seconds") == 0
    assert value(found, "exposed_seconds") == pytest.approx(2 * (0.004 + 0.008))


def test_what_no_device_tells_is_counted_and_has_no_bandwidth(tmp_path: Path) -> None:
    for rank in range(2):
        write(tmp_path, rank, [])
    found = families(tmp_path)
    assert (value(found, "calls"), value(found, "collectives"), value(found, "untimed_collectives")) == (4, 2, 2)
    absent = {"transfer_seconds", "skew_seconds", "algbw_bytes_per_second", "busbw_bytes_per_second", "bus_bytes"}
    absent |= {"exposed_seconds", "rank_exposed_seconds", "rank_late_seconds"}
    assert not absent & names_with_samples(found)


def test_a_call_that_was_over_before_its_wait_has_no_time_nor_one_ready_before(tmp_path: Path) -> None:
    """The first was over by 5 ms, when its stream came to the wait; so when the second began, which was ready at 3 ms,
    is not known. The third was ready at 9 ms and waited for until 12 ms."""
    lines = ["r 0 0", f"r 1 {3 * MS}", f"v 0 {5 * MS} {5 * MS}", f"v 1 {6 * MS} {8 * MS}"]
    lines += [f"r 2 {9 * MS}", f"v 2 {10 * MS} {12 * MS}"]
    for rank in range(2):
        write(tmp_path, rank, lines, count=3)
    found = families(tmp_path)
    assert (value(found, "collectives"), value(found, "untimed_collectives")) == (3, 2)
    assert value(found, "transfer_seconds") == pytest.approx(0.003)
    assert value(found, "bus_bytes") == 8_000_000


def test_of_calls_that_one_wait_is_for_only_the_last_ends_with_it(tmp_path: Path) -> None:
    """As DDP's reducer waits for all buckets. The wait is one, and its time counts once."""
    lines = ["r 0 0", "r 1 1000", f"v 0 {2 * MS} {9 * MS}", f"v 1 {2 * MS} {9 * MS}"]
    lines += [f"r 2 {10 * MS}", f"v 2 {10 * MS} {12 * MS}"]
    for rank in range(2):
        write(tmp_path, rank, lines, count=3)
    found = families(tmp_path)
    assert (value(found, "collectives"), value(found, "untimed_collectives")) == (3, 2)
    assert value(found, "transfer_seconds") == pytest.approx(0.002)
    assert value(found, "exposed_seconds") == pytest.approx(2 * (0.007 + 0.002))


def test_times_that_come_later_than_a_look_are_waited_for(tmp_path: Path) -> None:
    reader = MetricsReader(tmp_path)
    paths = []
    for rank in range(2):
        lines = [meta(rank), streams.group([0, 1]), call(0, 0, **DEVICE), done(0, 1000), wait(0, 1000, 2000)]
        paths.append(streams.write(tmp_path, rank, *lines, "r 0 1000"))
    found = list(reader.read())
    assert value(found, "calls") == 2
    assert {"collectives", "untimed_collectives"} & names_with_samples(found) == set()
    for path in paths:
        path.write_text(path.read_text() + streams.lines(f"v 0 {2 * MS} {4 * MS}"))
    reader.read()  # another line of the same wait may follow
    found = list(reader.read())
    assert value(found, "transfer_seconds") == pytest.approx(0.004 - 1e-6)


@pytest.mark.parametrize("ranks", [(0, 1, 2, 3), (2, 3)])
def test_nodes_clocks_are_put_by_what_was_measured_also_without_rank_0(tmp_path: Path, ranks: tuple[int, ...]) -> None:
    """Rank n has a node, whose clock is n hours behind rank 0's, and a wall clock that errs. Ranks 2 and 3 all_reduce:
    rank 3 comes 2 ms late, and both are done at 6 ms."""
    hour = 3600 * 1000 * MS
    for rank in ranks:
        behind = hour * rank
        lines: list[Any] = [meta(rank, 4, boot=f"b{rank}", epoch_ns=rank * rank * hour), streams.group([2, 3])]
        if rank:
            lines.append({"k": "clock", "t": 0, "offset": behind, "round_trip": 1000})
        if rank > 1:
            issue = (2 * MS if rank == 3 else 0) - behind + 5 * hour
            shape = {"in": 8_000_000, "out": 8_000_000}
            lines += call(0, issue, **shape)
            lines.append(wait(0, issue, 6 * MS - behind + 5 * hour))
        streams.write(tmp_path, rank, *lines, END)
    found = families(tmp_path)
    assert value(found, "transfer_seconds") == pytest.approx(0.004)
    assert value(found, "skew_seconds") == pytest.approx(0.002)
    assert value(found, "absent_ranks") == 4 - len(ranks)
