"""All that Hocket does, by the words of its command: the request that asks for it. A new verb is one folder and a line
here; the command, the function of `import hocket` and the reference of all flags come from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket.api.request import Request

__all__ = ["VERBS", "Verb"]


@dataclass(frozen=True, slots=True)
class Verb:
    """The words of a command, its request (`folder:Class`: the class is in `hocket.api.<folder>.request`), and what is
    said of it in a line."""

    words: str
    target: str
    summary: str

    @property
    def function(self) -> str:
        """Its name in `import hocket`."""
        return self.words.replace(" ", "_").replace("-", "_")

    @property
    def request_name(self) -> str:
        return self.target.partition(":")[2]

    def request(self) -> "type[Request]":
        """The request's class; imported now."""
        folder, _, name = self.target.partition(":")
        found: type[Request] = getattr(import_module(f"hocket.api.{folder}.request"), name)
        return found


_VERBS = (
    Verb("demo", "demo:Demo", "Do the whole chain once on a small training job."),
    Verb("doctor", "doctor:InstallationCheck", "Check the installation, and what each missing extra would add."),
    Verb("selftest", "selftest:SelfTest", "Test what works on this machine, and write one file to send back."),
    Verb("collect", "collect:CollectionRequest", "Record a job's collectives as Chakra traces."),
    Verb("collect build", "collect:HookBuild", "Compile the collector's fast hook, once."),
    Verb("collect merge", "collect:CollectedMerge", "Merge the streams of a job into traces and a summary."),
    Verb("collect metrics", "collect:CollectionMetrics", "Serve metrics of a running job: Prometheus, OTLP."),
    Verb("collect trigger", "collect:CollectionTrigger", "Ask a running job to record a window of steps."),
    Verb("collect watch", "collect:CollectionWatch", "Say what a running job waits for when it hangs."),
    Verb("launch", "launch:Launch", "Run an MPI job whose collectives are served by programs."),
    Verb("replay", "replay:Replay", "Replay a trace's communication, and compare measured with predicted times."),
    Verb("trace info", "trace:TraceInfo", "Count what traces hold."),
    Verb("trace validate", "trace:TraceValidation", "Check whether traces are complete and consistent."),
    Verb("trace convert", "trace:TraceConversion", "Write traces for another reader."),
    Verb("trace to-json", "trace:TraceText", "Print every field of a trace as JSON lines."),
    Verb("trace import", "trace:TraceImport", "Turn what other tools recorded into Chakra traces."),
    Verb("trace complete", "trace:TraceComplete", "Make a whole job of the traces of some ranks."),
    Verb("trace merge", "trace:TraceMerge", "Write traces from several places as those of one job."),
    Verb("trace combine", "trace:TraceCombination", "Write several jobs as one set of traces that share a network."),
    Verb("trace slice", "trace:TraceSlice", "Write a part of traces: steps, nodes, times or ranks."),
    Verb("trace diff", "trace:TraceDiff", "Say how two runs communicate differently."),
    Verb("trace anonymize", "trace:TraceAnonymization", "Write traces without names."),
    Verb("trace timeline", "trace:TraceTimeline", "Write measured or predicted times for ui.perfetto.dev."),
    Verb("trace graph", "trace:TraceGraph", "Write the dependency graph of a trace."),
    Verb("generate collective", "generate:CollectiveGeneration", "Make traces of a collective, or a ring of messages."),
    Verb("generate inference", "generate:InferenceGeneration", "Make traces of serving with a language model."),
    Verb("generate network", "generate:NetworkGeneration", "Make traces of training a layered network."),
    Verb("generate llm", "generate:LlmGeneration", "Make traces of a step of training a large language model."),
    Verb("extrapolate", "extrapolate:Extrapolation", "Extrapolate a small job's traces to a larger job."),
    Verb("topology show", "topology:TopologyShow", "Print what a topology is like, and draw it."),
    Verb("topology save", "topology:TopologySave", "Write a topology as YAML, or a node as NCCL's XML."),
    Verb("topology routes", "topology:TopologyRoutes", "Print routing tables, and check reach, loops and balance."),
    Verb("topology check", "topology:TopologyCheck", "Say whether a topology is right, or what is wrong."),
    Verb("simulate", "simulate:Simulation", "Predict times of traces, schedules and collectives."),
    Verb(
        "traffic", "traffic:SyntheticTraffic", "Simulate synthetic traffic with the packet model, over offered loads."
    ),
    Verb("step", "step:StepReport", "Show where a training step's time goes, and what would shorten it."),
    Verb("validate", "validate:JobValidation", "Compare a recorded job with its prediction."),
    Verb("sweep", "sweep:Sweep", "Simulate a grid of what-ifs, over collectives or plans of jobs; resumable."),
    Verb("sweep plot", "sweep:SweepPlot", "Draw a sweep's results: curves, heat maps, Pareto fronts."),
    Verb("compare", "compare:Comparison", "Compare two predictions."),
    Verb("view", "view:ResultView", "Show a folder of results in a browser."),
    Verb("synthesize", "synthesize:Synthesis", "Synthesize a collective schedule for a topology."),
    Verb("verify", "verify:Verification", "Prove a schedule or an MSCCL XML correct."),
    Verb("translate", "translate:Translation", "Turn a schedule into verified MSCCL XML, or another format."),
    Verb("bundle", "bundle:JobBundle", "Synthesize programs for all collectives of a job."),
    Verb("explain", "explain:Explanation", "Explain which MSCCL XML a runtime would run for a call."),
    Verb("run", "run:ProgramRun", "Run a program on real processes, and check every value."),
    Verb("nccl choose", "nccl:NcclChoiceRequest", "Say what stock NCCL chooses on a machine, and why."),
    Verb("nccl program", "nccl:NcclProgramWriting", "Write what NCCL does for a call as MSCCL XML."),
    Verb("nccl run-stock", "nccl:NcclStockRun", "Run NCCL's own code on this machine's processors."),
    Verb("nccl log", "nccl:NcclLogReading", "Say what NCCL logged that it chose in a job."),
    Verb("nccl env", "nccl:NcclEnvironment", "Print the variables that load the plugins for NCCL."),
    Verb("nccl profile show", "nccl:NcclProfileReading", "Print the calls of a job as nccl-tests would."),
    Verb("nccl tuner make", "nccl:TunerTableRequest", "Write a table for NCCL's tuner plugin."),
    Verb("nccl tuner check", "nccl:TunerCheck", "Say what is wrong with a tuner table, and what it does."),
    Verb("calibrate", "calibrate:CalibrationRequest", "Fit a topology and protocols to what benchmarks measured."),
    Verb("bench claims", "bench:ClaimsBench", "Measure the claims of papers: exact, within, refuted and why."),
    Verb("bench peers", "bench:PeersBench", "Synthesize what others were measured on, beside their figures."),
    Verb("bench speed", "bench:SpeedBench", "Measure the rates of the core beside the limits of the CPU."),
)

VERBS: Mapping[str, Verb] = {verb.words: verb for verb in _VERBS}
