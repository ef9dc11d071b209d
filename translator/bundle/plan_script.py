"""`run.sh` of a bundle of MSCCL++ plans: runs its own test or a job, and fails where the log does not prove it.

Source: microsoft/mscclpp 0.9 (its Python package, python/test/executor_test.py, its log lines); not run on GPUs.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from hocket.schedule import Kind
from hocket.translator.bundle.manifest import Bundle, BundleFile
from hocket.translator.bundle.windows import multiples
from hocket.translator.launching import job_command, mpirun_check, where

__all__ = ["UNTESTED", "plan_script"]

#: What its python/test/executor_test.py refuses.
UNTESTED = (Kind.BROADCAST,)

_SCRIPT = r"""set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=${LOGS:-hocket-run}
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

refuse() { # TEXT
  echo "$1" >&2
  exit 1
}

package() { # NAME: the folder of a Python package, which is not imported: that would want a GPU
  local find='import importlib.util, sys; print(importlib.util.find_spec(sys.argv[1]).submodule_search_locations[0])'
  python3 -c "$find" "$1" 2> /dev/null || true
}

find_library() { # sets library to MSCCL++'s NCCL; that of the Python package holds the plans that a job registers
  local places place trouble
  places=("$(package mscclpp)/lib" "${MSCCLPP_HOME-}/lib" "${MSCCLPP-}/lib" "${MSCCLPP-}/build/lib")
  library=${MSCCLPP_NCCL-}
  for place in "${places[@]}"; do
    if [ -z "$library" ] && [ -f "$place/libmscclpp_nccl.so" ]; then library=$place/libmscclpp_nccl.so; fi
  done
  if [ ! -f "$library" ]; then
    refuse "${library:-libmscclpp_nccl.so} is not there (looked in ${places[*]}): install microsoft/mscclpp 0.9 with\
 pip, or set MSCCLPP_NCCL to the file"
  fi
  # the loader goes on without a library that it cannot load, and the job would run NCCL alone
  trouble=$(LD_PRELOAD=$library sh -c : 2>&1 || true)
  if [ -n "$trouble" ]; then refuse "$library cannot be preloaded: $trouble"; fi
}

find_nccl() { # what does the calls that MSCCL++ has nothing for, which would fail without it
  if [ -z "${MSCCLPP_NCCL_LIB_PATH+set}" ]; then
    local nccl
    nccl=$(package nvidia.nccl)/lib/libnccl.so.2
    if [ ! -f "$nccl" ]; then
      refuse "NCCL's own library, for calls without a plan, is not installed with pip: set MSCCLPP_NCCL_LIB_PATH to its\
 libnccl.so.2 (to nothing: there is none, and such calls may fail)"
    fi
    settings+=("MSCCLPP_NCCL_LIB_PATH=$nccl")
  fi
}

if [ $# -gt 0 ]; then
  if [ "${MSCCLPP_NCCL_SYMMETRIC_MEMORY-0}" = 0 ]; then
    refuse "no call would be given a plan: set MSCCLPP_NCCL_SYMMETRIC_MEMORY=1 where the buffers of all ranks\
 correspond, as README.md says; elsewhere a plan can hang"
  fi
  find_library
  find_nccl
  env "${settings[@]}" "LD_PRELOAD=$library" "PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}" "$@" 2>&1 |
    tee "$logs.log"
  prove "$logs.log" "${plans[@]}"
  exit
fi
"""

_MEASURE = r"""
: "${MSCCLPP:?set it to a checkout of microsoft/mscclpp 0.9 that was built and installed with pip}"

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


def _name(file: BundleFile) -> str:
    return PurePosixPath(file.path).stem


def _script_lines(bundle: Bundle) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield f"# {bundle.collective} on {bundle.ranks} ranks with MSCCL++ 0.9."
    yield "#"
    if bundle.collective not in UNTESTED:
        yield "#   MSCCLPP=/where/it/is ./run.sh     MSCCL++'s own test of each plan (mpirun, cupy, mpi4py)"
    yield f"#   ./run.sh {job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)}"
    yield "#                                     a job that says `import register_plans` before init_process_group;"
    yield "#                                     libmscclpp_nccl.so is looked for in the Python package, MSCCLPP_HOME,"
    yield "#                                     MSCCLPP, or is MSCCLPP_NCCL"
    yield from where(bundle.nodes, bundle.ranks_per_node)
    yield "#"
    yield "# Logs go to $LOGS.*.log (hocket-run). Exit code 1: they do not prove that a plan of this folder ran."
    yield "# Written from the documentation and source code of MSCCL++, and not run on GPUs."
    yield f"ranks={bundle.ranks}"
    yield f"plans=({' '.join(map(_name, bundle.files))})"
    yield _SCRIPT.rstrip("\n")
    if bundle.collective in UNTESTED:
        yield f'refuse "MSCCL++\'s own test knows no {bundle.collective}: give a job, ./run.sh torchrun ..."'
        return
    yield _MEASURE
    yield from mpirun_check(bundle.nodes, bundle.ranks_per_node)
    for file in bundle.files:
        # as the plan counts, so does the test: an all_gather's whole output, a reduce_scatter's whole input
        for size in sorted(set(multiples(file.min_bytes, file.max_bytes, file.chunks * file.alignment))):
            yield f"measure {_name(file)} {size}{' --in_place' if file.in_place else ''}"
