"""Cases and figures out of the recorded runs of TACOS and of the prototypes, read in place.

The files are described by their own README; times are in microseconds, bandwidths in GiB/s, latencies 0.5 us.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hocket.bench.peers.case import GIB, UNKNOWN, Case, Figures, Target
from hocket.schedule import Kind

__all__ = ["cases", "topology_of"]

_COST = "bandwidth={}GiB/s,latency={}us"
_PRODUCTS = {"mesh": "mesh", "torus": "torus", "ring": "ring", "fc": "fully_connected", "dragonfly": "dragonfly"}
_FIELD = re.compile(r",(\w+)=([^,]*)")


def topology_of(spec: str) -> tuple[str, tuple[str, ...]]:
    """Our name of a recorded network, and what it is without: `rfs:2x4x8:bw=200,100,50:sw=2`,
    `mesh:4x4:drop=7,9`, `grid:8x4:kind=S7,S3:bw=300,25`, `file:r_64_6_3_25_50_1.csv`."""
    word, sizes, *rest = spec.split(":")
    if word == "file":
        ranks, degree, seed, *bandwidths, asymmetric = sizes.removesuffix(".csv").split("_")[1:]
        return f"recorded {ranks} {degree} {seed} {','.join(bandwidths)} {asymmetric}", ()
    options = dict(option.split("=") for option in rest)
    bandwidth = [float(value) for value in options.get("bw", "50").split(",")]
    shape, extra = f"{_PRODUCTS.get(word, '')}:{sizes}", ""
    if word == "rfs":
        pair, board, nodes = sizes.split("x")
        degree = options.get("sw", "1")
        shape = f"ring:{pair}xfully_connected:{board}" + ("" if nodes == "1" else f"x{_switch(nodes, degree)}")
        bandwidth = bandwidth[: 2 + (nodes != "1")]
        if degree == "bi":
            bandwidth[2] /= 2  # a ring of both directions shares the port
        elif degree != "1":
            extra = f",degree={degree}"
    if word == "grid":
        kinds = options["kind"].split(",")
        degrees = [kind[1:] for kind in kinds]
        shape = "x".join(_switch(size, degree or "bi") for size, degree in zip(sizes.split("x"), degrees, strict=True))
        if "" in degrees:
            bandwidth = [value / 2 for value in bandwidth]
        elif set(degrees) != {"1"}:
            extra = f",degree={'/'.join(degrees)}"
    cost = _COST.format("/".join(f"{value:g}" for value in bandwidth), options.get("lat", "0.5"))
    without = tuple(f"npu:{rank}" for rank in options.get("drop", "").split(",") if rank)
    return f"{shape},{cost}{extra}".replace("latency=0.5us", "latency=500ns"), without


def _switch(size: str, degree: str) -> str:
    return f"ring:{size}" if degree == "bi" else f"unwound_switch:{size}"


def cases(folder: Path) -> Iterator[Case]:
    """All recorded cases whose files are there; of one that stands in several, the first with the best target."""
    found: dict[str, Case] = {}
    for read in (_own_tests, _homogeneous, _all_gathers, _symmetric, _reduce_scatters, _all_reduces, _all_to_alls):
        for case in read(folder):
            known = found.get(case.name)
            found[case.name] = case if known is None else _merged(known, case)
    yield from found.values()


def _merged(known: Case, other: Case) -> Case:
    times = [case.target.time_us for case in (known, other) if case.target.time_us is not None]
    seconds = known.target.seconds or other.target.seconds
    peer = known.peer if known.peer.time_us is not None else other.peer
    target = replace(known.target, time_us=min(times, default=None), seconds=seconds)
    return replace(known, target=target, peer=peer)


def _rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    path = folder / name
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def _lines(folder: Path, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The spec of each line `spec,...,key=value,...`, and the values."""
    path = folder / name
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        # a spec ends where the number of ranks, or the first key after the spec's own, comes
        match = re.match(r"(.*?)(?=,\d+,\d+,K=|,N=|,K=)", line)
        assert match is not None, f"{path}: {line[:60]}"
        yield match[1], dict(_FIELD.findall(line[match.end() :]))


