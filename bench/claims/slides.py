"""Claims C: ASTRA-sim's slides of 2020."""

from fractions import Fraction
from itertools import pairwise

from hocket.bench.claims.claim import Claim, Figures
from hocket.bench.claims.measures import astra_ns, simulated_ps, synthesized, transfers_of
from hocket.bench.claims.training_jobs import exposed_ratio, training

__all__ = ["CLAIMS"]

_KIB, _MIB = 2**10, 2**20
_SLOW = "bandwidth=23.5GB/s,latency=200ns"
_EIGHT_LINKS = "bandwidth=94GB/s,latency=200ns"  # four rings that go round in both directions: 8 links of a rank
_PACKAGES = {8: "2x2x2", 16: "2x2x4", 32: "2x4x4", 64: "2x4x8", 128: "2x8x8"}


def _congested() -> Figures:
    links = "bandwidth=50GB/s,latency=500ns"
    found = {}
    for network in ("ring:128", "torus:8x16", "switch:128"):
        for algorithm in ("ring", "halving_doubling", "direct"):
            times = [
                simulated_ps("all_reduce", f"{network},{links}", 16 * _MIB, algorithm, model=model)
                for model in ("congestion", "uncontended")
            ]
            found[f"{algorithm} on {network}"] = times[0] / times[1]
    return {"largest": max(found.values()), **found}


def _all_to_all() -> Figures:
    return {
        f"{size // _KIB} KiB": simulated_ps("all_to_all", f"ring:8,{_EIGHT_LINKS}", size, "direct")
        / simulated_ps("all_to_all", f"fully_connected:8,{_SLOW}", size, "direct")
        for size in (4 * _KIB, 64 * _MIB)
    }


def _torus_gain() -> Figures:
    """The time of the direct all_reduce over 7 links each, over that of rings over 8."""
    return {
        f"{size // _KIB} KiB": simulated_ps("all_reduce", f"fully_connected:8,{_SLOW}", size, "direct")
        / simulated_ps("all_reduce", f"ring:8,{_EIGHT_LINKS}", size, "multi_ring", chunks=8)
        for size in (4 * _KIB, 64 * _MIB)
    }


def _dimensions() -> Figures:
    one, two = (
        {size: simulated_ps("all_reduce", f"{shape},{_SLOW}", size, algorithm) for size in (4 * _KIB, 64 * _MIB)}
        for shape, algorithm in (("ring:64", "ring"), ("torus:8x8", "hierarchical"))
    )
    return {f"{size // _KIB} KiB": one[size] / two[size] for size in one}


def _packages(shape: tuple[int, ...], bandwidths: tuple[float, ...], *, localized: bool) -> int:
    latencies = [90.0 if bandwidth > 100 else 200.0 for bandwidth in bandwidths]
    dimensions = tuple(("Ring", *each) for each in zip(shape, bandwidths, latencies, strict=True))
    return astra_ns("allreduce", dimensions, 64 * _MIB, ("ring",) * len(shape), localized=localized)


def _more_data() -> Figures:
    """Bytes that a rank sends in the `baseline` algorithm, in sizes of the buffer; and what it costs."""
    shapes = {"8x8": (8, 8), "2x8x4": (2, 8, 4)}
    sent = {name: sum(2 * (size - 1) / size for size in shape) for name, shape in shapes.items()}
    times = {name: _packages(shape, (23.5,) * len(shape), localized=False) for name, shape in shapes.items()}
    return {
        "sent, 8x8": sent["8x8"],
        "sent, 2x8x4": sent["2x8x4"],
        "time of 2x8x4 over 8x8": times["2x8x4"] / times["8x8"],
    }


def _asymmetric() -> Figures:
    even, quick = (23.5, 23.5, 23.5), (188.0, 23.5, 23.5)
    before = _packages((2, 8, 4), even, localized=False)
    return {
        "quicker packages": before / _packages((2, 8, 4), quick, localized=False),
        "and the hierarchical algorithm": before / _packages((2, 8, 4), quick, localized=True),
    }


def _layer_times() -> Figures:
    """Of all collectives of the model-parallel groups: the longest over the shortest."""
    links = "bandwidth=188/23.5/23.5GB/s,latency=90/200/200ns"
    found = training("transformer", 8, f"torus:2x2x2,{links}", "auto", model_size=4)
    times = [each.time_ps for each in found.collectives if len(each.group) == 4]
    return {"collectives": len(times), "longest over shortest": max(times) / min(times)}


def _first_layer() -> Figures:
    """How many of the other layers' gradients come after the first layer's, which the next step waits for first."""
    links = "bandwidth=188/23.5/23.5GB/s,latency=90/200/200ns"
    found = training("resnet50", 32, f"torus:2x4x4,{links}", "hierarchical", compute_scale=Fraction(1, 2))
    *others, first = sorted(found.collectives, key=lambda each: each.start_ps)
    return {
        "layers that come after the first": sum(each.finish_ps > first.finish_ps for each in others),
        "exposed share": float(max(found.exposed_ps)) / found.time_ps,
    }


def _semantics() -> Figures:
    """A ring all_reduce of 8 ranks, as its transfers say."""
    schedule = transfers_of(synthesized("all_reduce", f"ring:8,{_SLOW}", 8 * _MIB, chunks=1, engine="native:ring"))
    return {
        "messages": schedule.collective.num_chunks,
        "steps": len(set(schedule.start_ps.tolist())),
        "sent by a rank, of its buffer": schedule.num_transfers / (8 * schedule.collective.num_chunks),
    }


