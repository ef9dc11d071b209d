"""Which synthetic traffic goes over a topology."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.request import Request

__all__ = ["SyntheticTraffic"]


class SyntheticTraffic(Request, frozen=True, kw_only=True, tag="traffic"):
    """Send synthetic traffic through the packet model over loads: throughput, latencies, queues, and where it
    saturates."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket traffic C4 -t node:accelerators=8,link=512Gbit/s,nodes=32,fabric=fat_tree,leaf=4,spines=4"
        " --routing d_mod_k --report c4.html",
        "hocket traffic uniform -t fat_tree:8x8,spines=8,bandwidth=50GB/s,latency=500ns --load 10%..100%:5%",
        "hocket traffic incast:8 -t dgx-h100:nodes=2 --load 80% --json -",
        "hocket traffic permutation -t torus:4x4,bandwidth=50GB/s,latency=500ns --window 1,2,4,8",
    )

    pattern: Annotated[
        str,
        argument(
            "Who sends to whom: a share leaves the node (C1 20 %, C2 15 %, C3 10 %, C4 5 %, C5 none, inter:30%),"
            " uniform, permutation, incast (all to rank 0), incast:8.",
            "PATTERN",
            known="hocket.simulator.traffic_patterns:PATTERNS",
        ),
    ]
    topology: Annotated[str, option("Spec, preset or file.", "-t", metavar="SPEC|FILE", positional=True)]
    load: Annotated[
        str,
        option(
            "Parts of what senders' links carry, headers included; messages arrive at random times: 70%, 10%..100%,"
            " 60%..80%:5%.",
            metavar="LOADS",
        ),
    ] = "10%..100%"
    window: Annotated[
        tuple[str, ...],
        option("Instead of loads: messages that each rank always has in flight: 1,2,4.", metavar="COUNT,..."),
    ] = ()
    size: Annotated[str, option("Size of each message.", "-s")] = "4KiB"
    duration: Annotated[str, option("Time for which messages are made, per load.")] = "500us"
    warm_up: Annotated[
        str | None, option("What is delivered before that is not counted; half of the duration by default.")
    ] = None
    seed: Annotated[int, option("Seed of times and destinations.", ge=0)] = 0
    switching: Annotated[
        tuple[str, ...], option("cut_through (default) or store_and_forward, of all links or CLASS=VALUE.")
    ] = ()
    routing: Annotated[
        str | None,
        option("As in `hocket simulate`; a message takes one of several paths.", known="hocket.topology:ROUTINGS"),
    ] = None
    packets: Annotated[
        str | None, option("As in `hocket simulate`: buffer=128KiB,flow=credits,...", metavar="NAME=VALUE,...")
    ] = None
    json: Annotated[str | None, output("Write all points here.")] = None
    csv: Annotated[str | None, output("Write the rows of the loads here.")] = None
    report: Annotated[str | None, output("Write a page of figures here (.html).")] = None
