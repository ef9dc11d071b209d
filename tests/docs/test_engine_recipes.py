"""CONTRIBUTING.md's recipes of what searches, simulates and writes: followed word for word in a copy of the house."""

import shutil
import subprocess
from pathlib import Path

import nanobind
import pytest
from house_copies import ROOT, HouseCopy

RING = "ring:8,bandwidth={bandwidth},latency=500ns"
ENGINE = '''"""The native ring, and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass

from hocket.schedule import Kind, Schedule, retime
from hocket.schedule.algorithms import build
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["ENGINES", "RingOnly"]


@dataclass(frozen=True, kw_only=True)
class RingOnly(NamedEngine):
    name: str = "ring-only"
    summary: str = "a ring"
    collectives: str = "all_reduce"
    needs: str = "any"
    size: str = "thousands of ranks"
    as_asked: bool = True

    def why_not(self, problem: Problem) -> str | None:
        return None if problem.collective.kind is Kind.ALL_REDUCE else "it does all_reduce"

    def seconds(self, problem: Problem) -> float:
        return 0.1

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        yield retime(build("ring", problem.collective, problem.topology, problem.group), problem.blocking)


ENGINES = (RingOnly(),)
'''
MODEL = """        NetworkModel(
            name=Model.HALVED,
            summary="uncontended, on links of half the bandwidth",
            leaves_out="contention",
            validated_by="uncontended",
        ),
"""
FORMAT = '''"""A line a chunk: the ranks that it reaches, in order."""

from pathlib import Path

from hocket.base.files import atomic_write
from hocket.schedule import Schedule
from hocket.translator.formats.format import ScheduleFormat

__all__ = ["FORMATS"]


def _write(schedule: Schedule, path: Path) -> list[str]:
    with atomic_write(path) as file:
        for chunk in range(schedule.collective.num_chunks):
            file.write(" ".join(map(str, schedule.dst[schedule.chunk == chunk])) + "\\n")
    return [f"{path}: a line per chunk"]


FORMATS = (ScheduleFormat(name="walks", summary="where each chunk goes", write=_write),)
'''


def test_a_format_of_schedules_is_a_file_and_a_line(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["translator"])
    house.write("translator/formats/walks.py", FORMAT)
    house.replace("translator/formats/registry.py", '"schedule_file")', '"schedule_file", "walks")')
    made, walks = str(tmp_path / "made.schedule"), str(tmp_path / "made.txt")
    ring = ["-t", RING.format(bandwidth="50GB/s"), "-s", "64MiB", "--engine", "native:ring", "-o", made]
    assert house.hocket("synthesize", "all_gather", *ring).returncode == 0
    done = house.hocket("translate", made, "--to", "walks", "-o", walks)
    assert (done.returncode, done.stdout) == (0, f"{walks}: a line per chunk\n"), done.stderr
    assert "1 2 3 4 5 6 7" in Path(walks).read_text(encoding="utf-8").splitlines()
    assert "walks" in house.hocket("translate", "--help").stdout
    assert "`walks`" in house.table("formats")


