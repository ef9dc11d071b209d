"""The steps of the demo, each a few commands whose files the next one reads."""

import json
import shutil
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hocket.api.collect.request import CollectionRequest
from hocket.api.demo.commands import Commands
from hocket.api.demo.contest import Contest, hold
from hocket.api.progress import Progress
from hocket.api.simulate.request import Simulation
from hocket.api.synthesize.request import Synthesis
from hocket.api.trace.request import TraceInfo, TraceValidation
from hocket.api.verify.request import Verification
from hocket.base.errors import HocketError
from hocket.base.files import copy_file, make_folder, write_file
from hocket.base.units import format_bytes, format_time

__all__ = ["COMPUTE_SCALE", "MACHINES", "PART", "RANKS", "WHOLE", "Chain", "run_chain"]

RANKS = 4
MACHINES = ("dgx-h100:gpus=4", "dgx-a100:gpus=4", "dgx-a100:nodes=2,gpus=2")
# The training runs on one CPU core a rank, the predicted machines have GPUs. A data-centre GPU does the matrix products
# of training about a thousand times as fast as a core: an assumption that the report states.
COMPUTE_SCALE = "1/1000"
# A scheduler hands out six of a DGX-1's eight GPUs, and NCCL's rings leave most of their links idle. All eight are the
# control: there rings use every link. NCCL counts an NVLink of Volta as 20 GB/s, of the 25 on its data sheet; links
# carry that here, so that schedules have no more of them than NCCL.
PART = "dgx-1:gpus=6,link=20GB/s"
WHOLE = "dgx-1:link=20GB/s"
_CONTEST_SIZE = "96MiB"
_CHUNKS = 16  # of a rank's part: on links alone more are better, but programs have room for few steps
_EXECUTABLE_SIZES = ("-b", "64K", "-e", "4M", "-f", "4")


@dataclass(frozen=True)
class Chain:
    """What the chain found: numbers from the JSON files the commands wrote, by the names those files give them.

    `job`, `part` and `whole` are the contests for the largest all_reduce of the job and on PART and WHOLE. `over_mpi`:
    what ran over MPI's messages, beside MPI's own; None where it did not. `costs_ps`: what kernels add to `after`."""

    folder: Path
    recorded: bool
    predictions: dict[str, dict[str, Any]]
    slowest: str
    size_bytes: int
    synthesis: dict[str, Any]
    job: Contest
    part: Contest
    whole: Contest
    executed: dict[str, Any]
    over_mpi: dict[str, Any] | None
    after: dict[str, Any]
    costs_ps: int

    @property
    def before(self) -> dict[str, Any]:
        return self.predictions[self.slowest]

    @property
    def contests(self) -> tuple[Contest, Contest, Contest]:
        return self.job, self.part, self.whole

    @property
    def after_with_costs_ps(self) -> int:
        """The job with the new schedule, its calls with the costs of kernels that NCCL's have."""
        return int(self.after["time_ps"]) + self.costs_ps

    @property
    def job_wins(self) -> bool:
        """Whether the job is done sooner with the new schedule than with the stock library, costs and all."""
        return self.after_with_costs_ps < int(self.before["time_ps"])


def run_chain(folder: Path, torch: bool, progress: Progress) -> Chain:
    """Does the whole chain in `folder` and returns its numbers. Raises HocketError when a command fails.

    Without `torch` the traces recorded in `examples/traces` stand in for the training run.
    """
    commands = Commands(make_folder(folder), progress)
    _collect(commands, torch)
    predictions = {machine: _predict(commands, machine) for machine in MACHINES}
    slowest = max(MACHINES, key=lambda machine: int(predictions[machine]["time_ps"]))
    size_bytes = max(c["size_bytes"] for c in predictions[slowest]["collectives"] if c["kind"] == "all_reduce")
    synthesis = _synthesize(commands, slowest, size_bytes)
    job = _hold(commands, "ar")
    executed, over_mpi = _translate_and_run(commands, torch)
    after = _predict_with_schedule(commands, slowest)
    commands.say("6. Does it pay elsewhere? On six GPUs of a DGX-1, and, as a control, on all eight")
    part, whole = _contest(commands, PART, "part"), _contest(commands, WHOLE, "whole")
    documents = [contest.document() for contest in (job, part, whole)]
    write_file(commands.folder / "contests.json", json.dumps(documents, indent=1) + "\n")
    return Chain(
        folder=folder,
        recorded=not torch,
        predictions=predictions,
        slowest=slowest,
        size_bytes=size_bytes,
        synthesis=synthesis,
        job=job,
        part=part,
        whole=whole,
        executed=executed,
        over_mpi=over_mpi,
        after=after,
        costs_ps=job.costs_ps(call["size_bytes"] for call in after["collectives"] if call["kind"] == "all_reduce"),
    )