def _rises(found: Figures) -> bool:
    """Whether the figures grow in their order; a hundredth of the last may be lost in between."""
    values = list(found.values())
    return values[-1] > 1.5 * values[0] and all(
        after > before - 0.01 * values[-1] for before, after in pairwise(values)
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="C1",
        where="why simulation?",
        claim="128 nodes, one all_reduce: the analytical time differs from the congested one up to 50x",
        setup="16 MiB; congestion over uncontended model, three networks by three algorithms",
        published={"largest": "50"},
        unit="x",
        measure=_congested,
        holds=lambda found: found["largest"] > 20,
        because="neither network nor algorithm of the 50x are said; the largest here is a direct all_reduce",
    ),
    Claim(
        id="C2",
        where="microbenchmark: torus vs. all-to-all",
        claim="1x8 all-to-all beats the 1x8x1 torus for the all_to_all collective",
        setup="time of the torus over that of all-to-all",
        measure=_all_to_all,
        unit="x",
        holds=lambda found: min(found.values()) > 1,
        because="faster at both sizes: messages take one link in place of up to four",
    ),
    Claim(
        id="C3",
        where="microbenchmark: torus vs. all-to-all",
        claim="the 1x8x1 torus beats all-to-all for large all_reduces: 8 links against 7",
        setup="time of all-to-all over that of the torus; 8/7 is 1.143",
        published={"65536 KiB": "1.143"},
        unit="x",
        tolerance=0.01,
        measure=_torus_gain,
        holds=lambda found: found["65536 KiB"] > 1 > found["4 KiB"],
        because="and for small ones it loses, as the slides' curves cross",
    ),
    Claim(
        id="C4",
        where="microbenchmark: 1D/2D/3D torus",
        claim="from 1x64x1 to 1x8x8: fewer steps, faster",
        setup="all_reduce: time of the ring of 64 over that of the 8x8 torus",
        measure=_dimensions,
        unit="x",
        holds=lambda found: found["4 KiB"] > 2 and found["65536 KiB"] > 1,
        because="126 steps become 28; with a hierarchical algorithm the bytes shrink as well",
    ),
    Claim(
        id="C5",
        where="microbenchmark: 1D/2D/3D torus",
        claim="from 1x8x8 to 2x8x4 each node may send more data",
        setup="a whole all_reduce of 64 MiB in each dimension, ASTRA-sim mode",
        measure=_more_data,
        holds=lambda found: found["sent, 2x8x4"] > found["sent, 8x8"] and found["time of 2x8x4 over 8x8"] > 1,
        because="true of a whole all_reduce in each dimension; the hierarchical algorithm sends the same in both",
    ),
    Claim(
        id="C6",
        where="microbenchmark: asymmetric hierarchical topology",
        claim="quicker links inside packages help; an algorithm that makes use of them helps more",
        setup="2x8x4, 64 MiB, ASTRA-sim mode: speed-up over even links and a whole all_reduce in each dimension",
        measure=_asymmetric,
        unit="x",
        holds=lambda found: 1 < found["quicker packages"] < found["and the hierarchical algorithm"],
        because="most of the gain is the algorithm's",
    ),
    Claim(
        id="C7",
        where="Transformer layer-wise raw communication",
        claim="2x2x2, hybrid parallel: every layer's communication takes about as long",
        setup="a step of Transformer (big), model-parallel groups of 4; the collectives of these groups",
        measure=_layer_times,
        holds=lambda found: found["longest over shortest"] < 1.1,
        because="each blocks the next, so that none queues behind another",
    ),
    Claim(
        id="C8",
        where="ResNet-50 layer-wise exposed communication",
        claim="2x4x4, data parallel: exposed communication at the first layer alone",
        setup="a step of ResNet-50 on computation twice as quick as an H100's",
        measure=_first_layer,
        holds=lambda found: found["layers that come after the first"] == 0 and found["exposed share"] > 0,
        because="gradients are served in the order in which they come, the first layer's last, so that all others are"
        " there when it is; the slides' queue in front of the second phase is not told apart here",
    ),
    Claim(
        id="C9",
        where="effect of the number of nodes",
        claim="exposed communication over computation grows over 8, 16, 32, 64, 128 nodes",
        setup="a step of ResNet-50, computation twice as quick as an H100's, 3-D tori",
        measure=lambda: {str(ranks): exposed_ratio(ranks, shape, Fraction(1, 2)) for ranks, shape in _PACKAGES.items()},
        holds=_rises,
        because="it grows with the larger of the two outer dimensions: 8 and 16, 32 and 64 are alike",
    ),
    Claim(
        id="C10",
        where="effect of enhanced compute",
        claim="exposed communication over computation grows with faster computation (2x4x4)",
        setup="a step of ResNet-50 on 32 nodes, computation 1, 2 and 4 times as quick as an H100's",
        measure=lambda: {
            f"{quicker}x": exposed_ratio(32, _PACKAGES[32], Fraction(1, quicker)) for quicker in (1, 2, 4)
        },
        holds=_rises,
        because="communication stays as long while what hides it shrinks",
    ),
    Claim(
        id="C11",
        where="ring-based all-reduce",
        claim="a ring of N nodes cuts the buffer into N messages; reduce-scatter, then all-gather",
        setup="the native ring of 8 ranks: chunks, and bytes that a rank sends",
        published={"messages": "8", "steps": "14"},
        measure=_semantics,
    ),
)