def _case(kind: Kind, spec: str, ranks: int, chunks: int, chunk_bytes: int, target: Target, peer: Figures) -> Case:
    topology, without = topology_of(spec)
    return Case(kind, topology, ranks * chunks * chunk_bytes, chunks, target, peer, without)


def _ranks(spec: str) -> int:
    ranks = 1
    for size in spec.split(":")[1].split("x"):
        ranks *= int(size)
    dropped = re.search(r"drop=([\d,]+)", spec)
    return ranks - (len(dropped[1].split(",")) if dropped else 0)


def _own_tests(folder: Path) -> Iterator[Case]:
    """The 12 values that TACOS's own tests expect: exact lower bounds."""
    for spec, values in _lines(folder, "tacos_tests_vs_proto.txt"):
        ranks, chunks = _ranks(spec), int(values["K"])
        chunk_bytes = int(values["MiB"]) * 2**20 // (ranks * chunks)
        target = Target(time_us=float(values["ours"]), seconds=0.1)
        yield _case(Kind.ALL_GATHER, spec, ranks, chunks, chunk_bytes, target, Figures(float(values["tacos_expected"])))


def _peer_seconds(folder: Path) -> dict[tuple[str, str], Figures]:
    """By spec and chunk size: what TACOS claims on networks where its claims are causal, and its processor seconds."""
    figures = {}
    for name in ("tacos_v130_short.csv", "tacos_v130_long.csv"):
        for row in _rows(folder, name):
            figures[row["spec"], row["chunk_bytes"]] = Figures(float(row["coll_us_best"]), float(row["cpu_s"]), True)
    for name in ("tacos_v130_quiet.txt", "tacos_v130_48x48.csv"):
        path = folder / name
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            spec, _, _, _, chunk_bytes, *_, cpu, _, best, _ = line.rsplit(",", 11)
            figures[spec, chunk_bytes] = Figures(float(best), float(cpu), True)
    return figures


def _homogeneous(folder: Path) -> Iterator[Case]:
    peers = _peer_seconds(folder)
    limits = {"mesh:32x32": 0.1, "mesh:64x64": 1.0, "mesh:16x16x16": 1.0, "mesh:10x10": 0.1}
    for spec, values in _lines(folder, "proto_hom_quiet.txt"):
        ranks, chunks = _ranks(spec), int(values["K"])
        chunk_bytes = GIB // (ranks * chunks)
        large = spec == "mesh:200x200"
        target = Target(float(values["coll_us"]) + 0.0005, 1.0, limits.get(spec))
        if large:
            target = replace(target, whole_seconds=60.0, peak_bytes=10**9)
        peer = peers.get((spec, str(chunk_bytes)), Figures(seconds=2.52 * 3600) if large else UNKNOWN)
        case = _case(Kind.ALL_GATHER, spec, ranks, chunks, chunk_bytes, target, peer)
        yield replace(case, threads=2) if large else case


def _all_gathers(folder: Path) -> Iterator[Case]:
    peers = _peer_seconds(folder)
    for row in _rows(folder, "compare_allgather.csv"):
        spec, ranks, chunks, chunk_bytes = row["spec"], int(row["npus"]), int(row["K"]), int(row["chunk_bytes"])
        wanted = row["ours_us"] or row["lb_us"] or row["tacos_claimed_best_us"]
        seconds = 57.9 if (spec, chunks) == ("mesh:10x10", 64) else float(row["tacos_cpu_s_per_run"] or "nan")
        peer = Figures(None, seconds) if seconds == seconds else peers.get((spec, row["chunk_bytes"]), UNKNOWN)
        honest, claimed = row["tacos_honest_best_us"], row["tacos_claimed_best_us"]
        if honest or claimed:
            peer = Figures(float(honest or claimed), peer.seconds, not honest)
        limit = 0.1 if (spec, chunks) == ("mesh:10x10", 64) else None
        yield _case(Kind.ALL_GATHER, spec, ranks, chunks, chunk_bytes, Target(float(wanted), seconds=limit), peer)


