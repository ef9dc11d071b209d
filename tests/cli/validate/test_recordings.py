"""Recordings that `hocket validate` refuses, with one error that says what to do, and those that it doubts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from in_process import hocket
from kineto_profiles import kineto, launched
from recorded_jobs import one_message, run_on, steps_of_two, validated

from hocket.chakra import read_traces, write_traces

PAIR = "ring:2,bandwidth=1GB/s,latency=1us"


def refused(traces: Path, *options: str) -> str:
    failed = hocket("validate", traces, "-t", PAIR, *options, columns=1000)
    assert failed.returncode == 3, failed.stdout + failed.stderr
    assert "Usage" not in failed.stderr
    return failed.stderr


def test_traces_that_nobody_ran(tmp_path: Path) -> None:
    hocket("generate", "collective", "all_reduce", "--ranks", "2", "--size", "1MiB", "-o", tmp_path / "made")
    assert "record the job with hocket collect" in refused(tmp_path / "made")


def test_traces_without_start_times(tmp_path: Path) -> None:
    path = run_on(PAIR, steps_of_two(3), tmp_path)
    traces = read_traces(path)
    without = replace(traces.traces[1], start_us=np.zeros_like(traces.traces[1].start_us))
    write_traces(path, replace(traces, traces=(traces.traces[0], without)))
    error = refused(path)
    assert str(path / "trace.1.et") in error and "start at 0 us" in error and "hocket collect" in error


def test_ranks_of_two_clocks(tmp_path: Path) -> None:
    error = refused(run_on(PAIR, steps_of_two(4), tmp_path, clocks_us=(0, 5_000)))
    assert "times do not fit together (several clocks" in error and "in 8 of 8 collectives" in error
    assert "rank 1 most often 4." in error and "after rank 0" in error and "hocket collect" in error
    assert not validated(run_on(PAIR, steps_of_two(4), tmp_path, clocks_us=(0, 2)), "-t", PAIR)["notes"]


def test_a_clock_that_was_set_in_between_is_said(tmp_path: Path) -> None:
    path = run_on(PAIR, steps_of_two(6), tmp_path)
    traces = read_traces(path)
    start_us = traces.traces[1].start_us.copy()
    start_us[-6:] += np.uint64(5_000)
    write_traces(path, replace(traces, traces=(traces.traces[0], replace(traces.traces[1], start_us=start_us))))
    (note,) = validated(path, "-t", PAIR)["notes"]
    assert note.startswith("in 4 of 12 collectives") and "clocks differ" in note


def test_operations_without_a_size_are_named_with_what_makes_them_communication(tmp_path: Path) -> None:
    name = "void dpsk::ep::internode::dispatch<false, 8>(int4*)"
    kernels = [event for at in range(4) for event in launched(name, 20 + 100 * at, 10 + 100 * at, 50, 7, 2 + at)]
    (tmp_path / "rank0.json").write_text(kineto(kernels, 0, 2, {"0": [0, 1]}))
    done = hocket("trace", "import", tmp_path / "rank0.json", "-o", tmp_path / "one")
    assert "DeepEP's dispatch, whose size no profile tells" in done.stdout.replace("\n", " ")
    hocket("trace", "complete", tmp_path / "one", "-o", tmp_path / "job")
    error = refused(tmp_path / "job")
    assert "no node communicates" in error and "--size NAME=BYTES" in error and "hocket collect" not in error


def test_messages_are_compared_in_steps_alone_and_that_is_said(tmp_path: Path) -> None:
    traces = run_on(PAIR, one_message(), tmp_path)
    text = hocket("validate", traces, "-t", PAIR).stdout
    assert "messages (1) are compared in the steps' times alone" in text and "what explains it" not in text
