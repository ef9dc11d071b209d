"""The same schedule, choice, check or trace by a peer and by Hocket: TACOS, NCCL, MSCCL-XML-Verifier, Chakra tools."""

from collections.abc import Iterator, Mapping
from functools import cache, partial

from hocket.base.errors import HocketError
from hocket.base.scratch import scratch_folder
from hocket.base.units import format_bytes
from hocket.bench.chakra_read import make_trace
from hocket.bench.peers.case import GIB, Case, Target
from hocket.bench.peers.driver import drive
from hocket.bench.peers.figures import PeerProblem, PeerPrograms, cpu_seconds
from hocket.bench.peers.measure import measure
from hocket.bench.translator import mutants, outcome
from hocket.chakra import read_trace, write_trace
from hocket.chakra.messages import read_messages
from hocket.nccl.programs.spec import model_of
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import lower

__all__ = ["scheduler_problems"]

_EQUAL = "bandwidth=50GiB/s,latency=500ns"
_TACOS = (
    ("mesh 10x10", f"mesh:10x10,{_EQUAL}", 100, 1, GIB // 100),
    ("mesh 10x10 in 16 chunks", f"mesh:10x10,{_EQUAL}", 100, 16, 131072),
    ("mesh 32x32", f"mesh:32x32,{_EQUAL}", 1024, 1, GIB // 1024),
    ("dragonfly 4x5 in 8 chunks", "dragonfly:4x5,bandwidth=400/200GiB/s,latency=500ns", 20, 8, 6710886),
)
_NODES = 20_000


def scheduler_problems() -> Iterator[PeerProblem]:
    """One of each size that a peer was run on."""
    for name, spec, ranks, chunks, chunk_bytes in _TACOS:
        case = Case(Kind.ALL_GATHER, spec, ranks * chunks * chunk_bytes, chunks, Target())
        what = f"all_gather of {format_bytes(ranks * chunks * chunk_bytes)}, {spec.partition(',')[0]}, {chunks} a rank"
        yield PeerProblem("TACOS", name, what, partial(_tacos_here, case), partial(_tacos_there, case), "its driver")
    for size in (2**16, 2**23, 2**30):
        yield PeerProblem(
            "NCCL's model",
            f"all_reduce of {format_bytes(size)}",
            f"all_reduce of {format_bytes(size)} on one DGX H100, as NCCL prices it (`hocket nccl choose`)",
            partial(_nccl_here, size),
            lacks={}
            if size > 2**16
            else {"seconds": "NCCL chooses inside each call; nothing tells how long that took"},
        )
    yield PeerProblem(
        "Chakra tools",
        "Chakra trace",
        f"a trace of {_NODES} nodes read",
        _chakra_here,
        _chakra_there,
        ran="Python protobuf, with which its tools read; not the tools themselves",
        lacks={"time": "they link, convert and draw traces; none of them predicts a time"},
    )
    yield PeerProblem(
        "MSCCL-XML-Verifier",
        "mutated programs",
        "programs made wrong by a dropped dependency (its: 46 of others; ours: all wrong ones of a ring of 8)",
        _mutants_here,
        lacks={"seconds": "it runs a program as often as it is told to: its time is the user's choice"},
    )


def _tacos_here(case: Case) -> Mapping[str, float]:
    first, again = measure(case), measure(case)  # the first in a process also loads the engine's modules
    if first.error:
        raise HocketError(f"{case.name}: {first.error}")
    return {"seconds": min(first.seconds, again.seconds), "schedule": again.time_ps * 1e-12}


def _tacos_there(case: Case, programs: PeerPrograms) -> Mapping[str, float]:
    """What TACOS claims is its schedule's time where all links are alike; elsewhere it may rely on chunks that have
    not come, so that its CPU seconds alone are taken."""
    figures = None if programs.tacos is None else drive(programs.tacos, case, programs.limit_s)
    if figures is None or figures.seconds is None or figures.time_us is None:
        return {}
    time = {} if "/200" in case.topology else {"schedule": figures.time_us * 1e-6}
    return {"seconds": figures.seconds, **time}


def _nccl_here(size: int) -> Mapping[str, float]:
    return {"time": float(model_of("dgx-h100", 8).choose("AllReduce", [size]).time_us[0]) * 1e-6}


@cache
def _chakra_seconds() -> tuple[float, float]:
    """Of columns, and of Python protobuf's messages, from the same file."""
    with scratch_folder("bench") as folder:
        path = folder / "trace.0.et"
        write_trace(path, make_trace(_NODES, _NODES))
        _, ours = cpu_seconds(lambda: read_trace(path))
        _, theirs = cpu_seconds(lambda: sum(1 for _ in read_messages(path)))
    return ours, theirs


def _chakra_here() -> Mapping[str, float]:
    return {"seconds": _chakra_seconds()[0]}


def _chakra_there(programs: PeerPrograms) -> Mapping[str, float]:
    del programs  # protobuf's messages are what the tools' readers yield, and Hocket has protobuf
    return {"seconds": _chakra_seconds()[1]}


def _mutants_here() -> Mapping[str, float]:
    """Of the programs that are not right, those that the proof refutes."""
    topology = load(f"ring:8,{_EQUAL}")
    program = lower(build("ring", Collective(Kind.ALL_GATHER, 8, 2**20), topology), "executor")
    fates = [
        outcome(program, mutant, rank, block)
        for name, rank, block, mutant in mutants(program)
        if name == "dropped dependency"
    ]
    wrong = [fate for fate in fates if fate in ("found", "MISSED")]
    return {"found": wrong.count("found") / len(wrong)} if wrong else {}
