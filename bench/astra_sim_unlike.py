"""Jobs of ranks that do not do the same, here and in ASTRA-sim: processor time in one process and of the command, and
whether all ranks end at the same times.

DIR has ASTRA-sim's programs AstraSim_Analytical_Congestion_Unaware and ..._Aware. One rank begins late.

Example: python -m hocket.bench.astra_sim_unlike DIR
"""

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hocket.base.files import atomic_write
from hocket.base.processes import run
from hocket.base.scratch import scratch_folder
from hocket.bench.astra_sim_equality import Row, setup_of, trace_of
from hocket.bench.astra_sim_speed import late_trace, slow_rank_row
from hocket.bench.command_line import command_line
from hocket.chakra import TraceSet, write_traces
from hocket.simulator.astra import simulate_astra

__all__ = ["main", "peer_command", "program_of", "write_inputs"]

_JOBS = (
    ("unaware", "Ring", "ring", (64, 256, 512)),
    ("unaware", "Ring", "halvingDoubling", (256, 1024)),
    ("unaware", "Switch", "direct", (64, 128)),
    ("aware", "Ring", "ring", (64, 256)),
    ("aware", "Switch", "halvingDoubling", (256, 1024)),
)
_REPEATS = 3


def main(programs: Path) -> None:
    """Prints the table."""
    print("one late rank                  ranks   messages       here      there  ratio   command  ratio")
    jobs = [(backend, shape, algorithm, ranks) for backend, shape, algorithm, counts in _JOBS for ranks in counts]
    with scratch_folder("unlike") as scratch:
        for at, (backend, shape, algorithm, ranks) in enumerate([jobs[0], *jobs]):
            folder = scratch / str(at)
            row = slow_rank_row(backend, shape, algorithm, ranks)
            traces = TraceSet((late_trace(row), *(trace_of(row),) * (ranks - 1)))
            prediction, here = _here(traces, row)
            write_inputs(folder, traces, row)
            said, there = _child_s(peer_command(program_of(programs, row), folder), folder)
            _, command = _child_s(_command(folder, row), folder)
            finish = [int(found) for found in re.findall(r"sys\[\d+\] finished, (\d+) cycles", said)]
            if sorted(finish) != sorted(prediction.finish_ns.tolist()):
                raise SystemExit(f"{row}: differs")
            if at == 0:
                continue  # it compiled the command's modules
            print(
                f"{backend:<8} {shape:<6} {algorithm:<15} {ranks:>5} {prediction.messages:>10} {1e3 * here:>7.1f} ms"
                f" {there:>8.2f} s {there / here:>6.0f} {command:>7.2f} s {there / command:>6.1f}"
            )


def _here(traces: TraceSet, row: Row) -> tuple[Any, float]:
    times = []
    for _ in range(_REPEATS):
        start = time.process_time()
        prediction = simulate_astra(traces, setup_of(row))
        times.append(time.process_time() - start)
    return prediction, min(times)


def write_inputs(folder: Path, traces: TraceSet, row: Row) -> None:
    """Writes the traces, and the files of network, system and memory that both tools read."""
    write_traces(folder / "w", traces)
    kinds = {"all-reduce": "ar", "all-gather": "ag", "reduce-scatter": "rs", "all-to-all": "a2a"}
    system = {
        "scheduling-policy": row["sched"],
        "endpoint-delay": int(row["endpoint_delay"]),
        "active-chunks-per-dimension": int(row["active_chunks"]),
        "preferred-dataset-splits": int(row["splits"]),
        "collective-optimization": row["coll_opt"],
        "local-mem-bw": int(row["local_mem_bw"]),
        "boost-mode": 0,
    } | {f"{kind}-implementation": [row[f"{short}_impl"]] for kind, short in kinds.items()}
    network = f"topology: [{row['topology']}]\nnpus_count: [{row['npus_count']}]\n"
    network += f"bandwidth: [{float(row['bandwidth_GBps'])}]\nlatency: [{float(row['latency_ns'])}]\n"
    texts = {"system.json": json.dumps(system), "network.yml": network, "memory.json": json.dumps(_NO_MEMORY)}
    for name, text in texts.items():
        with atomic_write(folder / name) as file:
            file.write(text)


_NO_MEMORY = {"memory-type": "NO_MEMORY_EXPANSION"}


def program_of(programs: Path, row: Row) -> Path:
    """ASTRA-sim's program for the row's backend, in its folder of programs."""
    return programs.resolve() / f"AstraSim_Analytical_Congestion_{row['backend'].capitalize()}"


def peer_command(program: Path, folder: Path) -> list[str]:
    """The command line that runs ASTRA-sim's program on the inputs in the folder."""
    files = {"workload": "w/trace", "system": "system.json", "network": "network.yml", "remote-memory": "memory.json"}
    return [str(program), *(f"--{name}-configuration={folder / file}" for name, file in files.items())]


def _command(folder: Path, row: Row) -> list[str]:
    files = ["--network", str(folder / "network.yml"), "--system", str(folder / "system.json")]
    model = ["--model", "congestion"] if row["backend"] == "aware" else []
    return [sys.executable, "-m", "hocket", "simulate", str(folder / "w"), "--compat", "astra-sim", *files, *model]


def _child_s(command: list[str], folder: Path) -> tuple[str, float]:
    """What a process says, and its processor time; modules are compiled before."""
    environment = dict(os.environ, PYTHONPYCACHEPREFIX=str(folder.parent / "modules"))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("programs", type=Path, metavar="DIR", help="where ASTRA-sim's programs are")
    main(parser.parse_args().programs)
