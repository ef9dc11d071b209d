"""Bundles of MSCCL++ plans."""

import os
import subprocess
from pathlib import Path

from bundles import topology
from in_process import hocket

from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.translator import Lowering, translate
from hocket.translator.bundle import read_bundle, write_bundle
from hocket.translator.mscclpp import read_plan
from hocket.translator.selection.msccl import RuntimeCall
from hocket.translator.selection.mscclpp import plans_in_order, select_plan


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
    assert (refused.returncode, "--to executor --bundle DIR" in refused.stderr) == (3, True)


def test_what_serves_a_call_is_the_plan_that_is_selected(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "mscclpp").bundle
    files = plans_in_order(tmp_path / "b")
    edge = bundle.files[1].min_bytes
    for size in (64, 4096, edge - edge % 64, edge + 64 - edge % 64, 64 << 20, (64 << 20) + 64):
        for call in (True, False):
            chosen = select_plan(files, RuntimeCall(Kind.ALL_REDUCE, size, "float32", 4, call)).chosen
            serving = bundle.serving(size, 4, call)
            assert (chosen and f"algorithms/{chosen.path.name}") == (serving and serving.path)
    odd = select_plan(files, RuntimeCall(Kind.ALL_REDUCE, 100, "float32", 4, True)).chosen
    assert odd is not None
    assert odd.warnings == ("the call has 100 B, no multiple of the 64 B that its chunks need",)
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


def test_the_script_of_plans_fails_unless_the_log_proves_it(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "mscclpp").bundle
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("mpirun", "torchrun"):
        (tools / name).write_text(
            f'#!/bin/sh\necho "ran {name} $*" >> "$CALLS"\nenv >> "$CALLS"\n'
            'for word in "$@"; do case $word in */algorithms/*) plan=$(basename "$word" .json) ;; esac; done\n'
            'echo "Starting execution with plan: ${FAKE_PLAN:-$plan}, collective: allreduce"\n'
        )
        (tools / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(*arguments: str, plan: str = "") -> subprocess.CompletedProcess[str]:
        calls.write_text("")
        settings = {"PATH": f"{tools}:{os.environ['PATH']}", "MSCCLPP": "/built", "CALLS": str(calls)}
        command = [tmp_path / "b" / "run.sh", *arguments]
        environment = {**settings, "FAKE_PLAN": plan}
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0, done.stderr
    made = [line for line in calls.read_text().splitlines() if line.startswith("ran mpirun -np 4 env ")]
    # the first and the last size of every window
    assert len(made) == 2 * len(bundle.files)
    assert "python3 /built/python/test/executor_test.py" in made[0]
    assert f"/b/{bundle.files[0].path} --size 64 --in_place" in made[0]
    done = run(plan="another")
    assert (done.returncode, "NOT USED" in done.stderr) == (1, True)
    name = Path(bundle.files[0].path).stem
    done = run("torchrun", "train.py", plan=name)
    assert (done.returncode, f"plan {name} ran" in done.stdout) == (0, True), done.stderr
    assert "LD_PRELOAD=/built/build/lib/libmscclpp_nccl.so" in calls.read_text()
    assert f"PYTHONPATH={tmp_path}/b" in calls.read_text()
    assert run("torchrun", "train.py", plan="another").returncode == 1


def test_a_bundle_of_plans_from_programs(schedules: list[Path], tmp_path: Path) -> None:
    xml = tmp_path / "large.xml"
    ring = build("ring", Collective(Kind.ALL_REDUCE, 4, 4096), topology())
    translate(ring, xml, "msccl", Lowering(max_bytes=1 << 26))
    bundle = write_bundle([xml, schedules[1]], tmp_path / "b", "mscclpp").bundle
    assert [file.source for file in bundle.files] == ["small.schedule", "large.xml"] * 2
