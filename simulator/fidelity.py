"""How closely a simulation looks: one argument of every simulation."""

from dataclasses import dataclass
from fractions import Fraction

from hocket.base.errors import SimulationError
from hocket.simulator.models import LinkSetting, Model, Queueing, Switching, per_link, setting_name
from hocket.simulator.packets import Packets
from hocket.topology import FabricRouting, Topology, routing_of

__all__ = ["STANDARD", "Fidelity"]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The network model (a name of `Model`); how nodes pass messages on, and whom links serve next (a value for all
    links or one for each class of links, `Topology.classes`); which paths messages take (`hocket.topology.routings`;
    None: as the topology routes); how many times as long a rank computes while it
    communicates. Whether to record what every link did when (for timelines), in about how many bins of time (even; 0:
    none) how busy it was, in constant memory, and what collectives take without any bytes (CollectiveTime.regime).
    Whether one rank may stand for all where all do alike (exact; it saves time and memory). How packets are (None: as
    by default, of models packet and ns3 alone).

    Raises SimulationError for an unknown model, a slowdown below 1, and an odd number of bins.
    """

    model: str = Model.CONGESTION
    switching: LinkSetting = Switching.CUT_THROUGH
    queueing: LinkSetting = Queueing.FIFO
    overlap_slowdown: Fraction = Fraction(1)
    record_links: bool = False
    link_bins: int = 0
    latencies: bool = False
    fold: bool = True
    routing: str | None = None
    packets: Packets | None = None

    def __post_init__(self) -> None:
        if self.model not in set(Model):
            raise SimulationError(f"unknown model '{self.model}'; there are {', '.join(Model)}")
        if self.link_bins < 0 or self.link_bins % 2:
            raise SimulationError(f"link_bins must be even and not negative, got {self.link_bins}")
        if self.packets is not None and self.model not in (Model.PACKET, Model.NS3):
            raise SimulationError(f"settings of packets are for models packet and ns3, {self.model} has none")
        slowdown = self.overlap_slowdown
        if slowdown < 1 or slowdown.numerator >= 2**31:
            raise SimulationError(
                f"overlap_slowdown {slowdown}: expected a fraction of at least 1, of integers below 2^31"
            )

    def shares_links(self, topology: Topology) -> bool:
        """Whether links may be at several messages at a time, so that bounds in slots of messages do not hold: by the
        model, or since a link is wider than all ways to it from ranks, or from it to ranks. A transfer of a schedule is
        on all its links for as long as the slowest takes, a message of a simulation on each only for its own time."""
        if self.model in (Model.ANALYTICAL, Model.FLOW, Model.PACKET, Model.NS3):
            return True
        _, fastest = topology.transfer_rates
        return bool(((fastest > 0) & (fastest < topology.bandwidth)).any())

    @property
    def may_fold(self) -> bool:
        """Whether one rank may stand for others that do alike: of packets not, whose inputs take turns at a switch."""
        return self.fold and self.model not in (Model.PACKET, Model.NS3)

    @property
    def bins_links(self) -> bool:
        """Whether there will be a record of how busy links were over time: ns-3's program keeps none."""
        return self.link_bins > 0 and self.model != Model.NS3

    def routed(self, topology: Topology) -> FabricRouting:
        """How messages are routed. Raises TopologyError for a routing that is none for the topology."""
        # What is not contended for needs no second way, and ASTRA-sim, whose model that is, knows none.
        alone = self.routing is None and self.model == Model.UNCONTENDED
        return routing_of(topology, "shortest" if alone else self.routing)

    def check(self, topology: Topology) -> None:
        """Raises SimulationError for a switching, queueing or class of links that the topology or the model has not,
        and TopologyError for a routing that is none for the topology."""
        self.routed(topology)
        per_link(self.switching, Switching, topology)
        if per_link(self.queueing, Queueing, topology).any() and self.model != Model.CONGESTION:
            raise SimulationError(
                f"queueing {setting_name(self.queueing)}: disciplines are for congestion, {self.model} has no queues"
            )


#: What simulations take unless told otherwise.
STANDARD = Fidelity()
