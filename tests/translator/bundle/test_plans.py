"""Bundles of MSCCL++ plans."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bundles import topology, write_schedule
from in_process import hocket

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, retime
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, translate
from hocket.translator.bundle import Source, read_bundle, write_bundle
from hocket.translator.bundle.plan_target import PlanTarget
from hocket.translator.bundle.sources import read_source, sources_of
from hocket.translator.mscclpp import read_plan
from hocket.translator.selection.msccl import RuntimeCall
from hocket.translator.selection.mscclpp import plans_in_order, select_in_bundle, select_plan


def test_a_bundle_of_plans(schedules: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "b"
    done = hocket("translate", *schedules, "--to", "mscclpp", "--bundle", folder, "--ranks-per-node", 2)
    assert done.returncode == 0, done.stderr
    assert "proved: 4 executions" in done.stdout
    names = ["README.md", "algorithms", "bundle.json", "register_plans.py", "run.sh"]
    assert sorted(path.name for path in folder.iterdir()) == names
    bundle = read_bundle(folder)
    assert (bundle.runtime, bundle.ranks_per_node) == ("mscclpp", 2)
    for call in (True, False):
        small, large = (file for file in bundle.files if file.in_place == call)
        assert (small.source, large.source) == ("small.schedule", "large.schedule")
        assert (small.min_bytes, large.max_bytes, small.max_bytes + 1) == (0, 64 << 20, large.min_bytes)
    for file in bundle.files:
        plan = read_plan(folder / file.path)
        assert (plan.name, plan.in_place, plan.num_ranks) == (Path(file.path).stem, file.in_place, 4)
        assert (plan.min_message_size, plan.max_message_size) == (file.min_bytes, file.max_bytes)
        assert (plan.slots, plan.buffer_alignment) == (file.chunks, file.alignment) == (4, 16)
        # two ranks of a node, and two that are not
        assert {channel.channel_type for channel in plan.gpus[1].channels} == {"memory", "port"}
    compile((folder / "register_plans.py").read_text(), "register_plans.py", "exec")
    write_bundle(schedules, folder, "mscclpp")  # its own files are in nobody's way
    refused = hocket("run", "--bundle", folder)
    remedy = "hocket translate large.schedule small.schedule --to executor --bundle DIR"
    assert refused.returncode == 3 and remedy in refused.stderr


def test_plans_that_a_synthesis_made_are_run_from_another_one(tmp_path: Path) -> None:
    """Their sources are names of algorithms, which `translate` would take for files."""
    spec = "ring:4,bandwidth=50GB/s,latency=1us"
    collectives = {size: Collective(Kind.ALL_REDUCE, 4, size) for size in (1 << 16, 1 << 20)}
    sources = [
        Source(Path(f"ring, {size}"), each, retime(build("ring", each, load(spec))))
        for size, each in collectives.items()
    ]
    write_bundle(sources, tmp_path / "b", "mscclpp")
    refused = hocket("run", "--bundle", tmp_path / "b")
    remedy = f"hocket synthesize all_reduce -t {spec} -s 64..1MiB:4 --for executor -o DIR\n"
    assert refused.returncode == 3 and refused.stderr.endswith(remedy)


def test_what_serves_a_call_is_the_plan_that_is_selected(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "mscclpp").bundle
    files = plans_in_order(tmp_path / "b")
    edge = bundle.files[1].min_bytes
    for size in (64, 4096, edge - edge % 64, edge + 64 - edge % 64, 64 << 20, (64 << 20) + 64):
        for call in (True, False):
            asked = RuntimeCall(Kind.ALL_REDUCE, size, "float32", 4, call)
            serving = bundle.serving(size, 4, call)
            for chosen in (select_plan(files, asked).chosen, select_in_bundle(tmp_path / "b", asked).chosen):
                assert (chosen and f"algorithms/{chosen.path.name}") == (serving and serving.path)
    reasons = [
        {choice.reason for choice in select_plan(files, call).choices}
        for call in (
            RuntimeCall(Kind.ALL_GATHER, 64, "int8", 4, True),
            RuntimeCall(Kind.ALL_REDUCE, 64, "int8", 8, True),
        )
    ]
    assert reasons == [{"is for allreduce, not all_gather"}, {"is for 4 ranks, the communicator has 8"}]
    done = hocket("explain", tmp_path / "b", "-c", "all_reduce", "-s", "1MiB", "-n", 4, "--runtime", "mscclpp")
    assert done.returncode == 0, done.stderr
    assert f"out-of-place all_reduce of 1 MiB of float32 on 4 ranks runs {tmp_path}" in done.stdout.replace("\n", "")


def test_what_becomes_of_sizes_that_are_no_multiple_is_told(schedules: list[Path], tmp_path: Path) -> None:
    """4 B of a barrier and 25,000,004 B of a bucket; chunks are multiples of 4 * 16 B."""
    write_bundle(schedules, tmp_path / "b", "mscclpp")
    files = plans_in_order(tmp_path / "b")
    for size in (4, 25_000_004):
        call = RuntimeCall(Kind.ALL_REDUCE, size, "float32", 4, True)
        stock = select_plan(files, call).chosen
        assert stock is not None
        throws, never = stock.warnings
        assert f"throws: {size} B are no multiple of the 64 B that its chunks need" in throws
        assert never == "in a process that asked an out-of-place plan first, the call runs no plan"
        own = select_in_bundle(tmp_path / "b", call)
        assert own.chosen is None
        assert {f"needs a multiple of 64 B, the call has {size} B"} < {choice.reason for choice in own.choices}
        assert any("own selector instead" in note and "throws" in note for note in own.notes)
    done = hocket("explain", tmp_path / "b", "-c", "all_reduce", "-s", "4B", "-n", 4, "--runtime", "mscclpp")
    text = " ".join(done.stdout.split())
    assert (done.returncode, "runs the library's own algorithm" in text) == (1, True)
    assert "a call without a plan runs MSCCL++'s own algorithm on one node" in text
    done = hocket(
        *("explain", tmp_path / "b", "-c", "all_reduce", "-s", "1MiB", "-n", 4, "--runtime", "mscclpp"),
        *("--dtype", "int64"),
    )
    assert done.returncode == 1
    assert "throws for int64 before it asks any selector" in " ".join(done.stdout.split())


class Script:
    """`run.sh` of a bundle, with mpirun and torchrun that log what a plan's run logs, and MSCCL++ at `home`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls, self.home = folder, folder / "calls", folder / "mscclpp"
        self.library = self.home / "build" / "lib" / "libmscclpp_nccl.so"
        self.library.parent.mkdir(parents=True)
        subprocess.run(["gcc", "-shared", "-o", self.library, "-xc", "/dev/null"], check=True)
        self.tools = folder / "bin"
        self.tools.mkdir()
        for name in ("mpirun", "torchrun"):
            (self.tools / name).write_text(
                f'#!/bin/sh\necho "ran {name} $*" >> "$CALLS"\nenv >> "$CALLS"\n'
                'for word in "$@"; do case $word in */algorithms/*) plan=$(basename "$word" .json) ;; esac; done\n'
                'echo "Starting execution with plan: ${FAKE_PLAN:-$plan}, collective: allreduce"\n'
            )
            (self.tools / name).chmod(0o755)

    def run(self, *arguments: str, plan: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        self.calls.write_text("")
        known = {"PATH": f"{self.tools}:{os.environ['PATH']}", "CALLS": str(self.calls), "FAKE_PLAN": plan}
        known |= {"MSCCLPP_NCCL_SYMMETRIC_MEMORY": "1", "MSCCLPP_NCCL_LIB_PATH": "/nccl/libnccl.so.2"}
        environment = {**known, "MSCCLPP": str(self.home), **settings}
        command = [self.folder / "b" / "run.sh", *arguments]
        return subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False)

    def made(self, name: str) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if line.startswith(f"ran {name} ")]


