"""Parts of the half for GPUs as far as no GPU is needed: what they start, and what they make of what they find."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from nccl_profiles import write_profile

from hocket.api.selftest import jobs
from hocket.api.selftest.outcome import PartPlace, State
from hocket.api.selftest.parts import collectives, plugins, programs, topology
from hocket.api.selftest.parts.registry import PARTS
from hocket.api.selftest.privacy import Scrubber
from hocket.runtime.selftest.rows import rank_file, rows_file
from hocket.schedule import Kind
from hocket.topology import load

VERSIONS = {"torch": "2.9.1", "cuda": "12.8", "nccl": 22907, "gloo": True, "gpus": ["NVIDIA H100 80GB HBM3"] * 2}


@pytest.fixture
def place(tmp_path: Path) -> PartPlace:
    """Of a part on two GPUs, whose programs are there."""
    for folder in ("gpu-device/files", "gpu-programs/bundles", "gpu-topology/files"):
        (tmp_path / folder).mkdir(parents=True)
    facts = {"versions": VERSIONS}
    return PartPlace(name="p", folder=str(tmp_path / "gpu-device"), ranks=2, on_gpus=True, limit_s=60.0, facts=facts)


class Started:
    """Stands for the process of a job: keeps how it was started, and what its ranks leave."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: int = 0, text: str = "") -> None:
        self._end = code, text
        self.command: Sequence[str] = ()
        self.environment: Mapping[str, str] = {}
        monkeypatch.setattr(jobs, "printed", self._printed)

    def _printed(
        self, command: Sequence[str], limit_s: float, log: Path, environment: Mapping[str, str]
    ) -> tuple[int, str]:
        self.command, self.environment = command, environment
        return self._end


