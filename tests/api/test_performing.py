"""What is asked for in any way is performed, or one clear error: never another exception."""

import os
from pathlib import Path
from typing import Any

import pytest
from asked import write_files

import hocket

LONG = "x" * 300
TOPOLOGY = "dgx-h100:gpus=4"


@pytest.mark.parametrize(
    "wrong",
    [
        {"what": 5},
        {"what": "all_reduce", "topology": "ring:4"},
        {"what": "all_reduce", "topology": (TOPOLOGY,), "size": 1.5},
        {"what": object()},
        {"what": "all_reduce", "topology": ["ring:4"], "outputs": {"nonsense": 1}},
    ],
)
def test_a_constructed_request_is_checked_when_it_is_performed(wrong: dict[str, Any]) -> None:
    with pytest.raises(hocket.RequestError, match="simulate: "):
        hocket.Simulation(**wrong).perform()


def test_a_constructed_request_answers_as_one_that_is_asked() -> None:
    built = hocket.Simulation(what="all_reduce", topology=(TOPOLOGY,), size="1MiB").perform()
    assert built.time_ps == hocket.simulate("all_reduce", TOPOLOGY, "1MiB").time_ps


@pytest.mark.parametrize("text", [None, {"verb": "simulate"}, 3, ["a"]])
def test_json_is_a_text(text: Any) -> None:
    with pytest.raises(hocket.HocketError, match="request: not JSON"):
        hocket.Simulation.from_json(text)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hocket.simulate(LONG, TOPOLOGY),
        lambda: hocket.verify(f"{LONG}.xml"),
        lambda: hocket.translate(f"{LONG}.schedule", to="executor", output="x.xml"),
        lambda: hocket.run(f"{LONG}.xml", size="1KiB"),
        lambda: hocket.explain(f"{LONG}.xml", collective="all_reduce", size="1KiB", ranks=2, runtime="msccl"),
        lambda: hocket.trace_info(LONG),
        lambda: hocket.compare(LONG, LONG),
        lambda: hocket.sweep(LONG),
        lambda: hocket.request_in(LONG),
        lambda: hocket.read_traces(LONG),
    ],
)
def test_a_name_that_is_too_long_is_said(ask: Any) -> None:
    with pytest.raises(hocket.HocketError, match=f"{LONG}.*: (File name too long|no trace|no files|expected)"):
        ask()


def test_no_text_has_a_zero_byte() -> None:
    with pytest.raises(hocket.RequestError, match="what"):
        hocket.simulate("a\0b", TOPOLOGY)
    with pytest.raises(hocket.RequestError, match="json"):
        hocket.simulate("all_reduce", TOPOLOGY, "1MiB", json="a\0b")


@pytest.mark.parametrize("wrong", [3, None, {"a": 1}, 1.5, b"x"])
def test_functions_beside_the_verbs_say_what_they_take(wrong: Any) -> None:
    for function in (hocket.load_topology, hocket.read_traces, hocket.request_in):
        with pytest.raises(hocket.HocketError, match="expected"):
            function(wrong)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_program_is_run_whatever_bytes_its_name_has(files: Path) -> None:
    bad = os.fsdecode(b"bad\xff.xml")
    (files / "ar.xml").rename(files / bad)
    done = hocket.run(bad, size="1KiB", iterations=1, warmup=0, json="done.json")
    assert done.wrong == 0
    assert "bad" in done.summary() and done.summary().isascii()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hocket.verify("ar.xml", fifo_depth=10**12),
        lambda: hocket.run("ar.xml", size="1KiB", timeout=1e300),
        lambda: hocket.run("ar.xml", size="1PiB"),
        lambda: hocket.simulate("traces", TOPOLOGY, compute_scale="1e300"),
        lambda: hocket.simulate("traces", TOPOLOGY, compute_scale="1e15"),
        lambda: hocket.simulate("traces", TOPOLOGY, compute_scale="1e400"),
    ],
)
def test_a_number_that_is_too_large_is_said_on_a_line(ask: Any, files: Path) -> None:
    with pytest.raises(hocket.HocketError) as caught:
        ask()
    assert "Traceback" not in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize("groups", [["0"], ["0", "1"], [0, 1], ["0,1", "2"]])
def test_a_group_is_of_two_ranks_or_more(groups: list[Any]) -> None:
    with pytest.raises(hocket.HocketError, match="a group needs two ranks"):
        hocket.synthesize("all_reduce", "ring:4,bandwidth=50GB/s,latency=500ns", "1MiB", group=groups)


def test_a_result_of_several_says_where_the_single_ones_are() -> None:
    ring, sizes = "ring:4,bandwidth=50GB/s,latency=500ns", "1KiB..1MiB:32"
    windows, curves = hocket.synthesize("all_reduce", ring, sizes), hocket.simulate("all_reduce", ring, sizes)
    with pytest.raises(AttributeError, match=r"take one of \.windows"):
        windows.translate("executor", "x.xml")
    with pytest.raises(AttributeError, match=r"take one of \.curves"):
        _ = curves.time_ps
    assert windows.windows and curves.curves
