"""A peer's program beside Hocket. TACOS has its input as constants in main.cpp, so a small driver around it is called:

    PATH LINKS.csv CHUNKS_PER_RANK CHUNK_BYTES

LINKS.csv has one directed link a line, `source,destination,latency in us,bandwidth in GiB/s`. The driver makes a
`Topology` of them, runs `Synthesizer` on an `AllGather`, and prints two numbers: the collective's time in microseconds
as TACOS claims it, and the processor seconds of its search.
"""

import subprocess
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import FormatError
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.peers.case import GIB, Case, Figures
from hocket.bench.peers.graphs import network_of
from hocket.schedule import Kind

__all__ = ["drive"]


def drive(program: Path, case: Case, limit_s: float) -> Figures | None:
    """What the program says of a case; None of other collectives than all_gather and of groups, which TACOS cannot
    do, and after `limit_s` seconds. Raises FormatError when it fails or prints something else."""
    if case.kind is not Kind.ALL_GATHER or case.sharing is not None:
        return None
    topology = network_of(case)
    columns = topology.src, topology.dst, topology.latency_ps / 10**6, topology.bandwidth / GIB
    with scratch_folder("bench") as folder:
        links = folder / "links.csv"
        rows = zip(*(column.tolist() for column in columns), strict=True)
        hand_over(links, "".join(f"{src},{dst},{latency!r},{bandwidth!r}\n" for src, dst, latency, bandwidth in rows))
        chunk_bytes = case.size_bytes // (topology.num_ranks * case.chunks)
        command = [str(program.absolute()), str(links), str(case.chunks), str(chunk_bytes)]
        try:
            process = processes.run(command, capture_output=True, text=True, timeout_s=limit_s)
        except subprocess.TimeoutExpired:
            return None
    try:
        if process.returncode != 0:
            raise ValueError
        time_us, seconds = map(float, process.stdout.split())
    except ValueError as error:
        said = (process.stderr or process.stdout).strip()[-200:]
        raise FormatError(
            f"{program} on {case.name}: expected `time_us seconds`, got exit code {process.returncode} and '{said}'"
        ) from error
    return Figures(time_us, seconds, claimed=True)