def test_the_script_of_plans_fails_unless_the_log_proves_it(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "mscclpp").bundle
    script = Script(tmp_path)
    done = script.run()
    assert done.returncode == 0, done.stderr
    made = script.made("mpirun -np 4 env")
    # the first and the last size of every window
    assert len(made) == 2 * len(bundle.files)
    assert f"python3 {script.home}/python/test/executor_test.py" in made[0]
    assert f"/b/{bundle.files[0].path} --size 64 --in_place" in made[0]
    done = script.run(plan="another")
    assert (done.returncode, "NOT USED" in done.stderr) == (1, True)
    name = Path(bundle.files[0].path).stem
    done = script.run("torchrun", "train.py", plan=name)
    assert (done.returncode, f"plan {name} ran" in done.stdout) == (0, True), done.stderr
    assert f"LD_PRELOAD={script.library}" in script.calls.read_text()
    assert f"PYTHONPATH={tmp_path}/b" in script.calls.read_text()
    assert script.run("torchrun", "train.py", plan="another").returncode == 1
    refused = script.run("torchrun", "train.py", plan=name, MSCCLPP_NCCL_SYMMETRIC_MEMORY="0")
    assert (refused.returncode, script.made("torchrun")) == (1, [])
    assert refused.stderr.startswith("no call would be given a plan: set MSCCLPP_NCCL_SYMMETRIC_MEMORY=1 where")


