"""What a simulation is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.parts import AcceptLosses, CostsFile
from hocket.api.request import Part, Request

__all__ = [
    "AstraFiles",
    "Disturbances",
    "FidelityOptions",
    "JobOnTopology",
    "JobOptions",
    "NcclOptions",
    "PredictionOutputs",
    "Simulation",
]


class FidelityOptions(Part, frozen=True, kw_only=True):
    """How closely to look: `hocket.simulator.Fidelity` in words."""

    model: Annotated[
        str | None,
        option(
            "The network model: congestion by default, with --compat analytical.",
            known="hocket.simulator.models:NETWORK_MODELS",
        ),
    ] = None
    switching: Annotated[
        tuple[str, ...], option("cut_through (default) or store_and_forward, of all links or CLASS=VALUE.")
    ] = ()
    queueing: Annotated[
        tuple[str, ...], option("fifo (default), lifo, priority or smallest_remaining, of all links or CLASS=VALUE.")
    ] = ()
    routing: Annotated[
        str | None,
        option(
            "Which shortest paths messages take: shortest, parallel, ecmp[:seed=N], spray, d_mod_k, dimension_order,"
            " adaptive; as the topology says by default.",
            known="hocket.topology:ROUTINGS",
        ),
    ] = None
    packets: Annotated[
        str | None,
        option(
            "Of model packet (of ns3 mtu, header): mtu=4096,header=82,train=1,buffer=128KiB,"
            "flow=pfc|credits|bubble|none,arbitration=round_robin|age|fifo,channels=N,ecn=on,kmin=,kmax=,pmax=,"
            "retransmit=,seed=; of links of a class pcie=pcie3x16, pcie.mtu=256, pcie.split=8ns.",
            metavar="NAME=VALUE,...",
        ),
    ] = None
    overlap_slowdown: Annotated[str, option("Factor on computation while its rank communicates: 1.15.")] = "1"


class NcclOptions(Part, frozen=True, kw_only=True):
    """What stock NCCL sees, for algorithms that are its own."""

    nccl_machine: Annotated[
        str | None,
        option("One node as NCCL sees it (topology XML, preset), where --topology does not say."),
    ] = None
    nccl_set: Annotated[tuple[str, ...], option("A variable of NCCL's environment.", metavar="NAME=VALUE")] = ()
    nccl_version: Annotated[str, option("NCCL release: 2.27 to 2.31.", metavar="VERSION")] = "2.30.7"


class Disturbances(Part, frozen=True, kw_only=True):
    """What is not as it should be."""

    degrade: Annotated[
        tuple[str, ...], option("Fraction of the bandwidth that remains: link:3-4=0.5.", metavar="WHAT=PART")
    ] = ()
    late: Annotated[
        tuple[str, ...],
        option("A rank that arrives later at the call of a program, or of NCCL.", metavar="RANK=TIME"),
    ] = ()
    traffic: Annotated[
        tuple[str, ...], option("Other traffic that begins with such a call: 0-9=64MiB.", metavar="RANK-RANK=SIZE")
    ] = ()


class JobOptions(Part, frozen=True, kw_only=True):
    """What is said of a job whose traces are simulated."""

    compute_scale: Annotated[str, option("Multiplies recorded computation times: 0.02, 1/50.")] = "1"
    accelerator: Annotated[
        str | None,
        option(
            "Prices computations without a duration: a published one, or peak=989TFLOP/s,memory=3.35TB/s; the"
            " --topology's GPUs by default; none: they take no time.",
            known="hocket.workload.accelerators:ACCELERATORS",
        ),
    ] = None
    reprice: Annotated[bool, option("Also price computation with a recorded duration, where its work is known.")] = (
        False
    )
    remote_memory: Annotated[
        str | None, option("Memory that memory nodes access: latency=1us,bandwidth=100GB/s[,ranks=8|all].")
    ] = None
    placement: Annotated[
        str | None, option("Topology rank of each trace rank: 3,1,2,0, a file with such, or round_robin.")
    ] = None
    groups: Annotated[
        str | None,
        option(
            "Process groups of the traces; comm_groups.json by default.", "--groups", "--comm-groups", metavar="FILE"
        ),
    ] = None
    accept_losses: AcceptLosses = False


class PredictionOutputs(Part, frozen=True, kw_only=True):
    """Where to write what."""

    json: Annotated[str | None, output("Write the prediction here.")] = None
    timeline: Annotated[str | None, output("Write a timeline for ui.perfetto.dev here (.json, .json.gz).")] = None
    timeline_ranks: Annotated[
        str | None,
        option("Of --timeline: these, such as 0-7, or all; by default as many as 20 MB hold.", metavar="RANKS|all"),
    ] = None
    timeline_time: Annotated[str | None, option("Of --timeline: from A up to B: 10ms:20ms.", metavar="A:B")] = None
    timeline_links: Annotated[
        str | None,
        option(
            "Of --timeline: links of a class (nvlink,nic) or by number (0-7), all or none; by default the busiest, as"
            " many as 20 MB hold.",
            metavar="LINKS|all|none",
        ),
    ] = None
    tables: Annotated[
        str | None, output("Write tables to this folder: collectives, ranks, links, ... (CSV).", metavar="DIR")
    ] = None
    parquet: Annotated[bool, option("The tables as Parquet too (needs pyarrow).")] = False
    csv: Annotated[str | None, output("Write the rows of several sizes here.")] = None
    report: Annotated[str | None, output("Write a report here (.html).")] = None


class AstraFiles(Part, frozen=True, kw_only=True):
    """ASTRA-sim's files and command-line options, by its names."""

    compat: Annotated[
        str | None, option("astra-sim: its exact result, from its own files, which the next options name.")
    ] = None
    network: Annotated[str | None, option("ASTRA-sim's network YAML.", metavar="FILE")] = None
    system: Annotated[str | None, option("ASTRA-sim's system JSON.", metavar="FILE")] = None
    memory: Annotated[str | None, option("ASTRA-sim's remote-memory JSON; none by default.", metavar="FILE")] = None
    num_queues_per_dim: Annotated[int, option("ASTRA-sim's option.", ge=1, le=1024)] = 1
    injection_scale: Annotated[float, option("ASTRA-sim's option.", ge=0, le=1e9)] = 1.0
    rendezvous_protocol: Annotated[bool, option("ASTRA-sim's option.")] = False