def test_a_runtime_is_a_file_and_a_line(tmp_path: Path) -> None:
    """One that is as the executor, but has room for few steps and looks at its files as they are listed."""
    house = HouseCopy(tmp_path / "house", changed=["translator"])
    text = (ROOT / "translator/msccl/runtimes/executor.py").read_text(encoding="utf-8")
    for old, new in (('name="executor"', 'name="lab"'), ("max_steps=64", "max_steps=5"), ("BY_NAME", "LISTED")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    house.write("translator/msccl/runtimes/lab.py", text)
    house.replace("translator/msccl/profiles.py", '"executor", "rccl")', '"executor", "rccl", "lab")')
    made, xml, bundle = (str(tmp_path / name) for name in ("made.schedule", "made.xml", "bundle"))
    ring = ["-t", RING.format(bandwidth="50GB/s"), "-s", "64MiB", "--engine", "native:ring", "-o", made]
    assert house.hocket("synthesize", "all_reduce", *ring).returncode == 0
    done = house.hocket("translate", made, "--to", "lab", "-o", xml)
    assert (done.returncode, "on 8 ranks for lab" in done.stdout) == (0, True), done
    assert house.hocket("verify", xml, "--runtime", "lab").returncode == 0
    assert house.hocket("simulate", xml, "-t", RING.format(bandwidth="1GB/s"), "-s", "1MiB", "--runtime", "lab").stdout
    assert house.hocket("translate", made, "--to", "lab", "--bundle", bundle).returncode == 0
    longest = max(block.count("<step") for block in Path(xml).read_text(encoding="utf-8").split("<tb")[1:])
    assert longest <= 5
    call = ["-c", "all_reduce", "-s", "64MiB", "-n", "8", "--runtime", "lab", "--in-place"]
    done = house.hocket("explain", bundle, *call)
    assert (done.returncode, "lab, in-place all_reduce" in done.stdout) == (0, True), done
    assert house.hocket("run", "--bundle", bundle, "--size", "64MiB", "--iters", "1").returncode == 0


def test_an_engine_of_the_synthesizer_is_a_file_and_a_line(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["synthesizer"])
    house.write("synthesizer/engines/ring_only.py", ENGINE)
    house.replace("synthesizer/engines/__init__.py", '"native", "exact")', '"native", "exact", "ring_only")')
    made = str(tmp_path / "made.schedule")
    ask = ["-t", RING.format(bandwidth="50GB/s"), "-s", "64MiB", "--engine", "ring-only", "-o", made]
    done = house.hocket("synthesize", "all_reduce", *ask)
    assert done.returncode == 0, done.stderr
    assert house.hocket("verify", made).returncode == 0
    done = house.hocket("synthesize", "broadcast", *ask)
    assert (done.returncode, "it does all_reduce" in done.stderr) == (3, True), done.stderr
    assert "ring-only" in house.hocket("synthesize", "--help").stdout
    assert "[ring-only](#ring-only)" in house.table("engines")


def test_a_network_model_is_a_header_an_instance_and_its_name(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["simulator"])
    house.replace("simulator/models.py", '    FLOW = "flow"\n', '    FLOW = "flow"\n    HALVED = "halved"\n')
    known = '    "network model",\n    (\n'
    house.replace("simulator/models.py", known, known + MODEL)
    engine = tmp_path / "core"
    shutil.copytree(ROOT / "core" / "src" / "simulator", engine)
    names = ("network/halved.hpp", "replay/halved.cpp", "replay/models.hpp", "replay.cpp")
    header, instance, models, replay = (engine / name for name in names)
    text = (engine / "network" / "uncontended.hpp").read_text("utf-8").replace("Uncontended", "Halved")
    header.write_text(text.replace("= link.take(flight.bytes)", "= 2 * link.take(flight.bytes)"), "utf-8")
    text = (engine / "replay" / "uncontended.cpp").read_text("utf-8").replace("Uncontended", "Halved")
    instance.write_text(text.replace("uncontended", "halved"), "utf-8")
    models.write_text(models.read_text("utf-8").replace("replay_flow", "replay_flow, replay_halved"), "utf-8")
    line = '  if (model == "flow")'
    new = '  if (model == "halved") return replay_halved(job, plans, graph, fidelity);\n'
    replay.write_text(replay.read_text("utf-8").replace(line, new + line), "utf-8")
    _link(house, {"core/src/simulator/replay.cpp": replay, "halved": instance}, tmp_path)

    def time_ps(model: str, bandwidth: str) -> str:
        ask = ["-t", RING.format(bandwidth=bandwidth), "-s", "64MiB", "--algorithm", "ring", "--model", model]
        done = house.hocket("simulate", "all_reduce", *ask)
        assert done.returncode == 0, done.stderr
        return next(line for line in done.stdout.splitlines() if line.startswith("  time "))

    assert time_ps("halved", "50GB/s") == time_ps("uncontended", "25GB/s") != time_ps("uncontended", "50GB/s")
    assert "halved" in house.hocket("simulate", "--help").stdout
    assert "`halved`" in house.table("network models")


def _link(house: HouseCopy, changed: dict[str, Path], folder: Path) -> None:
    """Compiles what is changed and puts it together with what `make build` made of the rest, for the copy."""
    built = next((ROOT / "build").glob("temp.*"), None)
    sources = [path.relative_to(ROOT) for part in ("src", "bind") for path in (ROOT / "core" / part).rglob("*.cpp")]
    objects = {str(path): built / path.with_suffix(".o") for path in sources} if built else {}
    if not objects or not all(path.exists() for path in objects.values()):
        pytest.skip("what was compiled is not here: make build")
    for name, source in changed.items():
        objects[name] = folder / f"{source.stem}.o"
        flags = ["-std=c++20", "-O0", "-g0", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden"]
        headers = [f"-I{path}" for path in (ROOT / "core/include", ROOT / "core/bind", nanobind.include_dir())]
        subprocess.run(["g++", *flags, *headers, "-c", str(source), "-o", str(objects[name])], check=True)
    engine = house.package / "_core.abi3.so"
    engine.unlink()
    subprocess.run(["g++", "-shared", "-pthread", *map(str, objects.values()), "-o", str(engine)], check=True)
