"""CPU time that the recorder of MPI calls adds to a call.

Run: `python -m hocket.bench.mpi_overhead` (needs an MPI with compiler wrappers, mpich's wheel for one). Goal: at most
5 us. A program in C calls MPI in rounds, alone and with the recorder preloaded, on one rank and on two; the best round
of rank 0 counts: on two ranks MPI itself waits busily for the other.
"""

import os
import sys
from pathlib import Path

from hocket.base import processes
from hocket.base.files import make_folder
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.command_line import command_line
from hocket.plugin.mpi.launch import run_recorded
from hocket.plugin.mpi.library import build_library, find_mpicc

ROUNDS = 200
CALLS = 500
LAUNCHES = 3
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double x[8], y[8];
static MPI_Request r[2];
static void allreduce(void) { MPI_Allreduce(x, y, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void iallreduce(void) {
  MPI_Iallreduce(x, y, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
  MPI_Wait(r, MPI_STATUS_IGNORE);
}
static int other;
static void exchange(void) {
  MPI_Irecv(y, 8, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, r);
  MPI_Isend(x, 8, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, r + 1);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
int main(int argc, char** argv) {
  int rank, size;
  void (*calls[])(void) = {allreduce, iallreduce, exchange};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  other = (rank + 1) % size;
  FILE* out = rank == 0 ? fopen(argv[1], "w") : NULL;
  for (int k = 0; k < 3; ++k) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; ++round) {
      double begin = now();
      for (int call = 0; call < CALLS; ++call) calls[k]();
      double each = (now() - begin) / CALLS;
      if (each < best) best = each;
    }
    if (out) fprintf(out, "%f\\n", best);
  }
  if (out) fclose(out);
  MPI_Finalize();
  return 0;
}
"""
NAMES = ("MPI_Allreduce", "MPI_Iallreduce, MPI_Wait", "MPI_Irecv, MPI_Isend, MPI_Waitall")


def measure(command: list[str], result: Path, recorder: Path | None, folder: Path) -> list[float]:
    """CPU us a call, the best of several launches."""
    best = [float("inf")] * len(NAMES)
    for launch in range(LAUNCHES):
        if recorder is None:
            processes.run(command, check=True)
        else:
            run_recorded(command, recorder, make_folder(folder / str(launch)), {})
        best = [min(pair) for pair in zip(best, map(float, result.read_text().split()), strict=True)]
    return best


def main() -> None:
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mpicc = find_mpicc("mpiexec")
    recorder = build_library(mpicc)
    with scratch_folder("bench") as folder:
        source, program, result = folder / "calls.c", folder / "calls", folder / "result"
        hand_over(source, PROGRAM)
        processes.run([mpicc, "-O2", f"-DROUNDS={ROUNDS}", f"-DCALLS={CALLS}", source, "-o", program], check=True)
        print(f"64 B: CPU us a call, best of {LAUNCHES} launches of {ROUNDS} rounds of {CALLS}")
        print(f"{'':36}ranks      alone  recorded  recorder")
        for ranks in (1, 2):
            command = ["mpiexec", "-n", str(ranks), str(program), str(result)]
            alone = measure(command, result, None, folder)
            recorded = measure(command, result, recorder, folder / str(ranks))
            for name, bare, with_it in zip(NAMES, alone, recorded, strict=True):
                print(f"{name:36}{ranks:5}{bare:11.2f}{with_it:10.2f}{with_it - bare:10.2f}")
        streams = [path for path in folder.glob("*/*/stream/rank0.stream")]
        operations = (1 + 1 + 2) * ROUNDS * CALLS
        print(f"stream: {streams[0].stat().st_size / operations:.1f} B an operation")


if __name__ == "__main__":
    command_line().parse_args()
    main()
