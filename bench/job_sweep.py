"""How long a sweep over the plans of a 70-billion-parameter model on 64 GPUs takes, and how much memory.

Run: python -m hocket.bench.job_sweep FOLDER [--jobs N]
The results and the page are left in FOLDER/swept.
"""

import resource
import time
from pathlib import Path

from hocket.api.sweep.request import Sweep
from hocket.base.files import write_file
from hocket.bench.command_line import command_line

SWEEP = """\
models: llama3-70b
topology: dgx-h100:nodes=8
plans: all
zero: [1, 3]
micro_batch: [1, 2]
recompute: [selective, full]
global_batch: 64
sequence: 4096
"""


def main(folder: Path, jobs: int) -> None:
    file, out = folder / "jobs.yaml", folder / "swept"
    write_file(file, SWEEP)
    start = time.perf_counter()
    result = Sweep.of(file, output=out, executor="processes", jobs=jobs).perform()
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    Sweep.of(file, output=out).perform()
    again = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, simulated = used.ru_utime + used.ru_stime, int((result.results["skipped"] == "").sum())
    print(result.summary())
    print(
        f"\n{seconds:.0f} s on {jobs} workers, {cpu:.0f} s of CPU time: {cpu / simulated:.1f} s a simulated point;"
        f" again, all answered: {again:.1f} s"
    )
    kept = (out / "answers.jsonl").stat().st_size
    print(f"{used.ru_maxrss / 2**10:.0f} MiB at most in a worker, {kept / 2**10:.0f} KiB of answers")


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("folder", type=Path, help="an empty folder for the sweep")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    arguments = parser.parse_args()
    main(arguments.folder, arguments.jobs)
