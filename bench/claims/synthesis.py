"""Claims E1 to E20: TACOS' schedules beside those of algorithms made by hand."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from hocket.bench.claims.claim import Claim, Figures
from hocket.bench.claims.measures import simulated_ps, synthesized, synthesized_ps, transfers_of
from hocket.bench.claims.tacos_networks import (
    GIB,
    baseline_ps,
    fully_connected,
    geometric_mean,
    mesh,
    ring_fc_switch,
    ring_ps,
    speedups,
)
from hocket.schedule import verify
from hocket.topology import load

__all__ = ["CLAIMS"]

_TORUS = "torus:4x4x4,bandwidth=25GiB/s,latency=500ns"
_DRAGONFLY = "dragonfly:{},bandwidth=400/200GiB/s,latency=500ns"
_TWO_SWITCHES = "switch:8xswitch:4,bandwidth=300/25GiB/s,latency=500ns"
_RING = "ring:64,bandwidth=50GiB/s,latency=500ns"
_DGX_1 = "dgx-1:link=25GiB/s"
_TABLE_5 = {"RHD": "halving_doubling", "Direct": "direct", "DBT": "double_binary_tree"}
_HOCKETS = (
    "the sizes, the chunks and the switch of the paper's runs are not published; Hocket's schedule is the faster one"
)


def _one_link() -> Figures:
    line = "fully_connected:2,bandwidth=100GiB/s,latency=500ns"
    return {"time": simulated_ps("broadcast", line, 2**20, "binomial") / 1e6}


def _wasted() -> Figures:
    direct = baseline_ps(fully_connected(64), "direct")
    links = load(fully_connected(64)).num_links
    return {"Direct over Ring": ring_ps(64, both=True) / direct, "links unused, %": 100 * (1 - 2 * 64 / links)}


def _over_ring() -> Figures:
    """Of TACOS' all_reduce, a reduce_scatter and an all_gather of as long, and of Hocket's, which overlaps both."""
    ring, found = ring_ps(64, both=False), {}
    for name, network in (("mesh", mesh("8x8")), ("hypercube", mesh("4x4x4"))):
        found[name] = ring / (2 * synthesized_ps("all_gather", network, GIB, chunks=1))
        found[f"{name}, overlapped"] = ring / synthesized_ps("all_reduce", network, GIB)
    return found


def _small_schedules() -> Figures:
    """Steps on a ring of one direction, and a reduce beside the broadcast that it is the reverse of."""
    one_way = "unwound_switch:4,bandwidth=50GiB/s,latency=500ns"
    gather = transfers_of(synthesized("all_gather", one_way, 4 * 2**20, chunks=1))
    broadcast, reduce = (
        synthesized(kind, mesh("2x2"), 4 * 2**20, chunks=1).time_ps for kind in ("broadcast", "reduce")
    )
    return {
        "steps": len(np.unique(gather.start_ps)),
        "reduce over broadcast": reduce / broadcast,
    }


def _unwound() -> Figures:
    return {
        f"d={degree}": float(
            load(f"unwound_switch:4,bandwidth=120GB/s,latency=500ns,degree={degree}").bandwidth.max() / 1e9
        )
        for degree in (1, 2, 3)
    }


def _contention() -> Figures:
    """Transfers on a link of the 3x3 mesh that overlap, proved to be none by `verify`; and the bound."""
    schedule = synthesized("all_gather", mesh("3x3"), 9 * 2**20, chunks=1)
    verify(schedule)
    whole = transfers_of(schedule)
    spans = sorted(zip(whole.route.tolist(), whole.start_ps.tolist(), whole.finish_ps.tolist(), strict=True))
    overlaps = sum(before[0] == after[0] and after[1] < before[2] for before, after in pairwise(spans))
    assert schedule.bound is not None
    return {"overlapping transfers": overlaps, "time over bound": schedule.time_ps / schedule.bound.time_ps}


def _small_networks() -> Figures:
    """Ring and Direct over the synthesized all_reduce on the three networks of figure 16."""
    found: dict[str, float] = {}
    for name, network in (
        ("mesh 5x5", mesh("5x5", 100)),
        ("dragonfly 4x5", _DRAGONFLY.format("4x5")),
        ("2-D switch 8x4", _TWO_SWITCHES),
    ):
        found |= {
            f"{word}, {name}": ratio for word, ratio in speedups(network, {"Ring": "ring", "Direct": "direct"}).items()
        }
    return {"mean": geometric_mean(list(found.values())), **found}


def _utilisation() -> Figures:
    """Mean part of the time that a link works in, over all links."""
    found = {}
    for name, network in (("dragonfly 7x8", _DRAGONFLY.format("7x8")), ("3D-RFS", ring_fc_switch(64))):
        topology = load(network)
        schedule = transfers_of(synthesized("all_reduce", network, GIB))
        bandwidth = topology.bandwidth.astype(np.float64)
        # Bytes that all links carry over what they could carry meanwhile: algorithms differ in time and bytes.
        sent = schedule.collective.chunk_bytes[schedule.chunk].sum()
        found[f"synthesized, {name}"] = float(sent) / (bandwidth.sum() * schedule.time_ps / 1e12)
        for word in ("ring", "direct"):
            least = 2 * (topology.num_ranks - 1) * GIB  # what an all_reduce has to move at the least
            found[f"{word}, {name}"] = least / (bandwidth.sum() * baseline_ps(network, word) / 1e12)
    return found


def _table_5(ranks: int) -> Figures:
    network = ring_fc_switch(ranks)
    schedule = synthesized("all_reduce", network, GIB)
    assert schedule.bound is not None
    found = {"Ring": ring_ps(ranks, both=True) / schedule.time_ps, **speedups(network, _TABLE_5)}
    return found | {"synthesized over its lower bound": schedule.time_ps / schedule.bound.time_ps}


def _table_5_means() -> Figures:
    rows = [_table_5(ranks) for ranks in (16, 32, 64, 128)]
    return {name: geometric_mean([row[name] for row in rows]) for name in ("Ring", *_TABLE_5)}


def _rows() -> Iterator[Claim]:
    published = {
        16: ("E10", "7.14", "5.27", "4.04", "47.13", "TACCL 2.89x, synthesis 0.63 ms against 790 ms"),
        32: ("E11", "5.10", "4.42", "7.86", "58.35", "TACCL 4.10x, 8.90 ms against 2001 ms"),
        64: ("E12", "4.80", "5.83", "16.84", "121.31", "TACCL 4.27x, 97.92 ms against 7016 ms"),
        128: ("E13", "4.82", "9.85", "36.02", "294.15", "no TACCL, 1080 ms"),
    }
    for ranks, (number, ring, halving, direct, tree, rest) in published.items():
        yield Claim(
            id=number,
            where="table V",
            claim=f"{ranks} NPUs of 3D-RFS, time over TACOS': Ring {ring}, RHD {halving}, Direct {direct}, DBT {tree};"
            f" {rest}",
            setup="1 GiB; the ring goes round in both directions along links of 50 GB/s",
            published={"Ring": ring, "RHD": halving, "Direct": direct, "DBT": tree},
            unit="x",
            tolerance=0.1,
            measure=partial(_table_5, ranks),
            holds=lambda found: (
                (min(found.values()) > 1 and found["DBT"] == max(found.values())) or found["Direct"] > 10
            ),
            because=_HOCKETS + "; TACCL's integer program is not run",
        )


def _themis(network: str, chunks: int) -> float:
    return baseline_ps(network, "themis", chunks=chunks) / synthesized_ps("all_reduce", network, GIB)


def _multitree(*networks: tuple[str, str]) -> Figures:
    found = {
        name: baseline_ps(network, "multitree") / synthesized_ps("all_reduce", network, GIB)
        for name, network in networks
    }
    return {"mean": geometric_mean(list(found.values())), **found}


def _binary_trees(*networks: tuple[str, str]) -> Figures:
    """Two binary trees at once, pipelined in 64 chunks, as C-Cube has them."""
    found = {
        name: baseline_ps(network, "double_binary_tree", chunks=64) / synthesized_ps("all_reduce", network, GIB)
        for name, network in networks
    }
    return {"mean": geometric_mean(list(found.values())), **found}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="E1",
        where="figure 7",
        claim="1 MB over 0.5 us and 100 GB/s takes 10.27 us",
        setup="1 MiB over a link of 100 GiB/s",
        published={"time": "10.27"},
        unit="us",
        measure=_one_link,
        because="GB/s are 2^30 bytes/s",
    ),
    Claim(
        id="E2",
        where="section III-B, figure 2",
        claim="on a ring of 64 NPUs Ring has 16.71x the bandwidth of Direct",
        setup="1 GiB over 50 GiB/s; the ring in both directions",
        published={"Ring over Direct": "16.71"},
        unit="x",
        measure=lambda: {
            "Ring over Direct": baseline_ps("ring:64,bandwidth=50GiB/s,latency=500ns", "direct")
            / ring_ps(64, both=True)
        },
    ),
    Claim(
        id="E3",
        where="section III-B, figure 2",
        claim="on 64 fully connected NPUs Direct has 31.40x the bandwidth of Ring, which wastes 96.88 % of the links",
        setup="1 GiB over 50 GiB/s; the ring in both directions",
        published={"Direct over Ring": "31.40", "links unused, %": "96.88"},
        tolerance=0.01,
        measure=_wasted,
        because="each NPU uses 2 of its 63 links: 96.83 % are unused; 96.88 counts 64",
    ),
    Claim(
        id="E4",
        where="section III-B, figure 2",
        claim="64 NPUs: TACOS 1.98x over Ring on a mesh, 2.97x on a 3-D hypercube",
        setup="8x8, 4x4x4 meshes, twice the synthesized all_gather; ring along a Hamiltonian circuit, one direction",
        published={"mesh": "1.98", "hypercube": "2.97"},
        unit="x",
        tolerance=0.05,
        measure=_over_ring,
        holds=lambda found: found["hypercube"] > found["mesh"] > 1.5,
        because="TACOS does an all_gather after a reduce_scatter; an all_reduce that overlaps them gains more. The"
        " hypercube of 4^3 NPUs is a mesh",
    ),
    Claim(
        id="E5",
        where="figures 9, 11, 14",
        claim="all_gather on a one-way ring of 4 in 3 steps; a reduce is a broadcast in reverse",
        setup="synthesized with a chunk per rank, and proved",
        published={"steps": "3", "reduce over broadcast": "1"},
        measure=_small_schedules,
    ),
    Claim(
        id="E6",
        where="figure 13",
        claim="a switch of 4 NPUs and 120 GB/s, unwound by degree 1, 2, 3: links of 120, 60, 40 GB/s",
        setup="the topology `unwound_switch`",
        published={"d=1": "120", "d=2": "60", "d=3": "40"},
        unit="GB/s",
        measure=_unwound,
    ),
    Claim(
        id="E7",
        where="figure 15",
        claim="all_gather on the 3x3 mesh without contention",
        setup="synthesized with a chunk per rank, and proved",
        published={"overlapping transfers": "0"},
        measure=_contention,
    ),
    Claim(
        id="E8",
        where="figure 16",
        claim="2.56x over the baselines on a mesh, a dragonfly and a 2-D switch; not behind TACCL",
        setup="1 GiB; geometric mean over Ring (in rank order) and Direct on the three",
        published={"mean": "2.56"},
        unit="x",
        measure=_small_networks,
        holds=lambda found: min(found.values()) > 1,
        because="larger, since the ring is laid in the order of the ranks here; TACCL's integer program is not run",
    ),
    Claim(
        id="E9",
        where="figure 17",
        claim="dragonfly 7x8 and 3D-RFS 2x4x8: higher use of the links than Ring and Direct",
        setup="synthesized: bytes over what all links carry meanwhile; others: the least bytes of an all_reduce",
        measure=_utilisation,
        holds=lambda found: all(
            found[f"synthesized, {name}"] > 2 * found[f"{word}, {name}"]
            for name in ("dragonfly 7x8", "3D-RFS")
            for word in ("ring", "direct")
        ),
        because="more than twice that of either on both",
    ),
    *_rows(),
    Claim(
        id="E14",
        where="section VI-A",
        claim="average over table V: 5.39x Ring, 6.05x RHD, 11.78x Direct, 99.53x DBT",
        setup="geometric means of E10 to E13",
        published={"Ring": "5.39", "RHD": "6.05", "Direct": "11.78", "DBT": "99.53"},
        unit="x",
        tolerance=0.1,
        measure=_table_5_means,
        holds=lambda found: min(found.values()) > 1,
        because="the paper's averages are geometric means, unsaid. " + _HOCKETS,
    ),
    Claim(
        id="E15",
        where="figure 18",
        claim="3-D torus: as fast as Themis with 64 chunks, faster than with 4",
        setup="4x4x4 at 25 GiB/s: Themis over the synthesized all_reduce",
        published={"64 chunks": "1.0"},
        unit="x",
        tolerance=0.1,
        measure=lambda: {"64 chunks": _themis(_TORUS, 64), "4 chunks": _themis(_TORUS, 4)},
        holds=lambda found: found["4 chunks"] > found["64 chunks"] >= 1,
        because="64 chunks balance the dimensions as well as the synthesizer does",
    ),
    Claim(
        id="E16",
        where="figure 18",
        claim="3-D hypercube: 2.01x over Themis with 4 chunks",
        setup="4x4x4 mesh at 25 GiB/s: Themis over the synthesized all_reduce",
        published={"4 chunks": "2.01"},
        unit="x",
        tolerance=0.05,
        measure=lambda: {"4 chunks": _themis(mesh("4x4x4", 25), 4)},
        holds=lambda found: found["4 chunks"] > 1.5,
        because="the hypercube of 4^3 NPUs, marked asymmetric, is a mesh",
    ),
    Claim(
        id="E17",
        where="figure 20",
        claim="1.32x over MultiTree on a 2-D torus and a 2-D mesh",
        setup="8x8, 1 GiB; geometric mean",
        published={"mean": "1.32"},
        unit="x",
        tolerance=0.1,
        measure=lambda: _multitree(("torus", "torus:8x8,bandwidth=50GiB/s,latency=500ns"), ("mesh", mesh("8x8"))),
        holds=lambda found: min(found.values()) >= 1,
        because="sizes of the networks are not said",
    ),
    Claim(
        id="E18",
        where="figure 20",
        claim="3.85x over MultiTree on 3D-RFS",
        setup="64 NPUs, 1 GiB; MultiTree knows no bandwidths",
        published={"3D-RFS": "3.85"},
        unit="x",
        tolerance=0.1,
        measure=lambda: _multitree(("3D-RFS", ring_fc_switch(64))),
        holds=lambda found: found["3D-RFS"] > 1.5,
        because="the number of NPUs and the switch are not said",
    ),
    Claim(
        id="E19",
        where="figure 20",
        claim="2.86x over C-Cube on a DGX-1",
        setup="two binary trees in 64 chunks over the synthesized all_reduce, 25 GiB/s per link",
        published={"DGX-1": "2.86"},
        unit="x",
        tolerance=0.1,
        measure=lambda: _binary_trees(("DGX-1", _DGX_1)),
        holds=lambda found: found["DGX-1"] > 1.5,
        because="the trees here are Hocket's, which are not laid along NVLinks as C-Cube's are",
    ),
    Claim(
        id="E20",
        where="figure 20",
        claim="12.18x over C-Cube on a 3-D torus and a 3-D hypercube",
        setup="4x4x4 torus and mesh: two binary trees in 64 chunks over the synthesized all_reduce",
        published={"mean": "12.18"},
        unit="x",
        tolerance=0.1,
        measure=lambda: _binary_trees(("torus", _TORUS), ("hypercube", mesh("4x4x4", 25))),
        holds=lambda found: min(found.values()) > 2,
        because="how C-Cube's trees lie on these networks is not said",
    ),
)
