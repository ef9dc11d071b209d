"""The recipes of CONTRIBUTING.md, followed word for word in a copy of the house."""

from pathlib import Path

from house_copies import ROOT, HouseCopy

RING = "ring:8,bandwidth=50GB/s,latency=500ns"

ALGORITHM = '''"""Rings the other way around: every rank talks to the one before it only."""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.algorithms.ring import backwards
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "backward_ring"]


def backward_ring(collective: Collective) -> Moves:
    one = backwards(Collective(collective.kind, collective.num_ranks, size_bytes=0))
    return one.in_pieces(collective.chunks_per_rank, np.arange(collective.chunks_per_rank))


NATIVE = (
    NativeAlgorithm(
        name="backward_ring",
        summary="every rank talks to the one before it only",
        forms=(Form((Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "2(n-1) or n-1", "as ring"),),
        moves=anywhere(backward_ring),
    ),
)
'''

GRAPH = '''"""`circulant:12,step=3`."""

from collections.abc import Sequence

from hocket.topology.graphs.builder import GraphBuilder, Values
from hocket.topology.model import Topology

__all__ = ["GRAPHS", "circulant"]


def circulant(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values, step: int = 2) -> Topology:
    """A ring, and a link to the rank `step` ahead."""
    (n,) = sizes
    links = [
        (rank, (rank + ahead) % n, latency[0], bandwidth[0]) for rank in range(n) for ahead in (1, n - 1, step)
    ]
    return Topology.from_links(name, n, links)


GRAPHS = (
    GraphBuilder(
        circulant,
        name="circulant",
        summary="a ring, and a link from each rank to the one 3 ahead",
        example="circulant:12,step=3",
    ),
)
'''

REQUEST = '''"""What a count of ranks is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument
from hocket.api.request import Request

__all__ = ["RankCount"]


class RankCount(Request, frozen=True, kw_only=True, tag="count"):
    """Count the ranks of a topology."""

    examples: ClassVar[tuple[str, ...]] = ("hocket count dgx-h100:nodes=2",)

    topology: Annotated[str, argument("A spec, preset or file.", "SPEC|FILE")]
'''

PERFORM = '''"""Counts ranks."""

from hocket.api.count.request import RankCount
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.topology import load


def perform(request: RankCount, progress: Progress) -> Report:
    return Report(request, [f"{load(request.topology).num_ranks} ranks"])
'''

MACHINE = """        MachineRecord(
            "h100",
            "amd",
            4,
            200,
            nvswitches=(4, 5, 5, 4),
            name="lab-h100",
            summary="8 H100 of the laboratory",
            source="its own topology file",
            example="lab-h100:nodes=2",
        ),
"""


def test_a_native_algorithm_is_a_file_and_a_line(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["schedule"])
    house.write("schedule/algorithms/backward_ring.py", ALGORITHM)
    house.replace("schedule/algorithms/registry.py", '    "ring",\n', '    "ring",\n    "backward_ring",\n')
    made = str(tmp_path / "made.schedule")
    ask = ["all_reduce", "-t", RING, "-s", "64MiB"]
    done = house.hocket("synthesize", *ask, "--engine", "native:backward_ring", "-o", made)
    assert done.returncode == 0, done.stderr
    done = house.hocket("verify", made)
    assert (done.returncode, "by backward_ring" in done.stdout) == (0, True), done.stdout + done.stderr
    done = house.hocket("simulate", *ask, "--algorithm", "backward_ring")
    assert (done.returncode, "backward_ring" in done.stdout) == (0, True), done.stderr
    done = house.tests(str(ROOT / "tests/schedule/algorithms/test_algorithms.py"), "-k", "backward_ring or refuses")
    assert done.returncode == 0, done.stdout
    assert "backward_ring" in house.table("native algorithms")


def test_a_topology_builder_is_a_file_and_a_line(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path, changed=["topology"])
    house.write("topology/graphs/circulant.py", GRAPH)
    house.replace("topology/graphs/__init__.py", '"random")', '"random", "circulant")')
    spec = "circulant:12,step=3,bandwidth=50GB/s,latency=500ns"
    done = house.hocket("topology", "check", spec)
    assert (done.returncode, "12 ranks, 36 links" in done.stdout) == (0, True), done.stdout + done.stderr
    done = house.hocket("simulate", "all_reduce", "-t", spec, "-s", "1MiB", "--algorithm", "multitree")
    assert done.returncode == 0, done.stderr
    done = house.hocket("topology", "check", spec.replace("circulant", "circulent"))
    assert (done.returncode, "did you mean 'circulant'" in done.stderr) == (3, True), (done.returncode, done.stderr)


