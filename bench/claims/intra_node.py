"""Claims D: interference of intra-node and inter-node traffic, in packets; what is arithmetic is computed again."""

from collections.abc import Mapping
from functools import cache

from hocket.base.units import parse_bandwidth
from hocket.bench.claims.claim import Claim, ClaimStatus, Figures
from hocket.bench.intra_inter_node import Fabric
from hocket.bench.intra_inter_node import measured as throughput

__all__ = ["CLAIMS"]

_PACKETS = "needs packets, credits and finite queues: not set up in the packet model yet"
_FITTED = "what a NIC takes to split a packet is not published: one constant, 8.26 ns, for all of these"
_MICROSECONDS = 200
_INTER = {"C1": 0.20, "C2": 0.15, "C3": 0.10, "C4": 0.05}
_OVERHEAD = (20 / 128 + 1) / (64 / 4032 + 1)


def _link_rates() -> Figures:
    lanes, infiniband = 16 * 8e9, parse_bandwidth("100Gbit/s")
    return {
        "PCIe, Gbit/s": lanes / 1e9,
        "PCIe, GB/s": lanes / 8 / 1e9,
        "PCIe after 128b/130b, Gbit/s": lanes * 128 / 130 / 1e9,
        "EDR after 64b/66b, GB/s": infiniband * 64 / 66 / 1e9,
    }


def _unit_of_table_1() -> Figures:
    """The largest bandwidth of the table in GB/s, were it GiB/s; what the link carries; and what its latency says."""
    return {
        "12.09 GiB/s in GB/s": parse_bandwidth("12.09GiB/s") / 1e9,
        "EDR after 64b/66b": _link_rates()["EDR after 64b/66b, GB/s"],
        "4 MiB in 345.97 us": 2**22 / 345.97e-6 / 1e9,
    }


@cache
def _throughput(pattern: str, gbits: int, *, converts: bool = True) -> float:
    """Per cent of the peak of 32 nodes of 8 accelerators at full load; `converts`: packets of 148 B inside nodes."""
    part = _INTER.get(pattern, 0.0)
    return 100 * throughput(Fabric(32, 8), gbits, part, 1.0, converts, _MICROSECONDS * 10**6)


def _per_nic() -> Figures:
    return {pattern: 8 * 128 * share for pattern, share in _INTER.items()}


def _scale_out() -> Figures:
    """Equation 3 with its own constant, and with the one that the numbers come from."""
    found = {}
    for name, nodes in (("configuration 2", 128), ("configuration 4", 512)):
        found[name] = 15703.9 / (1.14 * 20) * nodes
        found[f"{name} with 16384"] = 16384 / (1.14 * 20) * nodes
    return found | {"share, %": 100 * 15703.9 / (1.14 * 20) / 4096, "leaves a node": _leaving(512, 8, "C1", 0.1754)}


def _leaving(gbit_per_second: int, accelerators: int, pattern: str, load: float) -> float:
    """Gbit/s that the accelerators of a node send to other nodes."""
    return gbit_per_second * accelerators * _INTER[pattern] * load


