"""What is to be fitted to which measurements."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.request import Request

__all__ = ["CalibrationRequest"]

_Topology = Annotated[
    str | None,
    output("Write the calibrated topology (.yaml), its protocols beside it; with --kernels the accelerator.", "-o"),
]

_Page = Annotated[str | None, output("Write a page of predicted against measured here (.html).")]

_Json = Annotated[str | None, output("Write what was measured, and what fits it, here as JSON.")]


class CalibrationRequest(Request, frozen=True, kw_only=True, tag="calibrate"):
    """Fit latencies, bandwidths and protocols to measurements, and say which disagree with the topology."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket calibrate all_reduce-1node.txt all_reduce-2nodes.txt --topology dgx-h100:nodes=2 -o calibrated.yaml"
        " --report calibration.html",
        "hocket calibrate nccl.json --holdout sizes",
        "hocket calibrate --kernels rank0.json.gz --accelerator h100 -o h100-here.yaml",
        "hocket calibrate ring.json direct.json --runtime device -t switch:4,bandwidth=10GB/s,latency=0ns -o here.yaml",
        "hocket calibrate two-rows.csv -t dgx-h100:nodes=2 --predict-nodes 64 --plan",
    )

    files: Annotated[
        tuple[str, ...],
        argument(
            "Output of nccl-tests or rccl-tests (text, JSON), perftest, OSU, hocket run or replay --json; CSV.",
            "FILE...",
        ),
    ] = ()
    topology: Annotated[
        str | None,
        option("The cluster as it should be; compared, corrected.", "--topology", "-t", metavar="SPEC|FILE"),
    ] = None
    output: _Topology = None
    by: Annotated[
        str | None, option("Collective that the topology is to predict; default all_reduce, if measured.")
    ] = None
    holdout: Annotated[
        str | None,
        option(
            "Cross-validate: fit every other size, or the other counts of nodes.",
            choices="hocket.calibration.validation:BY",
        ),
    ] = None
    nccl: Annotated[
        str | None, option("NCCL's topology XML, or a preset: fit what NCCL ran, too.", metavar="MACHINE")
    ] = None
    settings: Annotated[
        tuple[str, ...],
        option("With --nccl: a variable of NCCL's environment as measured.", "--set", metavar="NAME=VALUE"),
    ] = ()
    collective: Annotated[str | None, option("What was measured, for files that do not say it.", "-c")] = None
    ranks: Annotated[int | None, option("Ranks, for files without them.", "-n", ge=2)] = None
    nodes: Annotated[int | None, option("Nodes, for files without them.", ge=1)] = None
    predict_nodes: Annotated[
        tuple[int, ...],
        option("Predict NCCL's times on N nodes like those of --topology, too (repeatable).", ge=1, metavar="N"),
    ] = ()
    plan: Annotated[bool, option("Say which few runs would help most; files are not needed for that.")] = False
    kernels: Annotated[
        tuple[str, ...],
        option(
            "A PyTorch profile with shapes: fit what multiplications reach, write -o for --accelerator (repeatable).",
            metavar="PROFILE",
        ),
    ] = ()
    accelerator: Annotated[
        str | None,
        option(
            "With --kernels: what computed; what the profile says by default.",
            known="hocket.workload.accelerators:ACCELERATORS",
        ),
    ] = None
    precision: Annotated[
        str,
        option("With --kernels: of its multiplications.", choices="hocket.workload.accelerators:Precision"),
    ] = "bf16"
    runtime: (
        Annotated[
            str,
            option(
                "Fit what this runtime's kernels take to runs of programs (hocket run FILE --json) on one node.",
                choices="hocket.translator.targets:RUNTIMES",
            ),
        ]
        | None
    ) = None
    partial: Annotated[bool, option("Take the lines of a run that was cut off.")] = False
    report: _Page = None
    json: _Json = None
