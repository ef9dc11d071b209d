"""`hocket simulate sendrecv`, and collectives by the names that others have for them."""

import json
from functools import partial
from pathlib import Path

import in_process
import pytest

hocket = partial(in_process.hocket, "simulate")
SWITCH = "switch:4,bandwidth=50GB/s,latency=500ns"


def out(*arguments: object) -> str:
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def time_ps(path: Path, *arguments: object) -> int:
    out(*arguments, "--json", path)
    return int(json.loads(path.read_text())["time_ps"])


def test_each_rank_sends_to_the_next(tmp_path: Path) -> None:
    # Two links of 500 ns, and 50 MB at 50 GB/s: all ranks at once, on links of their own.
    assert time_ps(tmp_path / "p.json", "sendrecv", "-t", SWITCH, "-s", "50MB") == 10**9 + 2 * 500_000
    prediction = json.loads((tmp_path / "p.json").read_text())
    assert prediction["model"] == "flow"
    assert prediction["links"]["bytes"] == [50_000_000] * 8


def test_sizes_are_a_curve_of_what_each_rank_sends(tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    text = out("sendrecv", "-t", SWITCH, "-s", "1MB..4MB:2", "--json", path)
    rows = json.loads(path.read_text())["curves"][0]["rows"]
    assert rows["time_ps"] == [size * 20 + 10**6 for size in rows["size_bytes"]]
    speeds = [size / time * 1e12 for size, time in zip(rows["size_bytes"], rows["time_ps"], strict=True)]
    assert rows["algbw"] == pytest.approx(speeds) == rows["busbw"]
    assert "sendrecv on" in text and "messages" in text


def test_messages_of_nccl_take_a_launch_and_a_step(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    launched, bare = (
        time_ps(path, "sendrecv", "-t", "dgx-b200", "-s", "1KiB", *more) for more in ([], ["--library", "none"])
    )
    of_direct, of_library = (
        time_ps(path, "all_to_all", "-t", "dgx-b200", "-s", "1KiB", *more) for more in (["--algorithm", "direct"], [])
    )
    assert launched - bare == of_library - of_direct > 5_000_000
    text = out("sendrecv", "-t", "dgx-b200", "-s", "1KiB")
    assert "assumed: its messages on the links, after the launch and a step of NCCL's kernels" in text
    assert "its collectives" not in text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("AllReduce", "all_reduce"),
        ("alltoall_perf", "all_to_all"),
        ("sendrecv_perf", "sendrecv"),
        ("bcast", "broadcast"),
    ],
)
def test_others_names_are_understood(name: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    assert time_ps(path, name, "-t", SWITCH, "-s", "1MiB") == time_ps(path, kind, "-t", SWITCH, "-s", "1MiB")


def test_a_file_of_that_name_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alltoall").mkdir()
    done = hocket("alltoall", "-t", SWITCH, "-s", "1MiB")
    assert done.returncode == 2
    assert "--size is for a collective" in done.stderr


@pytest.mark.parametrize(
    "option",
    [["--algorithm", "ring"], ["--chunks", "2"], ["--placement", "round_robin"], ["--nccl-set", "NCCL_ALGO=RING"]],
)
def test_options_of_collectives_and_jobs_are_refused(option: list[str]) -> None:
    done = hocket("sendrecv", "-t", SWITCH, "-s", "1MiB", "--library", "none", *option)
    assert done.returncode == 2, done.stdout
    assert option[0] in done.stderr