def _symmetric(folder: Path) -> Iterator[Case]:
    """The prototype for abelian Cayley graphs; 1,024 NPUs of ring x fully connected x switch within 10 ms."""
    peer = Figures(seconds=2.78 * 3600)
    for spec, values in _lines(folder, "proto_cayley.txt"):
        ranks, chunks = _ranks(spec), int(values["K"])
        limit = 0.01 if spec.startswith("rfs:2x4x128") else 1.0 if ranks >= 10**6 else None
        target = Target(float(values["best_us"]), seconds=limit)
        figures = peer if limit == 0.01 and chunks == 1 else UNKNOWN
        yield _case(Kind.ALL_GATHER, spec, ranks, chunks, int(values["chunk"]), target, figures)


def _reduce_scatters(folder: Path) -> Iterator[Case]:
    for row in _rows(folder, "proto_het.csv"):
        if row["coll"] == "RS":
            sizes = int(row["npus"]), int(row["K"]), int(row["chunk_bytes"])
            yield _case(Kind.REDUCE_SCATTER, row["spec"], *sizes, Target(float(row["best_us"])), UNKNOWN)


def _all_reduces(folder: Path) -> Iterator[Case]:
    """The prototype's overlapped trees at the best number of chunks; both schemes where two halves tie or win."""
    to_reach = {
        "mesh:10x10": (12200.0, 0.2),
        "mesh:32x32": (12400.0, 5.0),
        "mesh:8x8x8": (8800.0, 2.0),
        "mesh:4x4:drop=7,9": (20721.0, 0.1),
    }
    # TACOS' scheme: twice the best all_gather (its bandwidth-optimal halves); chunks where that is reached.
    halves = {
        "mesh:5x5": (19212.0, 0),
        "mesh:10x10": (19998.0, 0),
        "mesh:16x16": (20128.0, 0),
        "mesh:32x32": (20512.0, 0),
        "mesh:8x8x8": (13530.0, 0),
        "mesh:4x4:drop=7,9": (37156.0, 0),
        "file:r_64_6_3_25_50_100_200_1.csv": (19814.0, 0),
        "file:r_32_4_1_50_0.csv": (19437.0, 0),
        "torus:8x8": (9906.75, 4),
        "dragonfly:4x5:bw=400,200": (2064.25, 8),
        "dragonfly:7x8:bw=400,200": (1301.33, 4),
        "rfs:2x4x8:bw=200,100,50:sw=bi": (4503.5, 16),
        "grid:8x4:kind=B,B:bw=300,25": (7713.5, 16),
    }
    best: dict[str, tuple[float, int, int]] = {}
    for spec, values in _lines(folder, "proto_allreduce.txt"):
        run = float(values["T_us"]), int(values["C"]), int(values["chunk"])
        best[spec] = min(best.get(spec, run), run)
    for spec, (trees_us, slots, chunk_bytes) in best.items():
        ranks = next(int(v["N"]) for s, v in _lines(folder, "proto_allreduce.txt") if s == spec)
        halves_us, chunks = halves.get(spec, (None, 0))
        time_us, seconds = to_reach.get(spec, (min(trees_us, halves_us or trees_us), None))
        chunks, chunk_bytes = (chunks, GIB // (ranks * chunks)) if chunks else (slots // ranks, chunk_bytes)
        target = Target(time_us, seconds=seconds)
        yield _case(Kind.ALL_REDUCE, spec, ranks, chunks, chunk_bytes, target, Figures(halves_us))


def _all_to_alls(folder: Path) -> Iterator[Case]:
    """One chunk a pair: the load bound, which the linear program reaches, exactly on symmetric networks and within 1 %
    elsewhere."""
    for row in _rows(folder, "a2a_lp.csv"):
        spec, ranks = row["spec"], int(row["npus"])
        exact = spec.startswith(("torus", "rfs", "grid"))
        target = Target(float(row["a2a_lp_opt_us"]) * (1.0 if exact else 1.01), seconds=1.0)
        yield _case(Kind.ALL_TO_ALL, spec, ranks, 1, GIB // ranks, target, UNKNOWN)
