"""README.md of a bundle: what it is, how to run it, how to know that it runs, what does without it silently."""

from collections.abc import Iterator

from hocket.base.units import format_bytes, format_limit, format_time
from hocket.translator.bundle.manifest import Bundle, BundleFile
from hocket.translator.launching import job_command, where
from hocket.translator.msccl.profiles import PROFILES
from hocket.translator.msccl.recipes import NCCL_TESTS

__all__ = ["readme"]


def readme(bundle: Bundle) -> str:
    """Markdown."""
    return "\n".join(_lines(bundle)) + "\n"


def _lines(bundle: Bundle) -> Iterator[str]:
    profile = PROFILES[bundle.runtime]
    recipe = profile.recipe
    variable, perf = recipe.variable, NCCL_TESTS[bundle.collective]
    yield f"# {bundle.collective} on {bundle.ranks} ranks of {bundle.topology}, for {recipe.title}"
    yield ""
    yield "| file | calls | from | to | chunks | predicted |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, bundle.files)
    yield ""
    yield "Sizes count a rank's whole buffer, the larger of input and output, as nccl-tests does; both ends are served."
    yield "`predicted` is Hocket's simulation on that network. `bundle.json` says the same to programs. Every file was"
    yield "proved right before it was written: values, no race, no deadlock at any size of its window."
    yield ""
    yield "## Run"
    yield "```"
    yield f"{variable}=/where/it/is ./run.sh                                    # {perf} of nccl-tests"
    job = job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)
    yield f"{variable}=/where/it/is ./run.sh {job}   # a PyTorch job"
    yield from where(bundle.nodes, bundle.ranks_per_node)
    yield "```"
    yield "`run.sh` sets the environment, runs nccl-tests over every window (`NCCL_TESTS=` the folder of its programs),"
    yield "and exits with 1 where the log lacks one of the lines"
    yield ""
    yield from (f"    {line}" for line in recipe.proof)
    yield ""
    if recipe.launched:
        yield f"Those before `{recipe.launched}` prove that the programs were loaded; it comes when one is"
        yield "launched for the first time. run.sh runs window by window, each with its own log, and prints USED where"
        yield "the log proves that a program was launched; no line says that every call was."
    else:
        yield "They prove that the programs were loaded. This runtime logs nothing when one runs, so run.sh prints"
        yield "LOADED, not USED. What shows that they run: other times with NCCL_ALGO=RING, and where a size is in the"
        yield "window of one kind of call only, other times in the in-place than in the out-of-place column."
    yield ""
    yield f"{profile.in_bundle} Which file a call runs:"
    yield ""
    of_call = f"--collective {bundle.collective} --ranks {bundle.ranks} --size 1MiB --in-place"
    yield f"    hocket explain algorithms/ --runtime {bundle.runtime} {of_call}"
    yield ""
    yield "To run them for real without a GPU, every value checked: `hocket run --bundle . -b 1K -e 64M`."
    yield ""
    yield "## What falls back to the library's own algorithm, without a word"
    yield f"- communicators of another size than {bundle.ranks}, or with several GPUs per process;"
    yield "- sizes outside the windows above;"
    yield "- element counts that the file's `chunks` do not divide;"
    kinds = {file.in_place for file in bundle.files}
    if len(kinds) == 1:
        other = "out-of-place" if True in kinds else "in-place"
        yield f"- {other} calls: columns of nccl-tests to compare with;"
    yield "- reductions other than sum, prod, max and min: PyTorch's AVG;"
    yield "- a `libnccl` of PyTorch's own that was loaded first: `run.sh torchrun ...` preloads the right one."
    if bundle.collective in ("broadcast", "reduce", "gather", "scatter"):
        yield ""
        yield f"The root is not asked for: every call of another root than {bundle.root} gives wrong results. Use these"
        yield "files in a communicator only where that cannot happen."


def _row(file: BundleFile) -> str:
    predicted = ", ".join(
        f"{format_time(point.time_ps)} at {format_bytes(point.size_bytes)}" for point in file.predicted
    )
    sizes = f"{format_limit(file.min_bytes)} | {format_limit(file.max_bytes)}"
    return f"| `{file.path}` | {file.call} | {sizes} | {file.chunks} | {predicted} |"
