"""Whether every call of public training scripts, which nobody here wrote, is recorded, and what the summaries say.

Run: `python -m hocket.bench.public_jobs --sources DIR [--only NAME ...] [--out DIR]`, with the Python whose PyTorch is
asked about. DIR has the repositories, each under its name on GitHub without its owner: examples (pytorch), nanoGPT,
PiPPy, accelerate, DeepSpeedExamples; torchtitan 0.2 is a package. Each script runs as it is, on gloo, by `torchrun ...
-m hocket.collect` and `workloads/public_script.py`, which stands a CPU in for accelerators and counts what PyTorch's
profiler sees; torchtitan's by `workloads/torchtitan_on_cpu.py`, which says what it replaces. For each the table tells
the calls of all ranks that the profiler saw and that were recorded, the seconds of the script, and whom the summary
names; `wrong` is what differs, breaks a rule of traces or stands in the summary, or why the script failed.
nanoGPT wants its data/shakespeare_char/prepare.py to be run before. What is not in DIR, or wants a package that is not
installed, is passed over and said. Exit code 1: something is wrong.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import atomic_write
from hocket.base.scratch import scratch_folder
from hocket.base.text_table import text_table
from hocket.bench.command_line import command_line
from hocket.chakra import read_traces
from hocket.chakra.job_folders import find_job
from hocket.chakra.validate import validate
from hocket.recording.folder import stream_paths
from hocket.recording.recording import read_recording

__all__ = ["JOBS", "PublicJob", "Seen", "main", "perform"]

SCRIPT = Path(__file__).with_name("workloads") / "public_script.py"
PATIENCE_S = 240.0  # for a script

_EXAMPLES = "examples/distributed"
_ON_CPU = (("ACCELERATE_USE_CPU", "true"),)
_ACCELERATE = "accelerate/src/accelerate/test_utils/scripts"


@dataclass(frozen=True)
class PublicJob:
    """A script of the sources, with `{sources}` and `{out}` in its arguments replaced.

    `modules` are what it imports, `files` what else of the sources it reads, `path` a folder of them on Python's path,
    `inside` whether it wants to run in its own folder.
    """

    ranks: int
    script: str
    arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    path: str = ""
    inside: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()


# torchtitan is no script alone: see there.
_TORCHTITAN = str(Path(__file__).with_name("workloads") / "torchtitan_on_cpu.py")
_SMALL = ("--training.steps", "3", "--training.local_batch_size", "4", "--training.seq_len", "64")

JOBS = {
    "DDP, minimal": PublicJob(2, f"{_EXAMPLES}/ddp/example.py"),
    "DDP tutorial": PublicJob(2, f"{_EXAMPLES}/ddp-tutorial-series/multigpu_torchrun.py", ("2", "1")),
    "DDP tutorial, several nodes": PublicJob(2, f"{_EXAMPLES}/ddp-tutorial-series/multinode.py", ("2", "1")),
    "FSDP2": PublicJob(2, f"{_EXAMPLES}/FSDP2/example.py"),
    "FSDP2, prefetching, mixed precision": PublicJob(
        2, f"{_EXAMPLES}/FSDP2/example.py", ("--explicit-prefetching", "--mixed-precision")
    ),
    "FSDP2, distributed checkpoint": PublicJob(2, f"{_EXAMPLES}/FSDP2/example.py", ("--dcp-api",)),
    "tensor parallel": PublicJob(4, f"{_EXAMPLES}/tensor_parallelism/tensor_parallel_example.py"),
    "sequence parallel": PublicJob(4, f"{_EXAMPLES}/tensor_parallelism/sequence_parallel_example.py"),
    "minGPT, DDP": PublicJob(
        2,
        f"{_EXAMPLES}/minGPT-ddp/mingpt/main.py",
        (
            f"data_config.path={{sources}}/{_EXAMPLES}/minGPT-ddp/mingpt/data/input.txt",
            *("data_config.truncate=0.002", "gpt_config.n_layer=2", "gpt_config.n_embd=64", "gpt_config.n_head=2"),
            *("trainer_config.max_epochs=1", "trainer_config.batch_size=32", "trainer_config.use_amp=False"),
            "trainer_config.data_loader_workers=1",
        ),
        ("hydra", "boto3", "fsspec"),
    ),
    "nanoGPT, DDP": PublicJob(
        2,
        "nanoGPT/train.py",
        (
            *("config/train_shakespeare_char.py", "--device=cpu", "--compile=False", "--dtype=float32"),
            *("--backend=gloo", "--eval_iters=1", "--log_interval=1", "--block_size=32", "--batch_size=4"),
            *("--n_layer=2", "--n_head=2", "--n_embd=64", "--max_iters=4", "--gradient_accumulation_steps=2"),
            "--out_dir={out}/model",
        ),
        inside=True,
        files=("nanoGPT/data/shakespeare_char/train.bin",),
    ),
    "PiPPy, stages by hand": PublicJob(3, "PiPPy/examples/basic/example_manual_stage.py", path="PiPPy"),
    "accelerate, DDP's hooks": PublicJob(
        2, f"{_ACCELERATE}/test_ddp_comm_hook.py", modules=("accelerate",), variables=_ON_CPU
    ),
    "accelerate, accumulation": PublicJob(2, f"{_ACCELERATE}/test_sync.py", modules=("accelerate",)),
    "accelerate, uneven data": PublicJob(2, f"{_ACCELERATE}/test_distributed_data_loop.py", modules=("accelerate",)),
    "DeepSpeed, ZeRO 3": PublicJob(
        2,
        "DeepSpeedExamples/training/bf16_master_weight/train.py",
        (
            *("--deepspeed_config", "{sources}/DeepSpeedExamples/training/bf16_master_weight/configs/baseline.json"),
            *("--num_layers", "2", "--hidden_dim", "64", "--num_steps", "3"),
        ),
        ("deepspeed",),
        variables=(("DS_ACCELERATOR", "cpu"),),
    ),
    "torchtitan, FSDP2 and tensor parallel": PublicJob(
        4,
        _TORCHTITAN,
        ("{out}/assets", *_SMALL, "--parallelism.tensor_parallel_degree", "2"),
        ("torchtitan", "tokenizers"),
    ),
    "torchtitan, pipeline and tensor parallel": PublicJob(
        4,
        _TORCHTITAN,
        (
            *("{out}/assets", *_SMALL, "--parallelism.tensor_parallel_degree", "2"),
            *("--parallelism.pipeline_parallel_degree", "2"),
        ),
        ("torchtitan", "tokenizers"),
    ),
}


@dataclass(frozen=True)
class Seen:
    """What a job came to: calls by the profiler, recorded ones, seconds of the script, the summary's verdict, and what
    is wrong."""

    profiler: int
    recorded: int
    seconds: float
    verdict: str
    wrong: str


def lacks(job: PublicJob, sources: Path) -> str:
    """What a job wants that is not there, or ""."""
    for file in (job.script, *job.files):
        if not (sources / file).is_file():
            return f"no {file} in the sources"
    return ", ".join(f"no {name}" for name in job.modules if importlib.util.find_spec(name) is None)


def perform(job: PublicJob, sources: Path, folder: Path) -> Seen:
    """Runs the job under the collector. Raises HocketError where its processes end with an error."""
    script = (sources / job.script).resolve()
    arguments = [argument.format(sources=sources.resolve(), out=folder) for argument in job.arguments]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={job.ranks}"]
    collecting = ["-m", "hocket.collect", "--out", str(folder / "out"), str(SCRIPT), str(folder), str(script)]
    path = [str(sources.resolve() / job.path)] if job.path else []
    path += [os.path.abspath(entry) for entry in sys.path if entry]
    variables = {"PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1"} | dict(job.variables)
    with atomic_write(folder / "log.txt", "wb") as log:
        try:
            done = processes.run(
                [*torchrun, *collecting, *arguments],
                stdout=log,
                stderr=log,
                timeout_s=PATIENCE_S,
                env=os.environ | variables,
                cwd=script.parent if job.inside else folder,
            )
        except subprocess.TimeoutExpired as error:
            raise HocketError(f"{script}: not over after {PATIENCE_S:.0f} s") from error
    if done.returncode:
        lines = (folder / "log.txt").read_text(errors="replace").splitlines()
        said = next((line for line in lines if "Error" in line and "ChildFailed" not in line), "no error told")
        raise HocketError(f"exit code {done.returncode}: {said.strip()[:160]}")
    return _held(folder, job.ranks)


def _held(folder: Path, ranks: int) -> Seen:
    """What was recorded, against what the profiler saw."""
    found = find_job(folder / "out").path
    recordings = {recording.rank: recording for recording in map(read_recording, stream_paths(found))}
    profiler, recorded, seconds, wrong = 0, 0, 0.0, []
    for rank in range(ranks):
        told = json.loads((folder / f"counts.{rank}.json").read_text())
        seen, seconds = Counter[str](told["seen"]), max(seconds, told["seconds"])
        columns, shapes = recordings[rank].columns, recordings[rank].shapes
        own = Counter(f"c10d::{shapes[number].op}" for number in columns.shape.tolist())
        profiler, recorded = profiler + seen.total(), recorded + own.total()
        if seen != own:
            wrong.append(f"rank {rank}: not recorded {dict(seen - own)}, recorded only {dict(own - seen)}")
    wrong += [str(finding) for finding in validate(read_traces(found))]
    summary = json.loads((found / "summary.json").read_text())
    wrong += [f"{mismatch['problem']}: {mismatch['message']}" for mismatch in summary["mismatches"]]
    told = summary["stragglers"]
    named = [straggler["name"] for straggler in told["found"]]
    named += [f"starved: rank {rank['rank']}" for rank in told["starved"]]
    untold = [name.replace("_", " ") for name in ("too_few", "unsettled") if told[name]]
    untold += ["joined by messages"] if told["joined_by_messages"] and not told["judged_by_work"] else []
    untold += [] if told["can_tell"] else ["too few steps"]
    verdict = ", ".join(named or untold) or "nobody"
    return Seen(profiler, recorded, seconds, verdict, "; ".join(wrong[:2]) + (" ..." if len(wrong) > 2 else ""))


def main(sources: Path, only: list[str], out: Path) -> bool:
    """Runs the jobs, prints the table, and says whether all that ran was right."""
    rows: list[tuple[object, ...]] = []
    right = True
    for number, (name, job) in enumerate(JOBS.items()):
        if only and name not in only:
            continue
        if lacking := lacks(job, sources):
            rows.append((name, job.ranks, "-", "-", "-", "-", f"not run: {lacking}"))
            continue
        folder = out / f"job{number}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            seen = perform(job, sources, folder)
        except HocketError as error:
            rows.append((name, job.ranks, "-", "-", "-", "-", f"failed: {error}"))
            right = False
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            continue
        right &= not seen.wrong
        seconds = f"{seen.seconds:.1f}"
        rows.append((name, job.ranks, seen.profiler, seen.recorded, seconds, seen.verdict, seen.wrong or "nothing"))
        print(f"{name}: {seen.profiler} = {seen.recorded}", file=sys.stderr, flush=True)
    columns = ["job", "ranks", "profiler", "recorded", "seconds", "stragglers", "wrong"]
    print("\n".join(text_table(columns, rows)))
    return right


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--sources", type=Path, required=True, help="folder of the repositories")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="jobs to run (default: all)")
    parser.add_argument("--out", type=Path, help="folder that keeps what was collected (default: none does)")
    chosen = parser.parse_args()
    with scratch_folder("bench") as scratch:
        is_right = main(chosen.sources, chosen.only, (chosen.out or scratch).resolve())
    sys.exit(not is_right)