def test_a_job_on_gpus_is_started_so(place: PartPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_COLLECT", "elsewhere")
    started = Started(monkeypatch)
    collectives.device(place)
    line = " ".join(started.command)
    assert "-m torch.distributed.run --standalone --nproc-per-node=2 -m hocket.runtime.selftest.worker" in line
    told = started.environment
    assert told["HOCKET_ALGORITHMS"] == str(place.path.parent / "gpu-programs" / "bundles")
    assert told["HOCKET_ALGORITHMS_ENGINE"] == "device" and told["NCCL_DEBUG"] == "INFO"
    assert "HOCKET_COLLECT" not in told
    collectives.stock(place)
    assert "HOCKET_ALGORITHMS" not in started.environment


def test_the_calls_that_every_rank_came_through_are_kept(place: PartPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 dies in its second call, in the middle of a line; one of a rank's values is wrong."""
    Started(monkeypatch, -11, "rank 1 was lost")
    line = '{"task": 0, "size_bytes": %d, "in_place": true, "time_ps": %d, "wrong": %d}\n'
    rows_file(place.path, 0).write_text(line % (4, 1000, 1) + line % (4084, 1000, 0))
    rows_file(place.path, 1).write_text(line % (4, 3000, 0) + (line % (4084, 1000, 0))[:40])
    for rank in (0, 1):
        rank_file(place.path, rank).write_text('{"device": "NVIDIA H100 80GB HBM3"}')
    outcome = collectives.stock(place)
    assert outcome.state is State.FAILED and outcome.said == "1 calls on 2 ranks, 1 wrong values"
    assert outcome.reasons == (
        "the job was ended by signal 11: rank 1 was lost",
        "all_reduce of float32, sum, 4 B: 1 wrong values",
    )
    table = (place.files / "checks.txt").read_text()
    assert "device  1 [0x00] NVIDIA H100 80GB HBM3" in table and "nccl-library=22907" in table
    assert "all_reduce on 2 nccl ranks" in table


def test_programs_that_never_ran_and_calls_of_the_stock_library_are_faults(place: PartPlace) -> None:
    report = {
        "algorithms": [{"file": "ar.xml", "calls": 0}, {"file": "ag.xml", "calls": 3}],
        "stock": [
            {"operation": "allreduce", "calls": 2, "reason": "no program"},
            {"operation": "barrier", "calls": 9, "reason": "none"},
        ],
    }
    assert [*collectives._unserved(report)] == ["ar.xml: never ran", "2 x allreduce by the stock library: no program"]
    assert [*collectives._unserved({})] == ["rank 0 did not say what the programs served"]


@pytest.mark.parametrize(
    ("chosen", "state"),
    [(("RING", "LL"), State.PASSED), (("NVLS", "SIMPLE"), State.FAILED), (None, State.FAILED)],
)
def test_plugins_show_in_the_profile(
    chosen: tuple[str, str] | None, state: State, place: PartPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    if chosen:
        write_profile(place.path / "profile", 0, [(1024, *chosen, 9000)], function="AllReduce")
    outcome = plugins.load(place)
    assert outcome.state is state, outcome
    assert started.environment["NCCL_PROFILER_PLUGIN"].endswith("libnccl-profiler-hocket.so")
    assert started.environment["NCCL_TUNER_PLUGIN"].endswith("libnccl-tuner-hocket.so")
    assert started.environment["HOCKET_NCCL_TUNER_TABLE"] == str(place.files / "table.csv")
    assert (place.files / "profile.txt").is_file() is (chosen is not None)


def test_the_topology_is_nccl_s_where_it_dumped_one(shared: Path, tmp_path: Path) -> None:
    dumped = (shared / "nccl_topology" / "generated" / "dgx_a100.xml").read_bytes()
    (tmp_path / topology.XML).write_bytes(dumped)
    spec, notes = topology.spec_of(tmp_path, 8, "NVIDIA A100-SXM4-80GB")
    assert spec is not None and load(spec).num_ranks == 8 and not notes
    assert topology.spec_of(tmp_path, 2)[0] is None
    scrubbed = Scrubber().content(dumped)
    (tmp_path / topology.XML).write_bytes(scrubbed)
    assert topology.spec_of(tmp_path, 8)[0] is not None


def test_a_program_is_made_and_run_without_pytorch(tmp_path: Path) -> None:
    place = PartPlace(name="programs", folder=str(tmp_path), ranks=2, on_gpus=False, limit_s=300.0)
    made = tmp_path / "bundles" / "all_reduce"
    assert programs._bundled(Kind.ALL_REDUCE, load(programs._spec(place)), made, on_gpus=False) == 1
    assert programs._run(made, place) == []
    assert "# Out of bounds values : 0 OK" in (place.files / "all_reduce.txt").read_text()


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("cannot open /home/ann/run 7/x.py:12", "cannot open <folder>/run 7/x.py:12"),
        ("larkspur:400:455 [0] NCCL INFO", "<host>:400:455 [0] NCCL INFO"),
        ("LARKSPUR.example.org is up", "<host>.example.org is up"),
        ("marigold@larkspur", "<user>@<host>"),
        ("NET/IB : 10.20.30.40<0> 127.0.0.1", "NET/IB : <address><0> 127.0.0.1"),
        ("fe80::1a2b:3c4d%eth0 02:42:ac:11:00:02", "<address>%eth0 <address>"),
        ("GPU-12345678-1234-1234-1234-123456789abc", "<uuid>"),
        ('<net guid="0xabc"/><net guid="0xdef"/><net guid="0xabc"/>',) * 1
        + ('<net guid="0x1"/><net guid="0x2"/><net guid="0x1"/>',),
        ('<pci busid="0000:07:00.0" class="0x030200"/>', '<pci busid="0000:07:00.0" class="0x030200"/>'),
        ("12.5 GB/s, 1/50, out-of-place/in-place", "12.5 GB/s, 1/50, out-of-place/in-place"),
        ("https://pytorch.org/get-started", "https://pytorch.org/get-started"),
    ],
)
def test_names_and_addresses_are_replaced(text: str, scrubbed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "larkspur")
    monkeypatch.setenv("USER", "marigold")
    assert Scrubber().text(text) == scrubbed


def test_parts_that_are_made_are_there() -> None:
    assert [*PARTS][:2] == ["versions", "gpu-topology"]
    for part in PARTS.values():
        module, _, function = part.target.partition(":")
        assert callable(getattr(__import__(f"hocket.api.selftest.parts.{module}", fromlist=[function]), function))
