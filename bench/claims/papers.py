"""The papers whose claims these are, by the letter of their claims."""

from dataclasses import dataclass

__all__ = ["PAPERS", "Paper"]


@dataclass(frozen=True)
class Paper:
    """`count` claims are numbered from 1; `setup` is what holds for all of them."""

    letter: str
    title: str
    source: str
    count: int
    setup: str


PAPERS = (
    Paper(
        "A",
        "Latency-bound or bandwidth-bound: collectives in ASTRA-sim (a series in several parts)",
        "blog series of the author of github.com/kredd2506/Astro",
        10,
        "ASTRA-sim's analytical backend, 50 GB/s (2^30) and 500 ns a link, ring per dimension, 4 chunks of which one is"
        " active, LIFO, localBWAware. *Published* is held against Hocket's ASTRA-sim mode; *physical* is Hocket's"
        " congestion model of the same links.",
    ),
    Paper(
        "B",
        "Scheduling-Induced Hierarchy Anti-Benefit in Distributed AllReduce: A Simulation Study with Astra-Sim",
        "draft v0.1, 2026-02-28",
        31,
        "ASTRA-sim's analytical backend, two rings of 8 and N/8 ranks, 600 GB/s inside and 600/r between. The draft"
        " does not say shapes, latencies and chunks; 500 and 2000 ns and 64 chunks give all its figures. *Physical*:"
        " Hocket's congestion model, where every message pays for the links that it goes over.",
    ),
    Paper(
        "C",
        "ASTRA-SIM: Enabling SW/HW Co-Design Exploration for Distributed DL Training Platforms (slides)",
        "Rashidi, Sridharan, Srinivasan, Krishna; ISPASS 2020",
        11,
        "The slides have curves without numbers: what can be held against them are orders and directions. Links of"
        " 200 and 25 GB/s at 94 % efficiency, 90 and 200 ns; where nothing else is said, Hocket's congestion model.",
    ),
    Paper(
        "D",
        "On the Impact of Intra-node Communication in the Performance of Supercomputer and Data Center Interconnection"
        " Networks",
        "Tarraga-Moreno, Escudero-Sahuquillo, Garcia, Quiles",
        18,
        "Packets of 148 and 4096 bytes, credits, queues of 128 KiB (with `--quick` of 64), 1 ms of messages in place of"
        " 2.5: [`hocket traffic`](traffic.md) on 32 nodes of 8 accelerators. What is arithmetic is computed again.",
    ),
    Paper(
        "E",
        "TACOS: Topology-Aware Collective Algorithm Synthesizer for Distributed Machine Learning",
        "Won, Elavazhagan, Srinivasan, Durga, Kaul, Gupta, Krishna; MICRO 2024, arXiv 2304.05301",
        31,
        "Links of 0.5 us, GB/s are 2^30 bytes/s, all_reduce of 1 GiB where the paper says no size. *Ours* is the"
        " time of a native algorithm under Hocket's congestion model over that of the schedule that Hocket synthesizes,"
        " proved and with links blocked during their latency as in TACOS.",
    ),
)
