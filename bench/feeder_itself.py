"""Whether ASTRA-sim's own feeder reads traces to their end: built from its sources, which are not part of Hocket.

Run: python -m hocket.bench.feeder_itself FEEDER SCHEMA TRACES... [--protobuf PREFIX]

FEEDER is `src/feeder_v3` and SCHEMA `schema/protobuf/et_def.proto` of github.com/astra-sim/chakra (branch stage);
TRACES are folders of `hocket trace convert --profile astra-sim`, or `.et` files. It needs g++ and protobuf's compiler
and library, in PREFIX where they are not installed. Exit 1 where a trace is refused.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.base.text_table import text_table
from hocket.bench.command_line import command_line

__all__ = ["build_feeder", "read_by_feeder"]

_DRIVER = Path(__file__).resolve().with_name("witness") / "feeder.cpp"


def build_feeder(feeder: Path, schema: Path, prefix: Path, folder: Path) -> Path:
    """Builds the program in a folder. Raises CalledProcessError where a compiler fails."""
    libraries = next((path.parent for path in sorted(prefix.rglob("libprotobuf.a"))), prefix / "lib")
    environment = os.environ | {"LD_LIBRARY_PATH": str(libraries)}
    processes.run(
        [prefix / "bin/protoc", f"-I{schema.parent}", f"--cpp_out={folder}", schema.name], env=environment, check=True
    )
    sources = [_DRIVER, *sorted(feeder.glob("*.cpp")), folder / f"{schema.stem}.pb.cc"]
    includes = [f"-I{path}" for path in (folder, feeder, prefix / "include")]
    program = folder / "feeder"
    link: list[str | Path] = [libraries / "libprotobuf.a", "-lpthread", "-lz"]
    processes.run(["g++", "-std=c++17", "-O1", "-w", *includes, *sources, *link, "-o", program], check=True)
    return program


def read_by_feeder(program: Path, traces: Sequence[Path]) -> list[tuple[str, str, str]]:
    """File, nodes and communication of each trace, or `refused` and why."""
    done = processes.run([program, *traces], capture_output=True, text=True)
    rows = [line.split("\t", 2) for line in done.stdout.splitlines() if "\t" in line]
    return [(name, nodes, rest) for name, nodes, rest in rows]


def main() -> int:
    parser = command_line()
    parser.add_argument("feeder", type=Path)
    parser.add_argument("schema", type=Path)
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--protobuf", type=Path, default=Path("/usr"), metavar="PREFIX")
    chosen = parser.parse_args()
    files = [
        file for path in chosen.traces for file in ([path] if path.is_file() else sorted(path.glob("*.et"), key=str))
    ]
    with scratch_folder("feeder") as folder:
        rows = read_by_feeder(build_feeder(chosen.feeder, chosen.schema, chosen.protobuf, folder), files)
    print(*text_table(("trace", "nodes", "communication"), rows, align="<"), sep="\n")
    return int(len(rows) < len(files) or any(nodes == "refused" for _, nodes, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