def _packet(
    number: int, where: str, claim: str, because: str = "", leaving: Mapping[str, float] | None = None
) -> Claim:
    """A claim that needs packets; `leaving`: what leaves a node where the paper says that the network saturates."""
    return Claim(
        id=f"D{number}",
        where=where,
        claim=claim,
        setup="what leaves a node at the published saturation" if leaving else "none yet",
        unit="Gbit/s" if leaving else "",
        measure=(lambda: leaving) if leaving else None,
        unresolved=ClaimStatus.NOT_YET,
        because=_PACKETS + because,
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="D1",
        where="sections 3.2, 4.1",
        claim="PCIe 3.0 x16: 128 Gbit/s or 16 GB/s, 126 Gbit/s of data; EDR: 12.12 GB/s of data",
        setup="lanes x rate x encoding",
        published={
            "PCIe, Gbit/s": "128",
            "PCIe, GB/s": "16",
            "PCIe after 128b/130b, Gbit/s": "126",
            "EDR after 64b/66b, GB/s": "12.12",
        },
        measure=_link_rates,
    ),
    Claim(
        id="D2",
        where="equation 1",
        claim="a message's latency is TLPs x TLPTime + ACKs x DLLPTime",
        setup="BytesPerNs of equation 1 for 16 lanes of 8 Gbit/s",
        measure=lambda: {"equation 1": 16 * 8 * 128 / 130, "bytes per ns": 16 * 128 / 130},
        unresolved=ClaimStatus.NOT_SPECIFIED,
        because="sizes of the overheads and AckFactor are not said; and with a data rate in Gbit/s, as the text has it,"
        " equation 1 gives bits per ns: an eighth of it, 15.75, are bytes",
    ),
    Claim(
        id="D3",
        where="table 1",
        claim="bandwidth of ib_read, ib_write, ib_send up to 12.09 GiB/s, latency to 345.97 us, over EDR",
        setup="the unit of the table against the link",
        measure=_unit_of_table_1,
        holds=lambda found: found["12.09 GiB/s in GB/s"] <= found["EDR after 64b/66b"],
        because="12.09 GiB/s are 12.98 GB/s, more than the 12.12 GB/s that the link carries: the table is in GB/s. The"
        " measurements themselves need that cluster",
    ),
    _packet(4, "figure 7", "simulated ib_write bandwidth virtually equal to the measured, latency of the same trend"),
    Claim(
        id="D5",
        where="section 3.5",
        claim="largest load of 32 nodes: 131 072 Gbit/s",
        setup="512 Gbit/s x 8 accelerators x 32 nodes",
        published={"load": "131072"},
        unit="Gbit/s",
        measure=lambda: {"load": 512 * 8 * 32},
    ),
    Claim(
        id="D6",
        where="figure 4a",
        claim="C4: saturation at 70 % load with packets of 148 B; 126 000 Gbit/s or 96 % with 4096 B",
        setup="packet model, 200 us at full load: throughput over the peak, which is the load of saturation for 148 B",
        published={"148 B, %": "70", "4096 B, %": "96"},
        tolerance=0.05,
        measure=lambda: {
            "148 B, %": _throughput("C4", 512),
            "4096 B, %": _throughput("C4", 512, converts=False),
            "packets in a packet": 4032 // 148,
            "leaves a node at saturation": _leaving(512, 8, "C4", 0.7),
        },
        because=_FITTED + ". The paper's 4032/128 = 32 packets in a packet leaves out their headers: 27 of 148 B fit",
    ),
    Claim(
        id="D7",
        where="figure 4b",
        claim="C5: no loss for either packet size",
        setup="packet model, 200 us at full load: throughput over the peak",
        unit="%",
        measure=lambda: {
            "148 B": _throughput("C5", 512),
            "4096 B": _throughput("C5", 512, converts=False),
        },
        holds=lambda found: min(found.values()) > 90,
        because="without inter-node traffic little is lost at full load, to messages that meet at a port by chance",
    ),
    _packet(8, "figure 5", "C4: latency up to 58 us (148 B) and 3.7 us (4096 B)"),
    Claim(
        id="D9",
        where="equation 2",
        claim="overhead factor 1.15625 / 1.01587 = 1.14",
        setup="headers over payloads, 20/128 and 64/4032",
        published={"148 B": "1.15625", "4096 B": "1.01587", "factor": "1.14"},
        measure=lambda: {"148 B": 20 / 128 + 1, "4096 B": 64 / 4032 + 1, "factor": _OVERHEAD},
    ),
    Claim(
        id="D10",
        where="equation 3",
        claim="throughput is 15703.9 / (1.14 x inter-node %) x nodes; the power law is the best of 4 fits",
        setup="equation 3 for 32 nodes, over the largest load of 131 072 Gbit/s",
        measure=lambda: {
            f"{pattern}, of the load": 15703.9 / (_OVERHEAD * 100 * share) * 32 / 131_072
            for pattern, share in _INTER.items()
        },
        unresolved=ClaimStatus.NOT_YET,
        because="the fit needs the simulated points. It has no cap: below 3.4 % of inter-node traffic it gives more"
        " than all accelerators send",
    ),
    Claim(
        id="D11",
        where="figure 9",
        claim="C1 saturates at 60, 30, 10 % load for 128, 256, 512 Gbit/s; arbitration negligible",
        setup="packet model, 200 us at full load: throughput over the peak, which is the load of saturation",
        published={"128 Gbit/s": "60", "256 Gbit/s": "30", "512 Gbit/s": "10"},
        unit="%",
        tolerance=0.1,
        measure=lambda: {f"{gbits} Gbit/s": _throughput("C1", gbits) for gbits in (128, 256, 512)},
        holds=lambda found: found["128 Gbit/s"] > 1.5 * found["256 Gbit/s"] > 2 * found["512 Gbit/s"],
        because=_FITTED
        + ". The last is 17.5 % by the paper's own D17; loads are steps of 10 %. What leaves a node there"
        " is 82 to 144 Gbit/s in D6, D11, D16 and D17 alike, whatever the links",
    ),
    _packet(12, "figure 10", "age-based arbitration has 20 % more aggregated latency under saturation"),
    Claim(
        id="D13",
        where="figure 11",
        claim="throughput without saturation: 819.2, 8192, 16 384, 32 768 Gbit/s for 1, 2, 4, 8 accelerators",
        setup="what the accelerators send: 32 nodes x 128 Gbit/s; of one accelerator, a fifth",
        published={"1": "819.2", "2": "8192", "4": "16384", "8": "32768"},
        unit="Gbit/s",
        measure=lambda: {"1": 32 * 128 * _INTER["C1"], **{str(count): 32 * 128 * count for count in (2, 4, 8)}},
        because="that these loads are carried without saturation waits for the packet model",
    ),
    Claim(
        id="D14",
        where="figure 11d",
        claim="inter-node traffic of a NIC: C4 51.2, C3 102.4 fit into 128 Gbit/s; C2 153.6, C1 204.8 do not",
        setup="8 accelerators of 128 Gbit/s by the patterns' shares",
        published={"C4": "51.2", "C3": "102.4", "C2": "153.6", "C1": "204.8"},
        unit="Gbit/s",
        measure=_per_nic,
        holds=lambda found: found["C3"] < 128 < found["C2"],
        because="that the first two are carried without loss waits for the packet model",
    ),
    _packet(
        15,
        "figure 12",
        "256 Gbit/s: saturation with 4 accelerators at C2",
        because=". 153.6 Gbit/s, as in D14, over a link of 256",
        leaving={"at full load": _leaving(256, 4, "C2", 1.0)},
    ),
    _packet(
        16,
        "figure 13",
        "512 Gbit/s: saturation with 2 accelerators at 60 % load of C1",
        because=". It is over links of 512 and 400",
        leaving={"at 60 % load": _leaving(512, 2, "C1", 0.6)},
    ),
    Claim(
        id="D17",
        where="section 4.5",
        claim="C1: 91 980 of 524 288 and 367 921 of 2 097 152 Gbit/s, both 17.54 %",
        setup="equation 3 with 15703.9 as it is printed, and with 16384",
        published={"configuration 2": "91980", "configuration 4": "367921", "share, %": "17.54"},
        measure=_scale_out,
        because="the numbers come from 16384 in place of equation 3's own 15703.9, which gives 88 162 and 352 649"
        " Gbit/s, 16.82 %; and table 3 has 1204 where 128 nodes have 1024 accelerators",
    ),
    _packet(18, "figures 15, 16", "packets of 4 KiB remove the collapse; more nodes do not change it"),
)
