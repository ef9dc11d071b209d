"""How to run an MSCCL XML on each runtime: environment, command, and the log lines that prove it was used."""

from pathlib import Path

from hocket.base.collectives import kinds_called
from hocket.base.text import shell_word
from hocket.schedule import Program
from hocket.translator.launching import where
from hocket.translator.msccl.profile import Profile

__all__ = ["NCCL_TESTS", "run_recipe"]

#: nccl-tests' program of each collective.
NCCL_TESTS = {
    kind: name
    for name, kind in kinds_called(
        "all_reduce_perf all_gather_perf reduce_scatter_perf alltoall_perf broadcast_perf reduce_perf gather_perf"
        " scatter_perf"
    ).items()
}


def run_recipe(program: Program, profile: Profile, path: Path | str, nodes: tuple[int | None, int] = (None, 0)) -> str:
    """Shell text that runs the XML at `path` with nccl-tests on a runtime, one GPU per process; `nodes`: on how many
    machines (None: nobody knows), and ranks of each (0: they differ).

    Sources: the runtimes' documentation and source code; none of it was run where this was written.
    """
    recipe = profile.recipe
    file = shell_word(str(Path(path).resolve()))
    sizes = f"-b {program.min_bytes or 1024} -e {program.max_bytes or 1 << 30} -f 2"
    places = {"{files}": file, "{folder}": "$PWD/msccl-algorithms"}
    in_folder = any("{folder}" in setting for setting in recipe.environment)
    environment = [_filled(setting, places) for setting in recipe.environment]
    modes = {(True, True): "both", (True, False): "only the in-place", (False, True): "only the out-of-place"}
    # One file that does not parse ends the scan of the whole folder.
    prepare = [f"mkdir -p msccl-algorithms && cp {file} msccl-algorithms/   # nothing else in this folder"]
    return "\n".join(
        [
            f"# {recipe.title}; {recipe.variable}= the folder where it is",
            *(prepare if in_folder else []),
            *where(*nodes),
            f"mpirun -np {program.num_ranks}{' $MPIRUN_OPTIONS' * (nodes[0] != 1)} env \\",
            *(f"  {setting} \\" for setting in environment),
            f"  {NCCL_TESTS.get(program.kind, 'YOUR_PROGRAM')} {sizes} -g 1 -c 1",
            f"# The log proves that the file was loaded{' and launched' if recipe.launched else ''}:",
            *(f"#   {line}" for line in recipe.proof),
            *_served(program, f"{modes[program.in_place, program.out_of_place]} columns"),
        ]
    )


def _served(program: Program, columns: str) -> list[str]:
    """Which calls it serves, in comments."""
    if program.chunks_per_loop == 1:
        return [f"# It serves {columns}; everything else silently runs the library's own algorithm."]
    return [
        f"# It serves {columns}, and only sizes whose element count",
        f"# is a multiple of {program.chunks_per_loop}; everything else silently runs the library's own algorithm.",
    ]


def _filled(setting: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        setting = setting.replace(name, value)
    return setting
