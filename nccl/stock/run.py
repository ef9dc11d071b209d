"""Runs a job on a library's own code: a process a host, over this machine's loopback."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError
from hocket.base.files import growing_file
from hocket.base.processes import started
from hocket.base.scratch import hand_over
from hocket.nccl.stock.build import StockBuild
from hocket.nccl.stock.host_environment import host_environment
from hocket.nccl.stock.job import Mode, StockJob
from hocket.nccl.stock.sources import NcclSources
from hocket.topology.formats.nccl.machine import NcclMachine

__all__ = ["Check", "Plan", "StockRun", "run_stock"]

_POLL_S = 0.05


@dataclass(frozen=True)
class Check:
    """Of `checked` elements that `rank` held after a call of the job's line `step`, `wrong` were not what they must
    be; the first of them at `first`, where `got` stood for `expected`."""

    step: int
    rank: int
    kind: str
    bytes: int
    checked: int
    wrong: int
    first: int | None = None
    got: float | None = None
    expected: float | None = None


@dataclass(frozen=True)
class Plan:
    """A kernel that `rank` launched in line `step` of the job: on which `channels`, with how many `threads`, its
    `works` as NCCL's host code wrote them."""

    step: int
    rank: int
    channels: tuple[int, ...]
    threads: int
    works: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class StockRun:
    """What a run of `sources` left in `folder`; `lacking`: functions of CUDA's driver that NCCL asked for in vain."""

    sources: NcclSources
    folder: Path
    launches: int
    lacking: tuple[str, ...]

    @property
    def log(self) -> Path:
        """Of rank 0's host, in which NCCL says what it chose."""
        return self.folder / "nccl.0.log"

    @property
    def answers(self) -> Path:
        """What rank 0's host was told when it asked for choices."""
        return self.folder / "results.0.jsonl"

    def checks(self) -> Iterator[Check]:
        for path in sorted(self.folder.glob("results.*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                read = json.loads(line)
                if "checked" in read:
                    yield Check(**read)

    def plans(self) -> Iterator[Plan]:
        """In the order of the launches of each host."""
        for path in sorted(self.folder.glob("plans.*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                read = json.loads(line)
                channels = tuple(bit for bit in range(64) if read["channel_mask"] >> bit & 1)
                yield Plan(read["step"], read["rank"], channels, read["threads"], tuple(read["works"]))


def run_stock(
    build: StockBuild,
    job: StockJob,
    hosts: Sequence[NcclMachine],
    folder: Path,
    *,
    domain: int = 1,
    multicast: bool = True,
    variables: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> StockRun:
    """Runs `job` on `hosts`, of which `domain` at a time are one NVLink domain, and leaves logs, plans and results in
    `folder`, which must be empty. `variables` are added to NCCL's environment.

    Raises HocketError with what the first host that failed said: where a call fails, or nothing moves for the job's
    limit, then with what each rank waits for.
    """
    path = folder / "job"
    hand_over(path, job.text())
    with ExitStack() as running:
        players = []
        for number, machine in enumerate(hosts):
            own = host_environment(machine, folder / f"topology.{number}.xml", multicast)
            environment = _environment(build, job, folder, number, domain) | own | dict(variables or {})
            out = running.enter_context(growing_file(folder / f"player.{number}.txt"))
            command = [str(build.player), str(path), str(number)]
            players.append(running.enter_context(started(command, env=environment, stdout=out, stderr=out)))
        _watch(players, folder, len(job.lines), progress)
    said = (folder / "player.0.txt").read_text(encoding="utf-8")
    words = [line.split() for line in said.splitlines()]
    launches = sum(int(line[1]) for line in words if line[:1] == ["launches"])
    return StockRun(build.sources, folder, launches, tuple(line[1] for line in words if line[:1] == ["lacking"]))


def _environment(build: StockBuild, job: StockJob, folder: Path, number: int, domain: int) -> dict[str, str]:
    """This process's without variables of NCCL's, with those that make NCCL see the stand-ins."""
    traces = job.mode is Mode.CHOOSE  # what NCCL says of choices that it then drops
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "RCCL_", "HOCKET_"))}
    return kept | {
        "LD_LIBRARY_PATH": str(build.folder),
        "NCCL_HOSTID": f"hocket-host-{number}",
        "NCCL_IGNORE_CPU_AFFINITY": "1",
        "NCCL_NET_PLUGIN": str(build.net_plugin),
        "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_DEBUG": "TRACE" if traces else "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING,COLL" if traces else "INIT,ENV,TUNING",
        "NCCL_DEBUG_FILE": str(folder / f"nccl.{number}.log"),
        "NCCL_RAS_ENABLE": "0",
        "RCCL_USE_AMD_SMI_LIB": "1",  # else it reads the kernel's files of such GPUs
        "HSA_NO_SCRATCH_RECLAIM": "1",  # else it complains
        "HOCKET_KERNELS": "move" if job.mode is Mode.MOVE else "count",
        "HOCKET_PLANS": str(folder / f"plans.{number}.jsonl"),
        "HOCKET_FABRIC": f"hocket-{number // domain}" if domain > 1 else "",
    }


def _watch(players: Sequence[Any], folder: Path, steps: int, progress: Callable[[int, int], None]) -> None:
    done = 0
    while any(player.poll() is None for player in players):
        failed = next((number for number, player in enumerate(players) if player.poll() not in (None, 0)), None)
        if failed is not None:
            _fail(players, folder, failed)
        now = _steps_done(folder / "player.0.txt")
        if now != done:
            done = now
            progress(done, steps)
        time.sleep(_POLL_S)
    for number, player in enumerate(players):
        if player.returncode != 0:
            _fail(players, folder, number)


def _steps_done(path: Path) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(
        (int(line.split()[1]) for line in reversed(lines) if line.startswith("done ") and line[5:].isdigit()), 0
    )


def _fail(players: Sequence[Any], folder: Path, failed: int) -> None:
    """Gives the others the time to say where they stand too."""
    end = time.monotonic() + 5
    while time.monotonic() < end and any(player.poll() is None for player in players):
        time.sleep(_POLL_S)
    said = []
    for number in [failed, *(other for other in range(len(players)) if other != failed)]:
        text = (folder / f"player.{number}.txt").read_text(encoding="utf-8", errors="replace")
        said += [line for line in text.splitlines() if line.startswith("hocket:")][:20]
    code = players[failed].returncode
    ended = f"ended by signal {-code}" if code < 0 else f"ended with {code}"
    raise HocketError(
        f"host {failed} {ended}; its log is {folder / f'nccl.{failed}.log'}: "
        + "; ".join(line.removeprefix("hocket: ") for line in said[:40] or ["it said nothing"])
    )
