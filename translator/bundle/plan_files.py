"""What stands beside the plans of an MSCCL++ bundle: `run.sh`, `register_plans.py` for jobs, README.md.

Source: microsoft/mscclpp 0.9 (its Python package, python/test/executor_test.py, its log lines); not run on GPUs.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from hocket.base.units import format_bytes, format_limit, format_time
from hocket.schedule import Kind
from hocket.translator.bundle.manifest import Bundle, BundleFile
from hocket.translator.bundle.windows import multiples
from hocket.translator.launching import job_command, mpirun_check, where

__all__ = ["REGISTRATION", "plan_readme", "plan_script", "registration"]

REGISTRATION = "register_plans.py"

_SCRIPT = r"""set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=${LOGS:-hocket-run}
: "${MSCCLPP:?set it to a checkout of microsoft/mscclpp 0.9 that was built and installed with pip}"
library=${MSCCLPP_NCCL:-$MSCCLPP/build/lib/libmscclpp_nccl.so}
settings=("MSCCLPP_LOG_LEVEL=INFO" "MSCCLPP_LOG_SUBSYS=EXEC" "MSCCLPP_DEBUG=INFO")

prove() { # LOG NAME...: whether it says that one of the plans ran
  local log=$1 name
  shift
  for name in "$@"; do
    if grep -qF -- "Starting execution with plan: $name," "$log"; then
      echo "USED: $log says that plan $name ran"
      return 0
    fi
  done
  echo "NOT USED: no line 'Starting execution with plan: ...' of $* in $log (README.md: what falls back)" >&2
  return 1
}

