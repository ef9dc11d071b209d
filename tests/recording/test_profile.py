"""Which call of a recording each operation of a profile is, whatever either lacks and the clocks differ by."""

from pathlib import Path
from tempfile import TemporaryDirectory

import streams
from hypothesis import assume, given
from hypothesis import strategies as st
from kineto_profiles import kineto, span

from hocket.chakra.importers.pytorch.kineto import read_kineto
from hocket.recording.profile import join
from hocket.recording.recording import read_recording


@given(
    gaps=st.lists(st.integers(50, 3000), min_size=3, max_size=30),  # the error and the 4 us: less than half a gap
    lost=st.sets(st.integers(0, 3), max_size=1),
    recorded=st.integers(0, 5),
    error=st.integers(-400, 400),
)
def test_operations_and_calls(gaps: list[int], lost: set[int], recorded: int, error: int) -> None:
    """Operations of 10 us each with their call 4 us after its begin, all times in us; the recording begins with number
    `recorded`, the profile lacks those that are `lost`, and its clock is wrong by a part of the least gap, but no more
    than 150."""
    begins = [1000 + sum(gaps[:number]) for number in range(len(gaps) + 1)]
    wrong = max(-150, min(error * min(gaps) // 1000, 150))
    first = min(recorded, len(gaps) - 1)
    # Where the profile lacks the first that was recorded, nothing tells the one before it, so near, from that.
    assume(first == 0 or first not in lost)
    profiled = [number for number in range(len(begins)) if number not in lost]
    events = [span("cpu_op", "c10d::allreduce_", begins[number] + wrong, 10, External_id=number) for number in profiled]
    calls = [streams.call(number, (begins[number] + 4) * 1000) for number in range(first, len(begins))]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rank0.json"
        path.write_text(kineto(events, 0, 1, {"0": [0]}))
        stream = streams.write(
            Path(folder), 0, streams.meta(0, 1, epoch_ns=10**18), streams.group([0]), *calls, streams.END
        )
        profile = join(path, read_kineto(path), read_recording(stream))
    found = {issue.event.external: first + row for issue, row in profile.rows.items()}
    assert found == {number: number for number in profiled if number >= first}
    assert profile.unmatched == (sum(number < first for number in profiled), sum(number >= first for number in lost))


def test_a_call_that_its_thread_was_late_for(tmp_path: Path) -> None:
    """Of two operations the second lost its core for 190 us before its call: the first is found nevertheless."""
    path = tmp_path / "rank0.json"
    events = [
        span("cpu_op", "c10d::allreduce_", 1000, 10, External_id=0),
        span("cpu_op", "c10d::allreduce_", 3000, 250, External_id=1),
    ]
    path.write_text(kineto(events, 0, 1, {"0": [0]}))
    calls = [streams.call(0, 1_004_000), streams.call(1, 3_194_000)]
    stream = streams.write(tmp_path, 0, streams.meta(0, 1, epoch_ns=10**18), streams.group([0]), *calls, streams.END)
    profile = join(path, read_kineto(path), read_recording(stream))
    assert {issue.event.external: row for issue, row in profile.rows.items()} == {0: 0, 1: 1}
