"""What the page of synthetic traffic shows, as the JSON of `hocket traffic` has it."""

from typing import Annotated

import msgspec

from hocket.simulator.offered_traffic import STAGES, TrafficPoint, TrafficSetup
from hocket.simulator.packets import Latencies
from hocket.simulator.traffic_sweep import ClassUse, Saturation, TrafficSweep, class_uses

__all__ = ["LatencyFacts", "PointFacts", "TrafficFacts", "traffic_facts"]

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_Rate = Annotated[float, msgspec.Meta(ge=0, lt=1e30)]


class LatencyFacts(msgspec.Struct, frozen=True):
    """Latencies of `messages`: their mean, percentiles and the longest, in picoseconds."""

    messages: _Count
    mean_ps: _Rate
    p50_ps: _Count
    p99_ps: _Count
    p999_ps: _Count = msgspec.field(name="p99.9_ps")
    most_ps: _Count


class BothLatencies(msgspec.Struct, frozen=True):
    """Of messages within nodes (`intra`) and between them (`inter`)."""

    intra: LatencyFacts
    inter: LatencyFacts


class ClassesOverTime(msgspec.Struct, frozen=True):
    """How busy the links of each class are, the mean of them in bins of `bin_ps`: 0 to 1."""

    bin_ps: Annotated[int, msgspec.Meta(ge=1, lt=2**62)]
    classes: dict[str, list[_Rate]]


class PointFacts(msgspec.Struct, frozen=True):
    """A load or a window: `TrafficPoint` without what single links do. Payload in bytes/s."""

    load: _Rate | None
    window: _Count | None
    throughput: _Rate
    mean_ps: _Rate
    intra_bandwidth: _Rate
    inter_bandwidth: _Rate
    latency: BothLatencies
    stages: dict[str, LatencyFacts]
    classes: Annotated[list[ClassUse], msgspec.Meta(min_length=1)]
    utilisation: ClassesOverTime
    packet_hops: _Count
    dropped_packets: _Count


class TrafficFacts(msgspec.Struct, frozen=True):
    """A sweep: the topology's name and `ranks`, what all senders can send together (bytes/s), a point a load."""

    topology: str
    ranks: _Count
    routing: str
    setup: TrafficSetup
    senders_bandwidth: _Rate
    saturation: Saturation | None
    points: Annotated[list[PointFacts], msgspec.Meta(min_length=1)]

    @property
    def is_open(self) -> bool:
        """Whether it is over loads, not over messages under way."""
        return self.points[0].load is not None


def traffic_facts(sweep: TrafficSweep) -> TrafficFacts:
    """Those of a sweep."""
    topology, traffic = sweep.topology, sweep.traffic
    return TrafficFacts(
        topology=topology.name,
        ranks=topology.num_ranks,
        routing=traffic.routing.name,
        setup=traffic.setup,
        senders_bandwidth=float(traffic.rates.sum()),
        saturation=sweep.saturation,
        points=[_point(sweep, point) for point in sweep.points],
    )


def _point(sweep: TrafficSweep, point: TrafficPoint) -> PointFacts:
    topology = sweep.topology
    over_time = {
        name: point.utilisation[topology.link_class == number].mean(axis=0).tolist()
        for number, name in enumerate(topology.classes)
        if (topology.link_class == number).any()
    }
    return PointFacts(
        load=point.load,
        window=point.window,
        throughput=point.throughput,
        mean_ps=point.mean_ps,
        intra_bandwidth=point.near_bandwidth,
        inter_bandwidth=point.far_bandwidth,
        latency=BothLatencies(_latencies(point.near), _latencies(point.far)),
        stages={name: _latencies(part) for name, part in zip(STAGES, point.parts, strict=True)},
        classes=class_uses(topology, point),
        utilisation=ClassesOverTime(point.bin_ps, over_time),
        packet_hops=point.packet_hops,
        dropped_packets=point.dropped,
    )


def _latencies(found: Latencies) -> LatencyFacts:
    middle, most_of_them, nearly_all = (found.percentile_ps(percent) for percent in (50.0, 99.0, 99.9))
    return LatencyFacts(found.total, found.mean_ps, middle, most_of_them, nearly_all, found.most_ps)
