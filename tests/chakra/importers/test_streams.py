"""Streams of a profile: side by side as recorded, each kernel in the step that launched it."""

import json
from pathlib import Path
from typing import Any

import in_process
from import_commands import communication, hocket
from kineto_profiles import kineto, launched, span

from hocket.chakra import Trace, read_trace
from hocket.chakra.steps import NO_STEP, step_of_nodes


def one(folder: Path, events: list[dict[str, Any]]) -> tuple[Trace, str]:
    """The trace of rank 0 of two, in `folder`/out, and what the import printed."""
    (folder / "rank0.json").write_text(kineto(events, 0, 2, {"0": [0, 1]}))
    done = hocket("import", folder / "rank0.json", "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    return read_trace(folder / "out/trace.0.et"), done.stdout


def simulated_us(folder: Path) -> float:
    """How long the job of `folder`/out takes."""
    assert hocket("complete", folder / "out", "-o", folder / "job").returncode == 0
    done = in_process.hocket("simulate", folder / "job", "-t", "ring:2,bandwidth=1GB/s,latency=1us", "--json", "-")
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])["time_ps"]) / 1e6


def names_by_step(trace: Trace) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for row, step in enumerate(step_of_nodes(trace, "").tolist()):
        name = trace.strings[trace.name[row]]
        if name != "host":
            found.setdefault(step, []).append(name)
    return found


def test_kernels_that_overlapped_overlap_again(tmp_path: Path) -> None:
    # Two streams, 100 us each, side by side but for 10 us; then 30 us after the host, on the first stream.
    one(
        tmp_path,
        [
            *launched("first", 10, 0, 100, 7, 1),
            *launched("second", 20, 5, 100, 20, 2),
            *launched("third", 150, 140, 30, 7, 3),
        ],
    )
    assert simulated_us(tmp_path) == 170  # the recording's, from 10 to 180


def test_an_idle_stream_follows_what_let_it_run(tmp_path: Path) -> None:
    # The copy's stream was idle for long; it began as the kernel ended, and not when the recording began.
    trace, _ = one(tmp_path, [*launched("kernel", 0, 0, 500, 7, 1), *launched("copy", 501, 400, 10, 20, 2)])
    assert [trace.strings[name] for name in trace.name] == ["kernel", "host", "copy"]
    assert (trace.duration_ns[1], trace.data_deps.tolist()) == (1000, [0, 0, 1])
    assert simulated_us(tmp_path) == 511


def test_a_kernel_is_of_the_step_that_launched_it(tmp_path: Path) -> None:
    trace, _ = one(
        tmp_path,
        [
            span("user_annotation", "ProfilerStep#3", 100, 100),
            span("user_annotation", "ProfilerStep#4", 200, 100),
            # launched before the recording, as its stream's next one is the first with a launch
            span("kernel", "early", 105, 10, 107, stream=7, correlation=1),
            *launched("three", 120, 110, 60, 7, 2),
            *launched("late three", 230, 190, 20, 20, 3),  # on another stream after a kernel of step 4
            *launched("four", 210, 205, 50, 7, 4),
            span("kernel", "four again", 270, 10, 107, stream=7, correlation=5),  # no launch: as the one before it
        ],
    )
    assert names_by_step(trace) == {
        NO_STEP: ["early"],
        3: ["three", "late three"],
        4: ["four", "four again"],
    }


def test_collectives_that_were_launched_before_the_recording_are_no_computation(tmp_path: Path) -> None:
    before = [
        span("kernel", "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 5, 40, 140, stream=40, correlation=1),
        span("kernel", "void vllm::cross_device_reduce_1stage<__half, 8>", 5, 30, 107, stream=7, correlation=2),
    ]
    trace, printed = one(tmp_path, [*before, *launched("sgemm", 50, 20, 10, 7, 3), *launched("add", 60, 25, 5, 40, 4)])
    note = "kernels of NCCL launched before the recording: communication of unknown size at its recorded time, 0.040 ms"
    assert note in printed
    assert not communication(trace)
    assert simulated_us(tmp_path) == 60
    done = in_process.hocket("simulate", tmp_path / "job", "-t", "ring:2,bandwidth=1GB/s,latency=1us")
    assert "computation            20 us" in done.stdout, done.stdout  # 5 of the host's, and both that compute


def test_kernels_of_one_stream_that_overlap_are_counted(tmp_path: Path) -> None:
    _, printed = one(tmp_path, [*launched("first", 10, 0, 100, 7, 1), *launched("second", 100, 5, 50, 7, 2)])
    assert "ended: after it, they overlapped for 0.010 ms in all" in printed
    assert simulated_us(tmp_path) == 150


def test_categories_nobody_knows_are_counted(tmp_path: Path) -> None:
    other = [span("npu_events", "matmul", 10, 250), span("gpu_user_annotation", "ProfilerStep#3", 0, 900)]
    old = span("Kernel", "old", 100, 50, 107, stream=7, correlation=1)
    trace, printed = one(tmp_path, [*other, old])
    assert "events of the category 'npu_events', which is not known: left out, 0.250 ms in all" in printed
    assert [trace.strings[name] for name in trace.name] == ["old"]