@pytest.mark.parametrize(("kind", "algorithm"), [(Kind.ALL_GATHER, "direct"), (Kind.REDUCE_SCATTER, "ring")])
def test_sizes_of_the_script_count_the_whole_buffer(kind: Kind, algorithm: str, tmp_path: Path) -> None:
    """As MSCCL++'s test does, whose plan throws where a rank's share is no multiple of a chunk's 16 B."""
    path = write_schedule(tmp_path / "s.schedule", kind, algorithm, 1 << 20)
    bundle = write_bundle([path], tmp_path / "b", "mscclpp").bundle
    script = Script(tmp_path)
    assert script.run().returncode == 0
    sizes = [int(line.split(" --size ")[1].split()[0]) for line in script.made("mpirun")]
    assert len(sizes) == 2 * len(bundle.files)
    assert (min(sizes), max(sizes)) == (64, 1 << 20)
    assert all(size % (file.chunks * file.alignment) == 0 for size in sizes for file in bundle.files)


def test_a_broadcast_has_no_test_of_mscclpp(tmp_path: Path) -> None:
    path = write_schedule(tmp_path / "s.schedule", Kind.BROADCAST, "binomial", 1 << 20)
    bundle = write_bundle([path], tmp_path / "b", "mscclpp").bundle
    script = Script(tmp_path)
    done = script.run()
    assert (done.returncode, done.stderr.startswith("MSCCL++'s own test knows no broadcast: give a job")) == (1, True)
    assert script.run("torchrun", plan=Path(bundle.files[-1].path).stem).returncode == 0


def test_the_script_looks_for_the_libraries_of_a_job(schedules: list[Path], tmp_path: Path) -> None:
    plan = Path(write_bundle(schedules, tmp_path / "b", "mscclpp").bundle.files[0].path).stem
    script = Script(tmp_path)

    def preloaded(**settings: str) -> Path:
        done = script.run("torchrun", plan=plan, **settings)
        assert done.returncode == 0, done.stderr
        lines = script.calls.read_text().splitlines()
        return Path(next(line for line in lines if line.startswith("LD_PRELOAD=")).partition("=")[2])

    site = tmp_path / "site" / "mscclpp" / "lib"
    home = tmp_path / "home" / "lib"
    for folder in (site, home):
        folder.mkdir(parents=True)
        shutil.copy(script.library, folder)
    (site.parent / "__init__.py").write_text("raise RuntimeError('no GPU')")
    where = {"MSCCLPP_HOME": str(home.parent), "PYTHONPATH": str(tmp_path / "site")}
    assert preloaded(**where).parent == site
    assert preloaded(MSCCLPP_HOME=where["MSCCLPP_HOME"]).parent == home
    assert preloaded(**where, MSCCLPP_NCCL=str(script.library)) == script.library
    assert preloaded() == script.library
    script.library.write_text("no library")
    broken = script.run("torchrun", plan=plan)
    assert (broken.returncode, f"{script.library} cannot be preloaded: " in broken.stderr) == (1, True)
    assert script.made("torchrun") == []
    script.library.unlink()
    missing = script.run("torchrun", plan=plan)
    assert missing.returncode == 1
    assert missing.stderr.startswith("libmscclpp_nccl.so is not there (looked in ")
    assert missing.stderr.endswith("install microsoft/mscclpp 0.9 with pip, or set MSCCLPP_NCCL to the file\n")


