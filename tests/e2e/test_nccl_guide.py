"""docs/nccl-guide.md as its reader types it: every command that needs no GPU, and what the page says it prints."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmark_outputs import json_output
from in_process import hocket
from nccl_player import Communicator, play_ranks

from hocket.base.errors import ExitCode
from hocket.plugin.nccl.library import nccl_profiler_path

ROOT = Path(__file__).parents[2]


def commands(page: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The words of each line `$ hocket ...` of a page's code blocks, and the lines below it."""
    found: list[tuple[list[str], list[str]]] = []
    in_block = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            in_block = not in_block
        elif in_block and line.startswith("$ hocket "):
            found.append((shlex.split(line, comments=True)[2:], []))
        elif in_block and found:
            found[-1][1].append(line)
        if not in_block and found:
            yield from found
            found = []


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """The folder of somebody who has come back from the cluster: a job's profile, runs of nccl-tests."""
    timer = 1_000_000

    def job(rank: int) -> None:
        comm = Communicator(nccl_profiler_path(), rank, 4)
        for step in range(8):
            begin = timer * (step + 1)
            # 90 us of each call on the last rank, which all wait for; longer where a rank came earlier.
            comm.collective("AllReduce", 2 << 20, kernel=(begin - 5_000 * (3 - rank), begin + 90_000))

    play_ranks(tmp_path / "profile", range(4), job)
    (tmp_path / "runs").mkdir()
    sizes = [1 << power for power in range(3, 31, 3)]
    for name, latency, bandwidth in (("free", 60, 200e3), ("ring-ll", 20, 5e3), ("ring-ll128", 30, 100e3)):
        content = json_output([(size, latency + size / bandwidth) for size in sizes])
        algorithm, _, protocol = name.partition("-")
        content["env"] = [f"NCCL_ALGO={algorithm}", f"NCCL_PROTO={protocol}"] if protocol else []
        (tmp_path / "runs" / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_the_guide_s_commands_print_what_it_says(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cluster)
    typed = list(commands(ROOT / "docs" / "nccl-guide.md"))
    assert len(typed) >= 10
    for words, shown in typed:
        done = hocket(*words)
        assert done.returncode == ExitCode.DONE, f"{words}: {done.stderr}"
        printed = iter(done.stdout.splitlines())
        for line in shown:
            assert line == "..." or line in printed, f"{words} does not print, or not there: {line}\n{done.stdout}"
    for name in ("timeline.json", "calibration.html", "calibrated.protocols.yaml", "table.csv"):
        assert (cluster / name).stat().st_size > 100
