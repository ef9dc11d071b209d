"""Times of steps, from what makes a job to what is printed; and what tells the steps of a trace."""

import json
from dataclasses import replace
from pathlib import Path

import in_process
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import HocketError, TraceError
from hocket.chakra import TraceBuilder, TraceSet, read_traces, write_trace, write_traces
from hocket.chakra.steps import NO_STEP, step_metadata, step_of_nodes
from hocket.simulator import simulate_traces
from hocket.topology import load

# 1 MB by two messages of 500 kB: 2 * (10 + 0.5) us = 21 us.
PAIR = "fully_connected:2,bandwidth=50GB/s,latency=500ns"
US = 10**6
LAYER = (
    "name,forward.time,weight_gradient.time,weight_gradient.comm,weight_gradient.bytes\na,10us,20us,all_reduce,1MB\n"
)


def hocket(*arguments: object) -> str:
    done = in_process.hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def steps_of(folder: Path, topology: str = PAIR) -> tuple[str, dict[str, list[int]]]:
    """What the command prints about steps, and its table of them."""
    printed = hocket("simulate", folder, "--topology", topology, "--json", folder / "out.json")
    line = next((line for line in printed.splitlines() if line.startswith("  steps ")), "")
    return line.split(maxsplit=1)[1] if line else "", json.loads((folder / "out.json").read_text())["steps"]


def test_generated_steps_are_timed_and_stay_when_traces_are_converted_and_extrapolated(tmp_path: Path) -> None:
    """A step computes 10 us and 20 us and reduces for 21 us, and the next one waits for that: 51 us each."""
    (tmp_path / "layer.csv").write_text(LAYER)
    hocket("generate", "network", tmp_path / "layer.csv", "--ranks", 2, "--steps", 3, "-o", tmp_path / "two")
    printed, table = steps_of(tmp_path / "two")
    assert printed == "3, 51 us on average, at most 51 us (step 0)"
    assert table["step"] == [0, 1, 2]
    assert table["start_ps"] == [0, 51 * US, 102 * US]
    assert table["time_ps"] == [51 * US] * 3
    for profile in ("astra-sim", "mlcommons"):
        hocket("trace", "convert", tmp_path / "two", "-o", tmp_path / profile, "--profile", profile)
        assert steps_of(tmp_path / profile)[1] == table
    hocket("extrapolate", tmp_path / "two", "--ranks", 4, "-o", tmp_path / "four")
    # Four ranks in a ring: 6 messages of 250 kB, 6 * (5 + 0.5) us = 33 us.
    printed, table = steps_of(tmp_path / "four", "ring:4,bandwidth=50GB/s,latency=500ns")
    assert table["time_ps"] == [63 * US] * 3


def test_repetitions_of_a_collective_and_a_generated_training_step_are_steps(tmp_path: Path) -> None:
    hocket("generate", "collective", "all_reduce", "--ranks", 2, "--size", "1MB", "--repeat", 2, "-o", tmp_path / "two")
    assert steps_of(tmp_path / "two")[1]["time_ps"] == [21 * US] * 2
    hocket("generate", "llm", "llama3-8b", "--dp", 2, "--zero", 3, "--global-batch", 2, "-o", tmp_path / "llm")
    table = steps_of(tmp_path / "llm")[1]
    assert table["step"] == [0]
    assert table["time_ps"] == [json.loads((tmp_path / "llm" / "out.json").read_text())["time_ps"]]


def test_steps_in_metadata_go_by_ids_and_leave_out_what_is_before_and_between_steps(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for number in (NO_STEP, 3, NO_STEP, 5):
        builder.begin_step(number)
        builder.add_comp("work", duration_ns=1000)
        builder.add_comp("ProfilerStep#9")  # metadata goes first
    trace = builder.build()
    assert trace.metadata == {"step_numbers": [-1, 3, -1, 5], "step_begins": [0, 2, 4, 6]}
    write_trace(tmp_path / "trace.0.et", trace)
    again = read_traces(tmp_path).traces[0]
    assert step_of_nodes(again, "").tolist() == [-1, -1, 3, 3, -1, -1, 5, 5]
    shuffled = replace(again, id=again.id[::-1])
    assert step_of_nodes(shuffled, "").tolist() == [5, 5, -1, -1, 3, 3, -1, -1]
    assert step_metadata([(NO_STEP, 0)]) == {}


@pytest.mark.parametrize(
    "metadata",
    [
        {"step_numbers": [0]},
        {"step_begins": 3, "step_numbers": [0]},
        {"step_begins": [4, 2], "step_numbers": [0, 1]},
        {"step_begins": [-1], "step_numbers": [0]},
        {"step_begins": [0.5], "step_numbers": [0]},
        {"step_begins": [0], "step_numbers": [-2]},
    ],
)
def test_faulty_metadata_is_one_error_that_validate_shows_too(metadata: dict[str, object], tmp_path: Path) -> None:
    builder = TraceBuilder(metadata)
    builder.add_comp("work", duration_ns=1000)
    write_traces(tmp_path, TraceSet((builder.build(),)))
    with pytest.raises(TraceError, match=r"trace\.0\.et: metadata: step_"):
        simulate_traces(read_traces(tmp_path), load("ring:2,bandwidth=50GB/s,latency=500ns"))
    done = in_process.hocket("trace", "validate", tmp_path)
    assert done.returncode == 1
    assert "metadata: step_" in done.stdout + done.stderr


VALUES = st.one_of(
    st.none(), st.integers(), st.text(), st.lists(st.one_of(st.integers(-3, 5), st.booleans(), st.text()))
)


@given(st.fixed_dictionaries({}, optional={"step_numbers": VALUES, "step_begins": VALUES}))
def test_any_metadata_tells_steps_or_raises(metadata: dict[str, object]) -> None:
    builder = TraceBuilder(metadata)
    builder.add_comp("work")
    try:
        assert len(step_of_nodes(builder.build(), "")) == 1
    except HocketError as error:
        assert "metadata" in str(error)