def test_a_job_needs_nccl_for_calls_without_a_plan(schedules: list[Path], tmp_path: Path) -> None:
    plan = Path(write_bundle(schedules, tmp_path / "b", "mscclpp").bundle.files[0].path).stem
    script = Script(tmp_path)
    environment = {"PATH": f"{script.tools}:/usr/bin:/bin", "CALLS": str(script.calls), "FAKE_PLAN": plan}
    environment |= {"MSCCLPP": str(script.home), "PYTHONPATH": str(tmp_path / "site")}
    environment["MSCCLPP_NCCL_SYMMETRIC_MEMORY"] = "1"

    def run() -> subprocess.CompletedProcess[str]:
        command = [tmp_path / "b" / "run.sh", "torchrun"]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    refused = run()
    assert (refused.returncode, "set MSCCLPP_NCCL_LIB_PATH to its libnccl.so.2" in refused.stderr) == (1, True)
    library = tmp_path / "site" / "nvidia" / "nccl" / "lib" / "libnccl.so.2"
    library.parent.mkdir(parents=True)
    library.touch()
    assert run().returncode == 0
    assert f"MSCCLPP_NCCL_LIB_PATH={library}" in script.calls.read_text()


def test_a_bundle_of_plans_from_programs(schedules: list[Path], tmp_path: Path) -> None:
    xml = tmp_path / "large.xml"
    ring = build("ring", Collective(Kind.ALL_REDUCE, 4, 4096), topology())
    translate(ring, xml, "msccl", Lowering(max_bytes=1 << 26))
    bundle = write_bundle([xml, schedules[1]], tmp_path / "b", "mscclpp").bundle
    assert [file.source for file in bundle.files] == ["small.schedule", "large.xml"] * 2


def test_what_no_plan_can_serve_takes_no_draft(tmp_path: Path) -> None:
    """A broadcast has no plan of packets, and finds that out when it is drafted: not for sizes beyond all offsets."""
    path = write_schedule(tmp_path / "broadcast.schedule", Kind.BROADCAST, "binomial", 1 << 20)
    sources = sources_of([read_source(path)], topology())
    target = PlanTarget(sources, None)
    packets = [one for one in target.lowered(sources.members[0], Lowering(in_place=False)) if one.protocol == "LL"]
    assert packets
    for one in packets:
        assert not one.is_for(1 << 32)
        with pytest.raises(ScheduleError, match="packets of a broadcast"):
            one.is_for(1 << 20)


def test_a_candidate_that_fits_no_plan_is_left_out(tmp_path: Path) -> None:
    machine, sources = load("dgx-h100:gpus=2"), []
    for chunks in (1400, 1):  # the first needs more ops than the connections of a pair hold, and is the better guess
        collective = Collective(Kind.ALL_GATHER, 2, 1 << 20, chunks)
        schedule = retime(build("direct", collective, machine))
        sources.append(Source(Path(f"{chunks} chunks"), collective, schedule, has_coarser=True))
    asked = Lowering(min_bytes=1 << 20, max_bytes=1 << 20, protocol="Simple", in_place=True)
    (file,) = write_bundle(sources, tmp_path / "b", "mscclpp", asked, topology=machine).bundle.files
    assert file.source == "1 chunks"
