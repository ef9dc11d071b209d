"""How to run an MSCCL XML on each runtime: environment, command, and the log lines that prove it was used."""

from pathlib import Path
from shlex import quote

from hocket.schedule import Kind, Program
from hocket.translator.profiles import ProfileName

__all__ = ["run_recipe"]

_PERF = {
    Kind.ALL_REDUCE: "all_reduce_perf",
    Kind.ALL_GATHER: "all_gather_perf",
    Kind.REDUCE_SCATTER: "reduce_scatter_perf",
    Kind.ALL_TO_ALL: "alltoall_perf",
    Kind.BROADCAST: "broadcast_perf",
    Kind.REDUCE: "reduce_perf",
    Kind.GATHER: "gather_perf",
    Kind.SCATTER: "scatter_perf",
    Kind.CUSTOM: "YOUR_PROGRAM",
}

_TITLE = {
    ProfileName.MSCCL: "microsoft/msccl (a fork of NCCL 2.12); MSCCL= the folder where it was built",
    ProfileName.EXECUTOR: "Azure/msccl-executor-nccl (a fork of NCCL 2.23); MSCCL= the folder where it was built",
    ProfileName.RCCL: "RCCL with MSCCL compiled in (ROCm 5.5 to 7.1)",
}
_PREPARE = {
    ProfileName.MSCCL: [],
    # One file that does not parse ends the scan of the whole folder.
    ProfileName.EXECUTOR: ["mkdir -p msccl-algorithms && cp {file} msccl-algorithms/   # nothing else in this folder"],
    ProfileName.RCCL: ["mkdir -p msccl-algorithms && cp {file} msccl-algorithms/   # nothing else in this folder"],
}
_ENVIRONMENT = {
    ProfileName.MSCCL: [
        "LD_LIBRARY_PATH=$MSCCL/build/lib:$LD_LIBRARY_PATH",
        "MSCCL_XML_FILES={file}",
        "NCCL_ALGO=MSCCL,RING,TREE",
        "NCCL_DEBUG=INFO",
        "NCCL_DEBUG_SUBSYS=INIT,ENV",
    ],
    ProfileName.EXECUTOR: [
        "LD_LIBRARY_PATH=$MSCCL/build/lib:$LD_LIBRARY_PATH",
        "MSCCL_ALGO_DIR=$PWD/msccl-algorithms",
        "NCCL_MSCCL_ENABLE=1",
        "NCCL_DEBUG=INFO",
    ],
    ProfileName.RCCL: [
        "RCCL_MSCCL_FORCE_ENABLE=1",
        "MSCCL_ALGO_DIR=$PWD/msccl-algorithms",
        "NCCL_DEBUG=INFO",
        "NCCL_DEBUG_SUBSYS=INIT,COLL",
    ],
}
_PROOF = {
    ProfileName.MSCCL: [
        "MSCCL: Parsing algorithm",
        "Parsed MSCCL Algorithm ... successfully",
        "Connected N MSCCL algorithms",
    ],
    ProfileName.EXECUTOR: [
        "Using MSCCL Algo files from",
        "MSCCL: Initialization finished",
        "MSCCL: Setup Kernel finished",
    ],
    ProfileName.RCCL: ["Using MSCCL files from", "MSCCL: Initialization finished", "Setup Kernel finished"],
}


def run_recipe(program: Program, profile: ProfileName, path: Path | str) -> str:
    """Shell text that runs the XML at `path` with nccl-tests on a runtime, one GPU a process.

    Sources: the runtimes' documentation and source code; none of it was run where this was written.
    """
    file = quote(str(Path(path).resolve()))
    sizes = f"-b {program.min_bytes or 1024} -e {program.max_bytes or 1 << 30} -f 2"
    environment = [f"  -x {setting.format(file=file)} \\" for setting in _ENVIRONMENT[profile]]
    modes = {(True, True): "both", (True, False): "only the in-place", (False, True): "only the out-of-place"}
    return "\n".join(
        [
            f"# {_TITLE[profile]}",
            *(line.format(file=file) for line in _PREPARE[profile]),
            f"mpirun -np {program.num_ranks} \\",
            *environment,
            f"  {_PERF[program.kind]} {sizes} -g 1 -c 1",
            "# The log proves that the file was loaded and used:",
            *(f"#   {line}" for line in _PROOF[profile]),
            f"# It serves {modes[program.in_place, program.out_of_place]} columns, and only sizes whose element count",
            f"# divides by {program.chunks_per_loop}; everything else silently runs the library's own algorithm.",
        ]
    )
