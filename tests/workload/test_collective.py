"""`hocket generate collective` as a user runs it, checked and simulated by the commands."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError
from hocket.chakra import NodeType, read_traces
from hocket.chakra.validate import validate
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.collective import Benchmark, CommunicationPattern, generate_collective
from hocket.workload.parsing import parse_nanoseconds, parse_ranks, parse_splits

RING = "ring:8,bandwidth=50GB/s,latency=500ns"


def test_repeated_collective_takes_its_time_and_the_computation_between(tmp_path: Path) -> None:
    options = ["--ranks", 8, "--size", "64KiB", "--repeat", 3, "--compute", "1ms", "-o", tmp_path / "traces"]
    done = hocket("generate", "collective", "all_reduce", *options)
    assert (done.returncode, done.stdout) == (0, f"wrote 8 traces with 48 nodes to {tmp_path / 'traces'}\n")
    assert hocket("trace", "validate", tmp_path / "traces", "--profile", "astra-sim").returncode == 0
    out = tmp_path / "out.json"
    assert hocket("simulate", tmp_path / "traces", "--topology", RING, "--json", out).returncode == 0
    # Ring: 14 steps of 65536 / 8 = 8192 B at 50 GB/s = 163.84 ns, and 500 ns each; three times, after 1 ms each.
    assert json.loads(out.read_text())["time_ps"] == 3 * (10**9 + 14 * (163_840 + 500_000))


@pytest.mark.parametrize("pattern", [*CommunicationPattern])
def test_every_pattern_is_valid_and_simulates(pattern: CommunicationPattern) -> None:
    traces = generate_collective(Benchmark(pattern, 8, 1 << 20))
    assert not validate(traces)
    prediction = simulate_traces(traces, load(RING))
    assert prediction.time_ps >= prediction.bound_ps > 0
    sizes = {int(size) for trace in traces.traces for size in trace.comm_bytes}
    # nccl-tests' size is the larger buffer, a trace's the input: of a gathering one an eighth, of scatter the root's.
    expected = {"all_gather": {131072}, "gather": {131072}, "scatter": {1 << 20, 0}, "barrier": {0}}
    assert sizes == expected.get(pattern, {1 << 20})


def test_groups_run_side_by_side(tmp_path: Path) -> None:
    options = ["--ranks", 8, "--group", "0-3", "--group", "7,5", "--size", "100", "-o", tmp_path]
    assert hocket("generate", "collective", "all_to_all", *options).returncode == 0
    traces = read_traces(tmp_path)
    assert traces.groups == {"1": (0, 1, 2, 3), "2": (7, 5)}
    assert [len(trace) for trace in traces.traces] == [1, 1, 1, 1, 0, 1, 0, 1]
    assert not validate(traces)


@pytest.mark.parametrize(
    ("arguments", "inputs"),
    [
        (["all_to_all", "--size", 5, "--size", "1KiB", "--size", 0], [5, 1024, 0]),
        (["all_gather", "--size", 5, "--size", "1KiB", "--size", 0], [5, 1024, 0]),
        (["all_gather", "--size", 10], [3, 3, 4]),  # bytes 0-3, 3-6, 6-10 of the output
        (["reduce_scatter", "--size", 10], [10, 10, 10]),
    ],
)
def test_uneven_inputs(arguments: list[object], inputs: list[int], tmp_path: Path) -> None:
    for profile in ("mlcommons", "astra-sim"):
        options = ["--ranks", 3, "--profile", profile, "-o", tmp_path / profile]
        assert hocket("generate", "collective", *arguments, *options).returncode == 0
        assert hocket("trace", "validate", tmp_path / profile, "--profile", profile).returncode == 0
        expected = inputs if profile == "mlcommons" else [max(inputs)] * 3  # ASTRA-sim needs equal ones
        assert [int(trace.comm_bytes[0]) for trace in read_traces(tmp_path / profile).traces] == expected


def test_a_cut_input_takes_as_long_as_its_largest_part() -> None:
    # Every rank sends 3/6 of 600 kB to rank 0: two such messages of 300 kB, 6 us each, meet at its one link of 50 GB/s.
    traces = generate_collective(Benchmark(CommunicationPattern.ALL_TO_ALL, 3, 600_000, splits=(3, 2, 1)))
    assert not validate(traces)
    assert simulate_traces(traces, load("switch:3,bandwidth=50GB/s,latency=500ns")).bound_ps >= 12_000_000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["all_redce", "--size", "1MiB"], 2, "did you mean 'all_reduce'?"),
        (["all_reduce"], 2, "--size is missing"),
        (["all_reduce", "--size", "8", "--split", "1,1,1,1,1,1,1,1"], 3, "no input to cut"),
        (["all_to_all", "--size", "8", "--split", "1,7"], 3, "no parts for 8 members"),
        (["all_to_all", "--size", "9", "--split", "1,1,1,1,1,1,1,1"], 3, "9 bytes are no multiple of the 8"),
        (["all_to_all", "--size", "9", "--split", "1,-1"], 3, "not a list of parts"),
        (["all_reduce", "--size", "1", "--size", "2"], 3, "the same size on all ranks"),
        (["gather", "--size", "1", "--size", "2"], 3, "2 sizes for 8 members"),
        (["all_reduce", "--size", "1", "--group", "0-8"], 3, "among 0..7"),
        (["all_reduce", "--size", "1", "--group", "0-3", "--group", "3-5"], 3, "one group only"),
        (["all_reduce", "--size", "1", "--group", "3-0"], 3, "not a list of ranks"),
        (["ring_exchange", "--size", "1", "--group", "0"], 3, "nobody to exchange"),
        (["broadcast", "--size", "1", "--root", "8"], 3, "root 8"),
        (["all_reduce", "--size", "1", "--compute", "10ps"], 3, "nanoseconds"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    ranks = [] if "--ranks" in arguments else ["--ranks", "8"]
    done = hocket("generate", "collective", *arguments, *ranks, "-o", tmp_path / "traces")
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "traces").exists()


@given(st.sampled_from([*CommunicationPattern]), st.integers(4, 9), st.integers(0, 1000), st.integers(1, 3), st.data())
def test_ranks_always_agree(
    pattern: CommunicationPattern, num_ranks: int, unit: int, repeat: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(num_ranks)))
    cut = data.draw(st.integers(2, num_ranks - 2))
    benchmark = Benchmark(
        pattern, num_ranks, unit * 2520, groups=(tuple(order[:cut]), tuple(order[cut:])), repeat=repeat
    )
    traces = generate_collective(benchmark)
    assert not validate(traces)
    messages = sum(int((trace.type == NodeType.COMM_SEND).sum()) for trace in traces.traces)
    assert messages == (num_ranks * repeat if pattern is CommunicationPattern.RING_EXCHANGE else 0)


@given(st.text(alphabet="0123456789,- nmsu.e", max_size=12))
def test_texts_are_read_or_refused(text: str) -> None:
    for parse in (parse_ranks, parse_nanoseconds, parse_splits):
        try:
            assert parse(text) is not None
        except FormatError as error:
            assert repr(text)[1:-1] in str(error)
