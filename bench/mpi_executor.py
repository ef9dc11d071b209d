"""Programs in place of an MPI library's own algorithms: times of both, and their ratio.

Run: `python -m hocket.bench.mpi_executor` (needs an MPI with compiler wrappers, mpich's wheel for one). An unmodified
program in C calls MPI_X, which a program serves, and PMPI_X, which is MPI's own, in turn; a call's time is that of its
slowest rank. A size is measured for 3 seconds, for 2000 calls at most and 3 at least. All processes share this
machine's cores; MPI's own algorithms wait busily, so that with ranks beyond the cores each of their steps may take what
the system lets another rank wait (mpich's all_reduce of 4 MiB by 4 ranks on 2 cores: 4 seconds a call). `best` and
`median` are of the calls.
"""

import os
import statistics
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.base import processes
from hocket.base.scratch import hand_over, scratch_folder
from hocket.base.units import format_bytes, parse_bytes
from hocket.bench.command_line import command_line
from hocket.plugin.mpi.launch import run_preloaded
from hocket.plugin.mpi.library import build_library, find_mpicc
from hocket.plugin.mpi.served import served
from hocket.schedule import Collective, FoldedSchedule, Kind
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import Lowering, to_program_json
from hocket.translator.translate import lower_best

SIZES = (8, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 24)
SECONDS = 3
KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BROADCAST)
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int ranks, bytes;
static char *in, *out;
static void call(char kind, int is_own) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const int all = bytes / 4, share = all / ranks;
  switch (kind) {
    case 'r': (is_own ? PMPI_Allreduce : MPI_Allreduce)(in, out, all, MPI_FLOAT, MPI_SUM, w); break;
    case 'g': (is_own ? PMPI_Allgather : MPI_Allgather)(in, share, MPI_FLOAT, out, share, MPI_FLOAT, w); break;
    case 's': (is_own ? PMPI_Reduce_scatter_block : MPI_Reduce_scatter_block)(in, out, share, MPI_FLOAT, MPI_SUM, w);
      break;
    case 'a': (is_own ? PMPI_Alltoall : MPI_Alltoall)(in, share, MPI_FLOAT, out, share, MPI_FLOAT, w); break;
    case 'b': (is_own ? PMPI_Bcast : MPI_Bcast)(in, all, MPI_FLOAT, 0, w); break;
  }
}
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  FILE* result = rank == 0 ? fopen(argv[1], "w") : NULL;
  bytes = atoi(argv[3]);
  in = calloc(bytes, 1);
  out = calloc(bytes, 1);
  const double begin = MPI_Wtime();
  for (int k = 0, goes_on = 1; goes_on; ++k) {
    for (int is_own = 0; is_own < 2; ++is_own) {
      double took, slowest;
      PMPI_Barrier(MPI_COMM_WORLD);
      took = MPI_Wtime();
      call(argv[2][0], is_own);
      took = MPI_Wtime() - took;
      PMPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (result && k >= 4) fprintf(result, "%d %.9f\n", is_own, slowest);
    }
    goes_on = k < 2004 && (k < 6 || MPI_Wtime() - begin < atof(argv[4]));
    PMPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (result) fclose(result);
  MPI_Finalize();
  return 0;
}
"""
LETTERS = dict(zip(KINDS, "rgsab", strict=True))


def write_program(kind: Kind, ranks: int, folder: Path) -> None:
    """What the synthesizer finds for ranks that are all joined."""
    collective = Collective(kind, ranks, SIZES[-1], 1)
    schedule = synthesize(collective, load(f"fully_connected:{ranks},bandwidth=10GB/s,latency=1us"))
    in_place = kind in (Kind.ALL_REDUCE, Kind.BROADCAST)
    expanded = schedule.expand() if isinstance(schedule, FoldedSchedule) else schedule
    lowered = lower_best(expanded, "json", Lowering(in_place=in_place))
    hand_over(folder / f"{kind}.json", to_program_json(lowered.program))


def measure(command: list[str], result: Path, programs: Path, library: Path) -> tuple[list[float], list[float]]:
    """Seconds of each call by the program, and by MPI's own algorithm."""
    with redirect_stderr(StringIO()), served(str(programs)) as variables:
        run_preloaded(command, library, variables)
    seconds_by: tuple[list[float], list[float]] = [], []
    for way, seconds in map(str.split, result.read_text().splitlines()):
        seconds_by[int(way)].append(float(seconds))
    return seconds_by


def main() -> None:
    parser = command_line()
    parser.add_argument("--largest", default="16MiB", help="largest size (16MiB)")
    parser.add_argument("--ranks", type=int, default=2, help="processes (2)")
    arguments = parser.parse_args()
    largest, ranks = parse_bytes(arguments.largest), arguments.ranks
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mpicc = find_mpicc("mpiexec")
    library = build_library(mpicc)
    columns = ["MPI's own best us", "median", "program best us", "median", "ratio best", "median"]
    table = Table("collective", "size", *columns, title=f"{ranks} ranks", box=None)
    with scratch_folder("bench") as folder:
        source, program, result, programs = folder / "calls.c", folder / "calls", folder / "result", folder / "programs"
        programs.mkdir()
        hand_over(source, PROGRAM)
        processes.run([mpicc, "-O2", source, "-o", program], check=True)
        for kind in KINDS:
            write_program(kind, ranks, programs)
            for size in (size for size in SIZES if 4 * ranks <= size <= largest):
                command = [
                    "mpiexec",
                    "-n",
                    str(ranks),
                    str(program),
                    str(result),
                    LETTERS[kind],
                    str(size),
                    str(SECONDS),
                ]
                ours, own = measure(command, result, programs, library)
                best, median = (of(own) / of(ours) for of in (min, statistics.median))
                times = [1e6 * of(way) for way in (own, ours) for of in (min, statistics.median)]
                table.add_row(
                    kind, format_bytes(size), *(f"{time:.1f}" for time in times), f"{best:.2f}", f"{median:.2f}"
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
