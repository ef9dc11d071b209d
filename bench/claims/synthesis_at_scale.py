"""Claims E21 to E31: how long TACOS searches, asymmetric networks, training."""

from collections.abc import Callable
from functools import cache
from time import process_time

from hocket.bench.claims.claim import Claim, ClaimStatus, Figures
from hocket.bench.claims.measures import search, synthesized, synthesized_ps, transfers_of
from hocket.bench.claims.tacos_networks import (
    GIB,
    baseline_ps,
    failed_ps,
    geometric_mean,
    mesh,
    ring_fc_switch,
    ring_ps,
)
from hocket.bench.claims.training_jobs import training

__all__ = ["CLAIMS"]

_KIB, _MIB = 2**10, 2**20
_DEAD = ("npu:7", "npu:9")


def _search_seconds(topology: str, ranks: int, collective: str = "all_reduce") -> float:
    """Processor seconds of one synthesis, with bound and proof."""
    return _seconds(lambda: search(collective, topology, GIB // ranks * ranks, chunks=1))


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _scaling() -> Figures:
    return {str(ranks): _search_seconds(ring_fc_switch(ranks), ranks) for ranks in (256, 512, 1024)}


def _large_meshes() -> dict[str, float]:
    shapes = {"1024": "32x32", "4096": "64x64"}
    return {f"{ranks} NPUs": _search_seconds(mesh(shape), int(ranks), "all_gather") for ranks, shape in shapes.items()}


def _largest_mesh() -> Figures:
    return _large_meshes() | {"40000 NPUs": _search_seconds(mesh("200x200"), 40_000, "all_gather")}


def _chunks() -> Figures:
    """Ring and Direct over the synthesized all_reduce on the 10x10 mesh, for 1 to 64 chunks of 128 KiB a NPU."""
    ring, direct = [], []
    for chunks in (1, 4, 16, 64):
        size = 100 * chunks * 128 * _KIB
        found = synthesized_ps("all_reduce", mesh("10x10"), size)
        ring.append(ring_ps(100, both=False, size=size) / found)
        direct.append(baseline_ps(mesh("10x10"), "direct", size) / found)
    return {
        "Ring": sum(ring) / len(ring),
        "Direct": sum(direct) / len(direct),
        "seconds for 1600 MB": _seconds(lambda: search("all_reduce", mesh("10x10"), 1600 * _MIB)),
    }


def _failures() -> Figures:
    found = synthesized("all_reduce", mesh("4x4"), GIB, failed=_DEAD).time_ps
    return {
        "Ring": failed_ps(mesh("4x4"), _DEAD, "ring") / found,
        "Direct": failed_ps(mesh("4x4"), _DEAD, "direct") / found,
    }


@cache
def _step_ps(network: str, ranks: int, algorithm: str) -> int:
    """A data-parallel training step whose all_reduces are synthesized or native."""
    topology = ring_fc_switch(ranks)
    if algorithm != "synthesized":
        return training(network, ranks, topology, algorithm).time_ps
    schedule = transfers_of(synthesized("all_reduce", topology, GIB, chunks=1))
    schedules = {("all_reduce", tuple(range(ranks))): schedule}
    return training(network, ranks, topology, "ring", schedules=schedules).time_ps


def _steps(networks: tuple[str, ...], ranks: int) -> Figures:
    """Ring and Direct over the synthesized all_reduce: geometric means over the networks, and of both."""
    found = {}
    for name, algorithm in (("Ring", "ring"), ("Direct", "direct")):
        slower = [_step_ps(each, ranks, algorithm) / _step_ps(each, ranks, "synthesized") for each in networks]
        found[name] = geometric_mean(slower)
    return {"mean": geometric_mean(list(found.values())), **found}


_LINKS = "bandwidth=50GiB/s,latency=500ns"
_KINDS = (
    f"ring:8,{_LINKS}",
    f"fully_connected:8,{_LINKS}",
    f"torus:4x4,{_LINKS}",
    f"torus:2x4x4,{_LINKS}",
    f"mesh:4x4,{_LINKS}",
    f"mesh:3x3x3,{_LINKS}",
    "switch:8xswitch:4,bandwidth=300/25GiB/s,latency=500ns",
    ring_fc_switch(32),
    "dragonfly:4x5,bandwidth=400/200GiB/s,latency=500ns",
)


def _proved(network: str) -> int:
    """The time of an all_reduce that the synthesizer has proved."""
    return synthesized_ps("all_reduce", network, 64 * _MIB)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="E21",
        where="section VI-C",
        claim="synthesis for 256, 512, 1024 NPUs of 3D-RFS in 16.50 s, 6.09 min, 2.78 h",
        setup="an all_reduce with a chunk per rank, processor seconds of one core, bound and proof with it",
        published={"256": "16.50", "512": "365.4", "1024": "10008"},
        unit="s",
        measure=_scaling,
        holds=lambda found: found["256"] < 16.5 and found["512"] < 365.4 and found["1024"] < 10_008,
        because="Hocket is done in a fraction; other processor, other search: it makes use of the network's symmetry",
    ),
    Claim(
        id="E22",
        where="figure 21",
        claim="40K NPUs of a mesh in 2.52 h, 27K of a 3-D hypercube in 51.54 min (64 threads); O(n^2)",
        setup="all_gather on meshes of 1024 and 4096 NPUs, without --quick of 40 000; processor seconds of one core",
        published={"40000 NPUs": "9072"},
        unit="s",
        measure=_large_meshes,
        thorough=_largest_mesh,
        holds=lambda found: found["4096 NPUs"] < 95.1 and found.get("40000 NPUs", 0) < 9072,
        because="quicker by far; the paper's is an all_reduce on 64 threads of another processor, which is twice an"
        " all_gather",
    ),
    Claim(
        id="E23",
        where="figure 22",
        claim="10x10 mesh, 1 to 64 chunks of 128 KB: 2.26x over Ring, 11.00x over Direct; 57.87 s for 1600 MB",
        setup="1, 4, 16, 64 chunks a NPU; the ring along a Hamiltonian circuit, in one direction",
        published={"Ring": "2.26", "Direct": "11.00", "seconds for 1600 MB": "57.87"},
        tolerance=0.1,
        measure=_chunks,
        holds=lambda found: found["Ring"] > 1.5 and found["Direct"] > 5 and found["seconds for 1600 MB"] < 57.87,
        because="what the chunks of Ring and Direct are is not said. 1 chunk of 128 KB for each of 100 NPUs is 12.8 MB,"
        " not 25 MB",
    ),
    Claim(
        id="E24",
        where="table VI",
        claim="4x4 mesh without NPUs 7 and 9: Ring 2.69x, Direct 5.08x; 3.53 ms",
        setup="all_reduce of 1 GiB; the ring in the order of the ranks that are left",
        published={"Ring": "2.69", "Direct": "5.08"},
        unit="x",
        tolerance=0.1,
        measure=_failures,
        holds=lambda found: min(found.values()) > 1.5,
        because="how the ring goes round the failed NPUs is not said",
    ),
    Claim(
        id="E25",
        where="table VI",
        claim="6x6 mesh, three collectives at once: 2.90x over Direct; 3.67 ms",
        setup="none: which NPUs take part is in a figure",
        published={"Direct": "2.90"},
        unit="x",
        unresolved=ClaimStatus.NOT_SPECIFIED,
        because="the groups, kinds and sizes of the three are not in the text; groups that share a mesh are cases of"
        " `hocket bench peers`",
    ),
    Claim(
        id="E26",
        where="figure 24",
        claim="GNMT on 64 NPUs of 3D-RFS: 2.38x on average",
        setup="a data-parallel step on H100s: Ring and Direct over the synthesized all_reduce",
        published={"mean": "2.38"},
        unit="x",
        tolerance=0.1,
        measure=lambda: _steps(("gnmt",), 64),
        holds=lambda found: min(found.values()) > 1,
        because="the paper does not say what computes how fast; all sizes take one schedule here",
    ),
    Claim(
        id="E27",
        where="figure 24",
        claim="ResNet-50 and Turing-NLG on 256 NPUs: 6.50x over Direct, 1.17x over Ring",
        setup="data-parallel steps on 256 H100s, with --quick of ResNet-50 on 64: over the synthesized all_reduce",
        published={"Direct": "6.50", "Ring": "1.17"},
        unit="x",
        tolerance=0.1,
        measure=lambda: _steps(("resnet50",), 64),
        thorough=lambda: _steps(("resnet50", "turing-nlg"), 256),
        holds=lambda found: found["Direct"] > found["Ring"] > 1,
        because="the paper does not say what computes how fast, nor how the models are divided",
    ),
    Claim(
        id="E28",
        where="introduction",
        claim="training on 256 NPUs 1.44x faster on average (the conclusion: 1.17x over Ring)",
        setup="see E27",
        published={"mean": "1.44"},
        unit="x",
        unresolved=ClaimStatus.NOT_SPECIFIED,
        because="over which baselines and workloads the 1.44x is an average is not said",
    ),
    Claim(
        id="E29",
        where="section V-C",
        claim="ASTRA-sim is 6-8 % off 8 V100s and 32 TPUv3s, about 1 % at large sizes",
        setup="none: needs the measurements",
        unresolved=ClaimStatus.OUT_OF_REACH,
        because="measured on rented V100s and TPUs; neither sizes nor times were published",
    ),
    Claim(
        id="E30",
        where="section III-A",
        claim="0.25-0.5 % of NPUs fail a week",
        setup="none: quoted there",
        unresolved=ClaimStatus.OUT_OF_REACH,
        because="a statistic of large clusters",
    ),
    Claim(
        id="E31",
        where="tables I, II, IV",
        claim="which algorithms and synthesizers can do which networks",
        setup="Hocket's synthesizer on one network of each kind of table IV, 64 MiB, proved",
        published={"networks": "9"},
        measure=lambda: {"networks": len([_proved(network) for network in _KINDS])},
    ),
)