def test_a_preset_is_a_record(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path, changed=["topology"])
    house.replace("topology/machines/vendor_machines.py", "VENDOR_MACHINES = (\n", f"VENDOR_MACHINES = (\n{MACHINE}")
    done = house.hocket("topology", "show", "lab-h100:nodes=2")
    assert (done.returncode, "16 in 2 nodes" in done.stdout) == (0, True), done.stdout + done.stderr
    done = house.hocket("simulate", "all_reduce", "-t", "lab-h100:nodes=2", "-s", "1MiB")
    assert done.returncode == 0, done.stderr


def test_a_command_is_a_folder_and_a_line(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path, changed=["api"])
    (house.package / "api/count").mkdir()
    for name, text in (("__init__", '"""Ranks counted."""\n'), ("request", REQUEST), ("perform", PERFORM)):
        house.write(f"api/count/{name}.py", text)
    line = '    Verb("count", "count:RankCount", "Count the ranks of a topology."),\n'
    house.replace("api/verbs.py", "_VERBS = (\n", f"_VERBS = (\n{line}")
    done = house.hocket("count", "dgx-h100:nodes=2")
    assert (done.returncode, done.stdout) == (0, "16 ranks\n"), done.stderr
    assert "Count the ranks of a topology." in house.hocket("--help").stdout
    assert "hocket count dgx-h100:nodes=2" in house.hocket("count", "--help").stdout
    done = house.python("-c", "import hocket; print(repr(hocket.count('ring:4,bandwidth=1GB/s,latency=1us')))")
    assert done.stdout == "<Report: 4 ranks>\n", done.stderr


def test_a_collective_is_a_line_and_what_mypy_then_asks_for(tmp_path: Path) -> None:
    """`shift`: every rank gets the block of the rank before it."""
    house = HouseCopy(tmp_path / "house", changed=["base", "schedule"])
    kinds = "base/collectives.py"
    house.replace(kinds, '    CUSTOM = "custom"\n', '    CUSTOM = "custom"\n    SHIFT = "shift"\n')
    asked = house.mypy(kinds).stdout
    assert asked.count("Literal[Kind.SHIFT]") == 2, asked
    house.replace(kinds, "| Kind.GATHER | Kind.ALL_TO_ALL:\n", "| Kind.GATHER | Kind.ALL_TO_ALL | Kind.SHIFT:\n")
    arm = "            case Kind.SHIFT:\n                return Held.NEXT\n"
    last = "            case Kind.REDUCE | Kind.GATHER:\n                return Held.ROOT\n"
    house.replace(kinds, last, last + arm)
    house.replace(kinds, '    ROOT = "root"\n', '    ROOT = "root"\n    NEXT = "next"\n')
    assert "Held.NEXT" in house.mypy("schedule/collective.py").stdout
    arm = "            case Held.NEXT:\n                return ((owner + 1) % self.num_ranks).astype(np.int32)\n"
    last = "            case Held.OWNER:\n                return owner.astype(np.int32)\n"
    house.replace("schedule/collective.py", last, last + arm)
    assert not house.mypy(kinds, "schedule/collective.py").returncode
    made = str(tmp_path / "made.schedule")
    done = house.hocket("synthesize", "shift", "-t", RING, "-s", "64MiB", "--engine", "routing", "-o", made)
    assert done.returncode == 0, done.stderr
    done = house.hocket("verify", made)
    assert (done.returncode, "shift over 8 ranks" in done.stdout) == (0, True), done.stdout + done.stderr
    # 8 MiB over one link of 50 GB/s, and 500 ns: 168.3 us; in several chunks some go the other way round
    assert 84 < float(done.stdout.split(" MiB on the wire, ")[1].split(" us")[0]) <= 168.3
    done = house.hocket("simulate", "shift", "-t", RING, "-s", "64MiB")
    assert (done.returncode, "no native algorithm does shift" in done.stderr) == (3, True), done.stderr