class Simulation(Request, frozen=True, kw_only=True, tag="simulate"):
    """Predict the time of traces, a schedule, a program or a collective, and how far it is from the lower bound."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket simulate traces/ --topology dgx-h100:nodes=2 --timeline step.json.gz",
        "hocket simulate traces/ --topology dgx-h100:nodes=2 --tables tables/ --report report.html",
        "hocket simulate ar.schedule",
        "hocket simulate ar.xml --topology dgx-a100 --size 64MiB --runtime executor",
        "hocket simulate all_reduce --size 1KiB..1GiB:4 --topology dgx-h100:nodes=2",
        "hocket simulate all_reduce --size 1KiB..1GiB:4 --topology dgx-h100:nodes=2 --algorithm ring --algorithm auto",
        "hocket simulate all_reduce --size 1KiB..1GiB:4 --topology nccl:machine.xml,nodes=2 --algorithm nccl",
        "hocket simulate all_reduce --size 64MiB --topology a3-mega:nodes=2 --times measured",
        "hocket simulate all_reduce --size 1KiB..1MiB:4 --topology dgx-h100:gpus=4 --times hocket-selftest.zip",
        "hocket simulate all_reduce -s 64MiB -t ring:8,bandwidth=50GB/s,latency=500ns --algorithm ring",
        "hocket simulate traces/all_reduce --compat astra-sim --network network.yml --system system.json --json -",
    )

    what: Annotated[
        str,
        argument(
            "A folder or prefix of traces, a .schedule, a program (.xml, .json), a kind of collective, or sendrecv.",
            "WHAT",
        ),
    ]
    topology: Annotated[
        tuple[str, ...],
        option("Spec, preset or file; several to compare them.", "-t", metavar="SPEC|FILE", positional=True),
    ] = ()
    size: Annotated[
        str | None,
        option("Size of a collective, as nccl-tests counts it: 64MiB, or sizes: 1KiB..1GiB:4.", "-s", positional=True),
    ] = None
    fidelity: FidelityOptions = FidelityOptions()
    algorithm: Annotated[
        tuple[str, ...],
        option(
            "KIND=NAME, or NAME for a collective: library (default: the topology's own), a native one, auto,"
            " a .schedule file, or what stock NCCL does: nccl, or nccl:ring/ll128/4 (channels); nccl-model: the time"
            " that NCCL's model says.",
            known="hocket.simulator.algorithm_choice:algorithm_names",
        ),
    ] = ()
    library: Annotated[
        str | None,
        option(
            "Whose collectives run: nccl, the default where --topology names NVIDIA's nodes; none: those"
            " of the pure network.",
            choices="hocket.api.simulate.library:CollectiveLibrary",
        ),
    ] = None
    times: Annotated[
        str | None,
        option(
            "Times of a collective that NCCL runs: nccl, its model's (default); measured, from public tables of similar"
            " nodes, with 90 % intervals. Of any collective: a file of measurements, as calibrate reads it.",
            metavar="nccl|measured|FILE",
        ),
    ] = None
    nccl: NcclOptions = NcclOptions()
    disturbances: Disturbances = Disturbances()
    chunks: Annotated[int, option("Chunks per rank that native algorithms cut a buffer into.", ge=1)] = 1
    root: Annotated[int, option("Root of a collective that has one (default 0); of a program: found.", ge=0)] | None = (
        None
    )
    runtime: Annotated[
        str | None,
        option(
            "Who runs the program: its slots and slices; of device and mscclpp also what their kernels take. By"
            " default the one that its file names, else executor.",
            choices="hocket.translator.targets:RUNTIMES",
        ),
    ] = None
    costs: CostsFile = None
    job: JobOptions = JobOptions()
    outputs: PredictionOutputs = PredictionOutputs()
    astra: AstraFiles = AstraFiles()


class JobOnTopology(Part, frozen=True, kw_only=True):
    """Traces of a job, and where and how they are simulated, for what is made of that."""

    traces: Annotated[str, argument("A folder or prefix of traces, or a generated NAME.job.", "TRACES")]
    topology: Annotated[str, option("Spec, preset or file: where it runs.", "-t", metavar="SPEC|FILE", positional=True)]
    fidelity: FidelityOptions = FidelityOptions()
    algorithm: Annotated[
        tuple[str, ...],
        option(
            "KIND=NAME or one NAME for all, as simulate takes it; the topology's library by default.",
            known="hocket.simulator.algorithm_choice:algorithm_names",
        ),
    ] = ()
    library: Annotated[
        str | None,
        option("Whose collectives run: nccl or none.", choices="hocket.api.simulate.library:CollectiveLibrary"),
    ] = None
    nccl: NcclOptions = NcclOptions()
    chunks: Annotated[int, option("Chunks per rank that native algorithms cut a buffer into.", ge=1)] = 1
    job: JobOptions = JobOptions()

    def simulation(self) -> Simulation:
        """The simulation of just that."""
        return Simulation(
            what=self.traces,
            topology=(self.topology,),
            fidelity=self.fidelity,
            algorithm=self.algorithm,
            library=self.library,
            nccl=self.nccl,
            chunks=self.chunks,
            job=self.job,
        )