def _collect(commands: Commands, torch: bool) -> None:
    examples = files("hocket").joinpath("examples")
    traces = commands.folder / "traces"
    if not torch:
        commands.say("1. Collect: no PyTorch here, so the traces recorded in examples/traces are used")
        for file in Path(str(examples.joinpath("traces"))).iterdir():
            copy_file(file, traces / file.name)
    else:
        commands.say(f"1. Collect: train a small transformer on {RANKS} processes (gloo), script unmodified")
        shutil.rmtree(traces, ignore_errors=True)
        copy_file(Path(str(examples.joinpath("train_ddp.py"))), commands.folder / "train_ddp.py")
        script = ("train_ddp.py", ["--steps", "5"])
        commands.ask(CollectionRequest.of(*script, output="traces", ranks=RANKS, skip_steps=2))
    commands.ask(TraceValidation.of("traces"))
    commands.say(f"   {commands.ask(TraceInfo.of('traces')).splitlines()[0]}")


def _predict(commands: Commands, machine: str) -> dict[str, Any]:
    if machine == MACHINES[0]:
        several = f"{len(MACHINES)} machines (compute times {COMPUTE_SCALE} of this CPU's)"
        commands.say(f"2. Predict: replay the traces on {several}")
    path = f"predictions/{machine.replace(':', '-').replace(',', '-').replace('=', '')}.json"
    commands.ask(Simulation.of("traces", machine, compute_scale=COMPUTE_SCALE, json=path))
    prediction = _read(commands, path)
    commands.say(f"   {machine}: {format_time(prediction['time_ps'])}, bound {format_time(prediction['bound_ps'])}")
    return prediction


def _synthesize(commands: Commands, machine: str, size_bytes: int) -> dict[str, Any]:
    commands.say(f"3. Synthesize: an all_reduce of {format_bytes(size_bytes)} for the slowest machine, {machine}")
    commands.ask(
        Synthesis.of("all_reduce", machine, size_bytes, chunks=_CHUNKS, output="ar.schedule", json="synthesis.json")
    )
    commands.ask(Verification.of("ar.schedule"))
    synthesis = _read(commands, "synthesis.json")
    times = f"{format_time(synthesis['time_ps'])}, {synthesis['ratio']:.3f} times the lower bound"
    commands.say(f"   {times}; proved right")
    return synthesis


def _hold(commands: Commands, name: str) -> Contest:
    contest = hold(commands.folder / f"{name}.schedule")
    commands.say(f"   Synthesis {contest.verdict}")
    return contest


def _contest(commands: Commands, machine: str, name: str) -> Contest:
    """A schedule for the machine, its program, both proved, and the contest."""
    schedule, program = f"{name}.schedule", f"{name}.xml"
    written = {"output": schedule, "json": f"{name}.json"}
    commands.ask(Synthesis.of("all_reduce", machine, _CONTEST_SIZE, chunks=_CHUNKS, **written))
    commands.ask(Verification.of(schedule))
    contest = _hold(commands, name)
    _translate(commands, schedule, program)
    return contest


def _translate(commands: Commands, schedule: str, program: str) -> None:
    commands.hocket("translate", schedule, "--to", "executor", "-o", program)
    commands.ask(Verification.of(program, runtime="executor"))


def _translate_and_run(commands: Commands, torch: bool) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What ran over shared memory, beside gloo's own all_reduce where there is PyTorch, and what ran over MPI's
    messages beside MPI's, where there is MPI instead."""
    commands.say("4. Translate to MSCCL XML, proved before it is written, and run that file on real processes")
    _translate(commands, "ar.schedule", "ar.xml")
    run = ["run", "ar.xml", "-n", str(RANKS), *_EXECUTABLE_SIZES]
    compare = ["--compare"] if torch else []
    commands.say(commands.hocket(*run, "--transport", "shm", *compare, "--json", "run.json"))
    executed = _read(commands, "run.json")
    if torch or not find_spec("mpi4py"):
        return executed, None
    commands.say(commands.hocket(*run, "--transport", "mpi", "--compare", "--json", "run-mpi.json"))
    return executed, _read(commands, "run-mpi.json")


def _predict_with_schedule(commands: Commands, machine: str) -> dict[str, Any]:
    commands.say("5. Predict again, every all_reduce by the new schedule, on the links alone")
    new = {"algorithm": "all_reduce=ar.schedule", "json": "after.json", "timeline": "timeline.json.gz"}
    commands.ask(Simulation.of("traces", machine, compute_scale=COMPUTE_SCALE, **new))
    return _read(commands, "after.json")


def _read(commands: Commands, name: str) -> dict[str, Any]:
    content = json.loads((commands.folder / name).read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise HocketError(f"{commands.folder / name}: expected a JSON object")
    return content
