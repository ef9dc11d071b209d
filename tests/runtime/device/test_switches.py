"""Chunks added and copied on the way, on threads: every value, no data race, and ranks that do not come.

The same source is assembled for GPUs with NVLink's switches in test_assembly.py; here it reads and writes all windows.
"""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")


@pytest.fixture(scope="module")
def switch_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("built") / "switch_world"
    options = ["-std=c++20", "-O1", "-g1", "-fsanitize=thread,alignment", "-fno-strict-aliasing", "-pthread"]
    options += ["-Wall", "-Wextra", "-Werror", "-DHOCKET_AS_GPUS_ALIGN", f"-I{ROOT}/core/include"]
    source = Path(__file__).with_name("switch_world.cpp")
    subprocess.run(["g++", *options, str(source), "-o", str(built)], check=True)
    return built


def check(switch_world: Path, kind: str, seeds: int) -> None:
    options = {"TSAN_OPTIONS": "halt_on_error=1", "UBSAN_OPTIONS": "halt_on_error=1"}
    command = [switch_world, kind, str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, env=options, timeout=300)
    assert (done.returncode, done.stdout) == (0, f"{kind} ok\n"), done.stderr[:4000]


@pytest.mark.parametrize("buffers", ["", "_in_place"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_contribution_comes_once_and_nothing_races(kind: str, buffers: str, switch_world: Path) -> None:
    check(switch_world, kind + buffers, seeds=2)


@pytest.mark.parametrize("what", ["absent", "other"])
def test_who_waits_in_vain_leaves_and_says_for_whom(what: str, switch_world: Path) -> None:
    check(switch_world, what, seeds=1)