if [ $# -gt 0 ]; then
  env "${settings[@]}" "LD_PRELOAD=$library" "PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}" "$@" 2>&1 |
    tee "$logs.log"
  prove "$logs.log" "${plans[@]}"
  exit
fi

measure() { # NAME SIZE OPTION...: MSCCL++'s own test of one plan at one size; it checks the values
  local name=$1 size=$2 log=$logs.$1.$2.log
  shift 2
  # shellcheck disable=SC2086  # options are words
  mpirun -np "$ranks" ${MPIRUN_OPTIONS-} env "${settings[@]}" python3 "$MSCCLPP/python/test/executor_test.py" \
    -path "$here/algorithms/$name.json" --size "$size" "$@" 2>&1 | tee "$log"
  prove "$log" "$name"
}
"""


def plan_script(bundle: Bundle) -> str:
    """The script, for bash."""
    return "\n".join(_script_lines(bundle)) + "\n"


def registration(bundle: Bundle) -> str:
    """A module that a job imports, for Python."""
    return "\n".join(_registration_lines(bundle)) + "\n"


def plan_readme(bundle: Bundle) -> str:
    """Markdown."""
    return "\n".join(_readme_lines(bundle)) + "\n"


def _name(file: BundleFile) -> str:
    return PurePosixPath(file.path).stem


def _script_lines(bundle: Bundle) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield f"# {bundle.collective} on {bundle.ranks} ranks with MSCCL++ 0.9."
    yield "#"
    yield "#   MSCCLPP=/where/it/is ./run.sh                  MSCCL++'s own test of each plan (mpirun, cupy, mpi4py)"
    yield f"#   MSCCLPP=/where/it/is ./run.sh {job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)}"
    yield "#                                                  a job that says `import register_plans` before"
    yield "#                                                  init_process_group"
    yield from where(bundle.nodes, bundle.ranks_per_node)
    yield "#"
    yield "# Logs go to $LOGS.*.log (hocket-run). Exit code 1: they do not prove that a plan of this folder ran."
    yield "# Written from the documentation and source code of MSCCL++, and not run on GPUs."
    yield f"ranks={bundle.ranks}"
    yield f"plans=({' '.join(map(_name, bundle.files))})"
    yield _SCRIPT
    yield from mpirun_check(bundle.nodes, bundle.ranks_per_node)
    for file in bundle.files:
        for size in sorted(set(multiples(file.min_bytes, file.max_bytes, file.chunks * file.alignment))):
            size_option = size // bundle.ranks if bundle.collective is Kind.ALL_GATHER else size
            yield f"measure {_name(file)} {size_option}{' --in_place' if file.in_place else ''}"


def _registration_lines(bundle: Bundle) -> Iterator[str]:
    yield '"""Tells MSCCL++ 0.9 of the plans of this folder: import it before torch.distributed.init_process_group.'
    yield ""
    yield "The NCCL calls of the job reach MSCCL++ when libmscclpp_nccl.so is preloaded, as run.sh does."
    yield '"""'
    yield ""
    yield "import os"
    yield "from pathlib import Path"
    yield ""
    yield "from mscclpp import Algorithm, ExecutionPlan"
    yield "from mscclpp.ext import AlgorithmCollectionBuilder"
    yield ""
    yield "PLANS = ("
    for file in bundle.files:
        yield f'    "{file.path}",'
    yield ")"
    yield ""
    yield "here = Path(__file__).resolve().parent"
    yield f"constraint = Algorithm.Constraint(world_size={bundle.ranks}, n_ranks_per_node={bundle.ranks_per_node})"
    yield "for path in PLANS:"
    yield '    plan = ExecutionPlan(str(here / path), int(os.environ["RANK"]))'
    yield "    algorithm = Algorithm(id=Path(path).stem, execution_plan=plan, constraint=constraint)"
    yield "    AlgorithmCollectionBuilder().add_algorithm_builder(algorithm)"


def _readme_lines(bundle: Bundle) -> Iterator[str]:
    nodes = f", nodes of {bundle.ranks_per_node}" if bundle.ranks_per_node else ""
    yield f"# {bundle.collective} on {bundle.ranks} ranks of {bundle.topology}{nodes}, for MSCCL++ 0.9"
    yield ""
    yield "| plan | calls | from | to | sizes are multiples of | predicted |"
    yield "|---|---|---|---|---|---|"
    for file in bundle.files:
        times = ", ".join(f"{format_time(one.time_ps)} at {format_bytes(one.size_bytes)}" for one in file.predicted)
        window = f"{format_limit(file.min_bytes)} | {format_limit(file.max_bytes)}"
        yield f"| `{file.path}` | {file.call} | {window} | {file.chunks * file.alignment} B | {times} |"
    yield ""
    yield "Sizes count a rank's whole buffer, the larger of input and output; both ends are served. `predicted` is"
    yield "Hocket's simulation of the plan's messages on that network, without its handshakes. `bundle.json` says the"
    yield "same to programs. Every plan was proved right before it was written: values, no race, no deadlock, in call"
    yield "after call."
    yield ""
    yield "## Run"
    yield "```"
    yield "MSCCLPP=/where/it/is ./run.sh                # MSCCL++'s own test of each plan, values checked"
    yield f"MSCCLPP=/where/it/is ./run.sh {job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)}   # PyTorch"
    yield from where(bundle.nodes, bundle.ranks_per_node)
    yield "```"
    yield "MSCCL++ reads no folder of plans: a job registers them itself. Add one line to it, before"
    yield "`init_process_group`:"
    yield ""
    yield "    import register_plans"
    yield ""
    yield "`run.sh` makes that importable, preloads `libmscclpp_nccl.so` (`MSCCLPP_NCCL=` where it lies elsewhere), and"
    yield "exits with 1 where no log line proves that a plan of this folder ran:"
    yield ""
    yield "    Starting execution with plan: NAME, collective: ..."
    yield ""
    yield "Which plan a call runs:"
    yield f"`hocket explain . --runtime mscclpp --collective {bundle.collective} --ranks {bundle.ranks} --size 1MiB`."
    yield ""
    yield "## What runs MSCCL++'s own algorithms or NCCL, without a word"
    yield f"- communicators of another size than {bundle.ranks}{' or other nodes' if bundle.ranks_per_node else ''};"
    yield "- sizes outside the windows above;"
    if len({file.in_place for file in bundle.files}) == 1:
        yield f"- {'out-of-place' if bundle.files[0].in_place else 'in-place'} calls;"
    if bundle.collective is Kind.ALL_TO_ALL:
        yield "- all_to_all calls of NCCL: the shim has none; the executor runs the plan;"
    yield "- a `libnccl` of PyTorch's own that was loaded first."
    yield ""
    yield "Reductions are sums whatever the call asks for (MAX would be summed up): keep others away from these sizes."
    if bundle.collective is Kind.BROADCAST:
        yield f"The root is not asked for: calls of another root than {bundle.root} give wrong results."
    yield ""
    yield "## What is not known"
    yield "Nothing here was run on GPUs. nccl-tests under the preloaded library measures MSCCL++'s own choice, not"
    yield "these plans: it does not register any. What a size that is no multiple does is not documented."
    yield "`executor_test.py` counts an all_gather's `--size` for one rank, as its source says; whether it checks"
    yield "collectives other than all_reduce and all_gather was not tried."
