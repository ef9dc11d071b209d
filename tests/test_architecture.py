"""Walls between the folders: what docs/architecture.md says of them, held here; and that the check finds a breach."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from walls import FACE, Tree, Walls, breaches, circles, read_tree

ROOT = Path(__file__).parents[1]
ROOMS = {
    "base": set(),
    "topology": set(),
    "schedule": {"topology"},
    "chakra": set(),
    "workload": {"chakra", "topology"},
    "simulator": {"topology", "schedule", "chakra", "workload", "nccl"},
    "nccl": {"topology", "schedule"},
    "calibration": {"topology", "schedule", "simulator", "nccl"},
    "synthesizer": {"topology", "schedule"},
    "translator": {"topology", "schedule", "chakra", "simulator", "nccl"},
    "recording": {"chakra", "schedule", "nccl"},
    "runtime": {"chakra", "schedule", "simulator", "translator"},
    "plugin": {"chakra", "schedule", "translator", "nccl", "recording", "runtime"},
}
FOLDERS = set(ROOMS)
FACES = {
    "bench": FOLDERS | {"api", "report"},
    "report": FOLDERS,
    "docs": FOLDERS | {"api"},
    "api": FOLDERS | {"report", "bench/peers", "bench/claims", "bench/speed"},
    "bench/peers": FOLDERS | {"api"},
    "bench/claims": FOLDERS | {"api", "report"},
    "bench/speed": FOLDERS | {"api"},
    "cli": FOLDERS | {"api", FACE},
    FACE: {"api", "cli", "plugin", "recording"},
}
INNER = {
    "topology/formats": set(),
    "topology/graphs": set(),
    "topology/machines": {"topology/formats"},
    "schedule/algorithms": {"topology"},
    "chakra/importers": set(),
    "chakra/importers/nccl": set(),
    "chakra/importers/pytorch": set(),
    "workload/completion": {"chakra"},
    "workload/llm": {"chakra"},
    "workload/presets": set(),
    "simulator/traces": {"schedule", "chakra", "workload"},
    "simulator/analysis": {"topology", "workload", "chakra"},
    "simulator/astra": {"topology", "chakra"},
    "nccl/programs": {"topology", "schedule"},
    "nccl/tuning": {"topology"},
    "calibration/nccl": {"topology", "schedule", "nccl"},
    "calibration/readers": {"schedule", "nccl"},
    "calibration/transfer": {"topology", "nccl", "calibration/readers"},
    "synthesizer/engines": {"topology", "schedule"},
    "translator/msccl": {"topology", "schedule"},
    "translator/msccl/rules": {"schedule"},
    "translator/formats": {"topology", "schedule", "chakra", "simulator", "translator/msccl"},
    "translator/lowering": {"topology", "schedule", "simulator", "translator/msccl", "translator/formats"},
    "translator/mscclpp": {"schedule", "translator/msccl", "translator/lowering"},
    "translator/bundle": {"topology", "schedule", "simulator", "translator"},
    "translator/selection": {"schedule", "translator/msccl", "translator/mscclpp", "translator/bundle"},
    "recording/nccl": {"chakra", "schedule", "nccl", "recording/parts"},
    "recording/parts": {"chakra"},
    "runtime/engine": {"schedule", "translator"},
    "runtime/run": {"schedule", "translator", "runtime/engine"},
    "runtime/selftest": {"schedule", "runtime/run"},
    "runtime/replay": {"chakra", "schedule", "simulator", "runtime/run"},
    "plugin/torch": {"chakra", "recording", "plugin/nccl"},
    "plugin/torch/native": {"recording"},
    "plugin/torch/python": {"recording"},
    "plugin/serve": {"schedule", "translator", "runtime", "plugin/torch"},
    "plugin/mpi": {"schedule", "translator", "recording", "runtime", "plugin/serve"},
    "plugin/nccl": set(),
}
# Which modules of a room look into the rooms inside it.
DOORS = {
    "topology": {"loading", "spec", "yaml_file"},
    "schedule": set(),
    "chakra": set(),
    "chakra/importers": {"mlcommons", "registry"},
    "workload": set(),
    "simulator": {"api", "curves", "stored_curves", "timeline", "timeline_part"},
    "nccl": set(),
    "calibration": {"parameters", "reading"},
    "synthesizer": {"alike_groups", "barrier", "chunking", "portfolio", "summary", "synthesis", "together", "windows"},
    "translator": {"algorithm", "costs", "program_schedule", "targets", "translate"},
    "translator/msccl": {"judge", "xml_read", "xml_write"},
    "recording": {
        "alignment",
        "arrivals",
        "collection",
        "common",
        "cutting",
        "devices",
        "group_calls",
        "group_findings",
        "grouping",
        "merge",
        "messages",
        "profiles",
        "rank_findings",
        "rank_trace",
        "stragglers",
        "summary",
        "tables",
        "timeline",
        "transfers",
        "workspace",
    },
    "runtime": set(),
    "plugin": {"autoload"},
    "plugin/torch": {"hook_choice", "collector"},
}
# Packages of others: what is not for everybody is loaded where it is needed alone.
PACKAGES = {
    "torch": {"plugin", "runtime", "bench"},
    "mpi4py": {"runtime", "api"},
    "distributed": {"api"},
    "dask_jobqueue": {"api"},
    "google": {"chakra", "bench"},
    "simgrid": {"bench"},
    "tokenizers": {"bench"},
    "torchtitan": {"bench"},
    "late_device": {"bench"},  # the stand-in for a GPU, beside the tests
    "yaml": {"base", "topology", "calibration"},
    "highspy": {"schedule", "synthesizer"},
    "pyarrow": {"simulator/analysis"},
    "pandas": {"api"},
    "playwright": {"bench"},
    "rich": {"cli", "bench"},
    "typer": {"cli"},
}
WALLS = Walls(ROOMS | FACES | INNER, DOORS, PACKAGES, everybody={"numpy", "msgspec"})


@pytest.fixture(scope="module")
def tree() -> Tree:
    return read_tree(ROOT, [*ROOMS, "bench"])


def test_walls_and_circles(tree: Tree) -> None:
    assert len(tree.sources) > 700
    assert not breaches(tree, WALLS)


def test_the_page_on_the_architecture_says_the_same() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    said = {row[1]: set(row[2].split(", ")) for row in re.finditer(r"^\| `(\w+)/` \| .* \| ([a-z, ]+) \|$", page, re.M)}
    for room, allowed in ROOMS.items():
        assert said[room] - {"base", "nothing"} == allowed, room


@pytest.mark.parametrize("room", sorted(INNER))
def test_rooms_inside_may_no_more_than_the_room_that_they_are_in(room: str) -> None:
    outer = room.split("/")[0]
    assert {name for name in INNER[room] if name.split("/")[0] != outer} <= ROOMS[outer]


# A module of a folder, what it holds, and what is said of it.
BREACHES = {
    "upward": ("topology", "from hocket.schedule import Kind", "hocket.schedule is not for topology/"),
    "upward, a module": ("topology", "import hocket.simulator.api", "is not for topology/"),
    "upward, a package": ("topology", "from hocket import simulator", "is not for topology/"),
    "upward in a function": ("chakra", "def f():\n    import hocket.nccl as n", "line 2: hocket.nccl is not for"),
    "upward for types": ("schedule", "if TYPE_CHECKING:\n    import hocket.simulator.api", "is not for schedule/"),
    "upward by name": ("schedule", 'x = import_module("hocket.simulator.api")', "is not for schedule/"),
    "upward in a list of names": ("nccl", 'LATE = ["hocket.plugin.torch.hook:arm"]', "is not for nccl/"),
    "upward and relative": ("topology", "from ..schedule import Kind", "is relative: write absolute"),
    "the face": ("simulator", "from hocket import HocketError", "hocket is not for simulator/"),
    "the commands": ("api", "from hocket.cli.options import Option", "is not for api/"),
    "what makes pages": ("calibration", "import hocket.report.page", "is not for calibration/"),
    "the demo": ("report", "from hocket.api.demo import chain", "is not for report/"),
    "the benches": ("runtime/run", "import hocket.bench.plans", "is not for runtime/run/"),
    "a room inside": ("topology", "from hocket.topology.formats import astra_sim", "none of its doors"),
    "a door from the ground floor": ("topology", "import hocket.topology.loading", "none of its doors"),
    "a door from inside": ("topology/formats", "import hocket.topology.spec", "is not for topology/formats/"),
    "a room beside": ("topology/formats", "import hocket.topology.machines.fabric", "is not for topology/formats/"),
    "more than a room inside may": ("simulator/analysis", "import hocket.schedule", "is not for simulator/analysis/"),
    "PyTorch in a recording": ("recording", "def f():\n    import torch", "torch is for bench, plugin, runtime"),
    "PyTorch by name": ("recording/nccl", '__import__("torch.distributed")', "torch is for bench, plugin, runtime"),
    "a package that nobody has": ("base", "import pandas_of_others", "is for nobody: say who may"),
}
CIRCLES = {
    "of two": ("modules", {"schedule__a": "import hocket.schedule.b", "schedule__b": "import hocket.schedule.a"}),
    "by way of a function": (
        "modules",
        {
            "chakra__a": "import hocket.chakra.b",
            "chakra__b": "from hocket.chakra.c import f",
            "chakra__c": "def late():\n    from hocket.chakra import a",
        },
    ),
    "of folders": (
        "bench/",
        {
            "bench__peers__a": "import hocket.bench.workloads.job",
            "bench__workloads__b": "import hocket.bench.peers.table",
        },
    ),
    "of a module and a folder": (
        "report/",
        {
            "report__a": "import hocket.report.parts.b",
            "report__parts__b": "",
            "report__parts__c": "import hocket.report.a",
        },
    ),
}


@pytest.fixture(scope="module")
def sentences(tree: Tree) -> list[str]:
    """What is said of the real tree with all breaches in it."""
    sources = {
        f"{folder.replace('/', '__')}__breach_{at}": text for at, (folder, text, _) in enumerate(BREACHES.values())
    }
    return breaches(tree.with_modules(**sources), WALLS)


@pytest.mark.parametrize("breach", BREACHES)
def test_every_sort_of_breach_is_found(sentences: list[str], breach: str) -> None:
    folder, _, expected = BREACHES[breach]
    at = f"hocket.{folder.replace('/', '.')}.breach_{list(BREACHES).index(breach)}, line"
    assert [expected in sentence for sentence in sentences if sentence.startswith(at)] == [True], sentences


@pytest.mark.parametrize("circle", CIRCLES)
def test_every_sort_of_circle_is_found(tree: Tree, circle: str) -> None:
    what, sources = CIRCLES[circle]
    assert any(found.startswith(f"circle of {what}: ") for found in circles(tree.with_modules(**sources)))


def test_a_folder_that_nobody_knows_is_in_no_room(tree: Tree) -> None:
    assert "warehouse/ is in no room: say what it may import" in breaches(
        tree.with_modules(warehouse__shelf="import os"), WALLS
    )


def test_imports_for_types_make_no_circle(tree: Tree) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import hocket.schedule.{}"
    assert not circles(
        tree.with_modules(schedule__pace=typed.format("orders"), schedule__orders="import hocket.schedule.pace")
    )


def test_a_tree_on_disk_is_read_without_its_links(tmp_path: Path) -> None:
    for name, text in {"low/__init__.py": "", "low/one.py": "import hocket.high.two", "high/two.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "src/hocket").mkdir(parents=True)
    (tmp_path / "src/hocket/__init__.py").write_text("")
    (tmp_path / "src/hocket/low").symlink_to(tmp_path / "low")
    read = read_tree(tmp_path, ["low", "high"])
    assert sorted(read.sources) == ["hocket", "hocket.high.two", "hocket.low", "hocket.low.one"]
    (found,) = breaches(read, Walls({"low": set(), "high": {"low"}, FACE: set()}))
    assert found == "hocket.low.one, line 1: hocket.high.two is not for low/, which may import nothing"


@pytest.mark.parametrize(
    ("statement", "slow"),
    [
        ("import hocket", {"numpy", "yaml", "msgspec", "hocket._core"}),
        ("import hocket.plugin.autoload", {"numpy", "yaml", "msgspec", "hocket._core", "torch"}),
        ("import hocket.cli", {"numpy", "torch", "google", "rich"}),
    ],
)
def test_what_everybody_loads_is_quick(statement: str, slow: set[str]) -> None:
    script = f"import sys\n{statement}\nprint(*sorted({slow} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not ran.stdout.split()


def test_core_headers_include_only_allowed_subjects() -> None:
    for path in sorted((ROOT / "core").rglob("*.[ch]pp")):
        subject = path.parent.name if path.parent.name in FOLDERS else None
        if subject is None:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "hocket/') and line.count("/") == 2:
                other = line.split("/")[1]
                assert other in ROOMS[subject] | {subject}, f"{path.relative_to(ROOT)}: {line}"
