"""Each verb of the `hocket` command as a function, and its request. Generated: make docs."""

# fmt: off
# ruff: noqa: I001
from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from hocket.api.bench.request import ClaimsBench as ClaimsBench, PeersBench as PeersBench, SpeedBench as SpeedBench
from hocket.api.bundle.perform import JobBundleResult
from hocket.api.bundle.request import JobBundle as JobBundle
from hocket.api.calibrate.request import CalibrationRequest as CalibrationRequest
from hocket.api.calibrate.result import CalibrationResult
from hocket.api.collect.recorded import Collected
from hocket.api.collect.request import (
    CollectedMerge as CollectedMerge, CollectionMetrics as CollectionMetrics, CollectionRequest as CollectionRequest,
    CollectionTrigger as CollectionTrigger, CollectionWatch as CollectionWatch, HookBuild as HookBuild,
)
from hocket.api.collect.watching import Watched
from hocket.api.compare.perform import ComparisonResult
from hocket.api.compare.request import Comparison as Comparison
from hocket.api.demo.perform import DemoResult
from hocket.api.demo.request import Demo as Demo
from hocket.api.doctor.request import InstallationCheck as InstallationCheck
from hocket.api.doctor.result import CheckedInstallation
from hocket.api.explain.perform import ExplanationResult
from hocket.api.explain.request import Explanation as Explanation
from hocket.api.extrapolate.request import Extrapolation as Extrapolation
from hocket.api.generate.request import (
    CollectiveGeneration as CollectiveGeneration, InferenceGeneration as InferenceGeneration,
    LlmGeneration as LlmGeneration, NetworkGeneration as NetworkGeneration,
)
from hocket.api.launch.request import Launch as Launch
from hocket.api.nccl.choices import NcclChoices
from hocket.api.nccl.env import NcclVariables
from hocket.api.nccl.profile import ProfiledCalls
from hocket.api.nccl.request import (
    NcclChoiceRequest as NcclChoiceRequest, NcclEnvironment as NcclEnvironment, NcclLogReading as NcclLogReading,
    NcclProfileReading as NcclProfileReading, NcclProgramWriting as NcclProgramWriting, NcclStockRun as NcclStockRun,
    TunerCheck as TunerCheck, TunerTableRequest as TunerTableRequest,
)
from hocket.api.nccl.stock import StockResult
from hocket.api.nccl.tuner.check import CheckedTable
from hocket.api.nccl.tuner.make import MadeTable
from hocket.api.provenance import request_in as request_in
from hocket.api.replay.perform import ReplayResult
from hocket.api.replay.request import Replay as Replay
from hocket.api.result import Report, Result
from hocket.api.run.request import ProgramRun as ProgramRun
from hocket.api.run.result import ProgramRunResult
from hocket.api.selftest.request import SelfTest as SelfTest
from hocket.api.selftest.result import SelfTestResult
from hocket.api.simulate.request import Simulation as Simulation
from hocket.api.simulate.result import SimulationResult
from hocket.api.step.request import StepReport as StepReport
from hocket.api.step.result import StepResult
from hocket.api.sweep.request import Sweep as Sweep, SweepPlot as SweepPlot
from hocket.api.sweep.result import SweepPlotResult, SweepResult
from hocket.api.synthesize.request import Synthesis as Synthesis
from hocket.api.synthesize.result import SynthesisResult
from hocket.api.topology.facts import TopologyFacts
from hocket.api.topology.files import CheckedTopology, SavedTopology
from hocket.api.topology.request import (
    TopologyCheck as TopologyCheck, TopologyRoutes as TopologyRoutes, TopologySave as TopologySave,
    TopologyShow as TopologyShow,
)
from hocket.api.topology.routes import CheckedRoutes
from hocket.api.trace.diff import TraceDifference
from hocket.api.trace.draw import Drawing
from hocket.api.trace.info import TraceContents
from hocket.api.trace.request import (
    TraceAnonymization as TraceAnonymization, TraceCombination as TraceCombination, TraceComplete as TraceComplete,
    TraceConversion as TraceConversion, TraceDiff as TraceDiff, TraceGraph as TraceGraph, TraceImport as TraceImport,
    TraceInfo as TraceInfo, TraceMerge as TraceMerge, TraceSlice as TraceSlice, TraceText as TraceText,
    TraceTimeline as TraceTimeline, TraceValidation as TraceValidation,
)
from hocket.api.trace.text import TraceLines
from hocket.api.trace.validate import CheckedTraces
from hocket.api.trace.written import WrittenTraces
from hocket.api.traffic.request import SyntheticTraffic as SyntheticTraffic
from hocket.api.traffic.result import TrafficResult
from hocket.api.translate.request import Translation as Translation
from hocket.api.translate.result import TranslationResult
from hocket.api.validate.request import JobValidation as JobValidation
from hocket.api.validate.result import ValidationResult
from hocket.api.verify.request import Verification as Verification
from hocket.api.verify.result import VerificationResult
from hocket.api.view.perform import ListedRuns
from hocket.api.view.request import ResultView as ResultView
from hocket.base.errors import HocketError as HocketError, RequestError as RequestError
from hocket.bench.claims.command import ClaimsResult
from hocket.bench.peers.overview import PeersOverview
from hocket.bench.speed.command import SpeedResult
from hocket.chakra import read_traces as read_traces
from hocket.plugin import communicator as communicator
from hocket.topology import load

__version__: str
_Integer: TypeAlias = int | np.integer[Any]
_Number: TypeAlias = float | np.floating[Any] | _Integer
_Text: TypeAlias = str | PathLike[str] | Fraction | _Number
_Integers: TypeAlias = _Integer | Sequence[_Integer] | range
_Texts: TypeAlias = _Text | Sequence[_Text]
load_topology = load

class _WrittenTracesOrOther(WrittenTraces):
    """Or WrittenJob."""
    def __getattr__(self, name: str) -> Any: ...

class _SimulationResultOrOther(SimulationResult):
    """Or CurvesResult, or AstraResult."""
    def __getattr__(self, name: str) -> Any: ...

class _SweepResultOrOther(SweepResult):
    """Or AnsweredElsewhere."""
    def __getattr__(self, name: str) -> Any: ...

class _SynthesisResultOrOther(SynthesisResult):
    """Or WindowsResult, or GroupsResult, or ProgramsResult."""
    def __getattr__(self, name: str) -> Any: ...

class _ProgramRunResultOrOther(ProgramRunResult):
    """Or Report."""
    def __getattr__(self, name: str) -> Any: ...

class _ClaimsResultOrOther(ClaimsResult):
    """Or Report."""
    def __getattr__(self, name: str) -> Any: ...

class _PeersOverviewOrOther(PeersOverview):
    """Or PeersComparison, or GridComparison, or Report."""
    def __getattr__(self, name: str) -> Any: ...

def demo(*, output: _Text = 'demo', torch: bool | None = None, json: _Text | None = None) -> DemoResult:
    """Collect a training run, predict it on three clusters, synthesize, verify, translate, run, report."""

def doctor(*, json: _Text | None = None) -> CheckedInstallation:
    """Say what is installed here, whether it works, and what each part that is missing would add."""

def selftest(
    *, gpu: bool = False, ranks: _Integer = 4, output: _Text = 'hocket-selftest.zip', only: _Texts = (),
    timeout: _Number | None = None, json: _Text | None = None,
) -> SelfTestResult:
    """Test what Hocket and the stock library do here, with real processes, and write one file to send back."""

class _Collect:
    """Capture a PyTorch or MPI job's collectives into Chakra traces, one a rank."""
    def __call__(
        self, script: _Text, arguments: _Texts = (), *, output: _Text = 'traces', ranks: _Integer = 1,
        skip_steps: _Integer = 0, steps: _Integer | None = None, timeout: _Integer = 60, ops: bool = False,
        stacks: bool = False, completion: bool = False, no_nccl: bool = False, no_build: bool = False,
        no_device_times: bool = False, max_bytes: _Text = '', windows: _Text = '', triggers: bool = False,
        trigger_steps: _Integer = 10, signal: _Text = '', slow_step: _Integer | None = None, watch: bool = False,
        strict: bool = False, strict_stragglers: bool = False, mpi: bool = False, mpicc: _Text = '',
        json: _Text | None = None,
    ) -> Result: ...
    def __getattr__(self, name: str) -> Any: ...
collect: _Collect

def collect_build(*, json: _Text | None = None) -> Report:
    """Compile the collector's fast hook for the installed PyTorch into the cache: half a minute, once."""

def collect_merge(
    folder: _Text, others: _Texts = (), *, output: _Text | None = None, jobs: _Integer = 1, window: _Text = '',
    kineto: _Text | None = None, nccl_profile: _Text | None = None, strict: bool = False,
    strict_stragglers: bool = False, json: _Text | None = None,
) -> Collected:
    """Merge the streams in DIR into traces and a summary; for jobs that were cut off, too."""

def collect_metrics(
    folder: _Text, *, listen: _Text | None = None, textfile: _Text | None = None, otlp: _Text | None = None,
    every: _Integer = 5, once: bool = False, json: _Text | None = None,
) -> Report:
    """Serve what a running job's collectives cost as metrics, until it ends: beside the job, by reading its streams."""

def collect_trigger(
    folder: _Text, *, steps: _Integer = 10, margin: _Number = 1.0, now: bool = False, json: _Text | None = None,
) -> Report:
    """Ask a job that runs with --triggers to record a window of steps, all ranks the same."""

def collect_watch(folder: _Text, *, timeout: _Integer = 10, once: bool = False, json: _Text | None = None) -> Watched:
    """Follow a job while it runs: what each group waits for when it hangs, once for each change, until it ends."""

def launch(command: _Texts, *, algorithms: _Text, mpicc: _Text = '', json: _Text | None = None) -> Report:
    """Run an MPI job by its own launch line, and serve its collectives by proved programs wherever one fits."""

class _Replay:
    """Replay a trace's collectives and messages on real ranks, and compare the times."""
    def __call__(
        self, traces: _Text, topology: _Text | None = None, *, backend: _Text = 'gloo', ranks: _Integer | None = None,
        model: _Text = 'congestion', compute: _Text = 'sleep', compute_scale: _Text = '1',
        accelerator: _Text | None = None, remote_memory: _Text | None = None, iterations: _Integer = 5,
        warmup: _Integer = 1, groups: _Text | None = None, timeout: _Number = 300.0, json: _Text | None = None,
        report: _Text | None = None,
    ) -> ReplayResult: ...
    def __getattr__(self, name: str) -> Any: ...
replay: _Replay

def trace_info(
    traces: _Text, *, groups: _Text | None = None, schema: _Text | None = None, json: _Text | None = None,
) -> TraceContents:
    """Print ranks, nodes of each type, process groups and a table of the communication."""

def trace_validate(
    traces: _Text, *, groups: _Text | None = None, schema: _Text | None = None, profile: _Text = 'mlcommons',
    accept_losses: bool = False, json: _Text | None = None,
) -> CheckedTraces:
    """Check every node and what the ranks have to agree on; exit 1 when there are errors, as lost collectives are."""

def trace_convert(
    traces: _Text, *, output: _Text, groups: _Text | None = None, schema: _Text | None = None, prefix: _Text = 'trace',
    gzip: bool = False, json: _Text | None = None, profile: _Text = 'mlcommons', repair: bool = False,
) -> WrittenTraces:
    """Write traces for another reader, saying what had to change."""

def trace_to_json(file: _Text, *, output: _Text | None = None, schema: _Text | None = None) -> TraceLines:
    """Print every field of a file as JSON lines: the file's metadata, then one node a line."""

def trace_import(
    paths: _Texts, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    source: _Text = 'auto', profile: _Text = 'mlcommons', world: _Integer | None = None, rank: _Integer | None = None,
    size: _Texts = (), group: _Texts = (), accept_losses: bool = False,
) -> WrittenTraces:
    """Turn what other tools recorded into Chakra traces, one a rank; prints what could not be known, and exits 1 where
    that left out all communication."""

def trace_complete(
    traces: _Text, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    world: _Integer | None = None, parallel: _Text | None = None, order: _Text = 'tp,cp,dp,pp',
) -> WrittenTraces:
    """Make a whole job of the traces of some of its ranks, and say what was assumed."""

def trace_merge(
    paths: _Texts, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    ranks: _Text | None = None, in_order: bool = False,
) -> WrittenTraces:
    """Write the traces of ranks from several folders, or with other names or numbers, as one job's PREFIX.<rank>.et."""

def trace_combine(
    jobs: _Texts, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    place: _Texts = (),
) -> WrittenTraces:
    """Write the traces of several jobs as one set, each on ranks of its own, so that they share a network."""

def trace_slice(
    traces: _Text, *, output: _Text, groups: _Text | None = None, schema: _Text | None = None, prefix: _Text = 'trace',
    gzip: bool = False, json: _Text | None = None, steps: _Text | None = None, nodes: _Text | None = None,
    time: _Text | None = None, ranks: _Text | None = None,
) -> WrittenTraces:
    """Write a part of traces: steps, nodes, times or ranks."""

def trace_diff(
    first: _Text, second: _Text, *, durations: _Number | None = None, schema: _Text | None = None,
    json: _Text | None = None,
) -> TraceDifference:
    """Say how two runs communicate differently; exit 1 when they do."""

def trace_anonymize(
    traces: _Text, *, output: _Text, groups: _Text | None = None, schema: _Text | None = None, prefix: _Text = 'trace',
    gzip: bool = False, json: _Text | None = None,
) -> WrittenTraces:
    """Write traces with other names of nodes and groups, the same on all ranks, without what else tells of it."""

def trace_timeline(
    traces: _Text, *, output: _Text, groups: _Text | None = None, schema: _Text | None = None,
    topology: _Text | None = None, ranks: _Text | None = None, time: _Text | None = None, json: _Text | None = None,
) -> Drawing:
    """Write when the nodes of traces ran for https://ui.perfetto.dev: as measured, or as predicted."""

def trace_graph(
    file: _Text, *, output: _Text, limit: _Integer = 5000, schema: _Text | None = None, json: _Text | None = None,
) -> Drawing:
    """Write the dependency graph of a trace: edges lead to what depends; in DOT, control dependencies are dashed."""

def generate_collective(
    pattern: _Text, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    ranks: _Integer | None = None, topology: _Text | None = None, size: _Texts = (), split: _Text | None = None,
    group: _Texts = (), root: _Integer = 0, repeat: _Integer = 1, compute: _Text | None = None,
    profile: _Text = 'mlcommons',
) -> WrittenTraces:
    """Make traces of one collective, or a ring of messages, done once or again and again."""

def generate_inference(
    model: _Text, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    topology: _Text | None = None, tp: _Integer = 1, dp: _Integer = 1, ep: _Integer = 1,
    prefill_tp: _Integer | None = None, prefill_dp: _Integer = 1, prefill_ep: _Integer = 1, requests: _Integer = 16,
    prompt: _Integer = 1024, output_tokens: _Integer = 64, spread: _Text = '0', rate: _Text | None = None,
    seed: _Integer = 0, request_list: _Text | None = None, max_batch: _Integer = 256, max_tokens: _Integer = 8192,
    chunked: bool = False, draft: _Text | None = None, draft_tokens: _Integer = 4, accepted: _Text = '2.5',
    key_value_bytes: _Integer = 2, memory_part: _Text = '0.9', accelerator: _Text | None = None,
    precision: _Text = 'bf16', profile: _Text = 'mlcommons',
) -> WrittenTraces:
    """Make traces of serving requests with a large language model: prompts, decoding, continuous batches."""

def generate_network(
    what: _Text, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    ranks: _Integer | None = None, topology: _Text | None = None, parallel: _Text | None = None, steps: _Integer = 1,
    batch: _Integer | None = None, accelerator: _Text | None = None, precision: _Text = 'bf16',
    element_bytes: _Integer = 2, gradient_bytes: _Integer = 4, table: _Text | None = None, profile: _Text = 'mlcommons',
) -> WrittenTraces:
    """Make traces of training steps of a layered network: data-, model- or hybrid-parallel."""

def generate_llm(
    model: _Text, *, output: _Text, global_batch: _Integer, prefix: _Text = 'trace', gzip: bool = False,
    json: _Text | None = None, topology: _Text | None = None, micro_batch: _Integer = 1,
    sequence: _Integer | None = None, tp: _Integer = 1, sequence_parallel: bool = False, pp: _Integer = 1,
    schedule: _Text = '1f1b', chunks: _Integer = 1, layers_per_stage: _Text | None = None,
    first_stage_layers: _Integer | None = None, last_stage_layers: _Integer | None = None,
    embeddings_count: bool = False, dp: _Integer | None = None, zero: _Integer = 0, shard_group: _Integer | None = None,
    prefetch: _Integer = 1, keep_gathered: bool = False, bucket_size: _Text = '160MB', gradient_bytes: _Integer = 4,
    cp: _Integer = 1, context: _Text = 'ring', context_inner: _Integer | None = None, ep: _Integer = 1,
    expert_skew: _Text = 'uniform', expert_seed: _Integer = 0, expert_changes: bool = False,
    dispatch: _Text = 'experts', token_format: _Text = 'bf16', node_ranks: _Integer | None = None,
    most_nodes: _Integer | None = None, recompute: _Text = 'selective', attention: _Text = 'flash',
    order: _Text = 'tp,cp,dp,pp', accelerator: _Text | None = None, efficiency: _Text | None = None,
    memory_efficiency: _Text | None = None, precision: _Text = 'bf16', profile: _Text = 'mlcommons',
) -> _WrittenTracesOrOther:
    """Make traces of one step of training a large language model by a parallel plan."""

def extrapolate(
    traces: _Text, *, output: _Text, prefix: _Text = 'trace', gzip: bool = False, json: _Text | None = None,
    data_parallel: _Text | None = None, ranks: _Integer | None = None, group: _Texts = (), groups: _Text | None = None,
    profile: _Text = 'mlcommons',
) -> WrittenTraces:
    """Extrapolate a job: copies of its ranks, joined by the groups that grow; prints what it assumes."""

def topology_show(
    topology: _Text, *, without: _Texts = (), degrade: _Texts = (), load: _Texts = (), json: _Text | None = None,
    output: _Text | None = None,
) -> TopologyFacts:
    """Print ranks, switches, links, degrees, bandwidths, diameter and the tightest cut; draw nodes and fabric."""

def topology_save(
    topology: _Text, *, output: _Text, without: _Texts = (), degrade: _Texts = (), load: _Texts = (),
    json: _Text | None = None,
) -> SavedTopology:
    """Write a topology as YAML of ours, to edit or to keep, or one node as NCCL sees it as its XML."""

def topology_routes(
    topology: _Text, *, routing: _Text | None = None, balanced: bool = False, without: _Texts = (),
    degrade: _Texts = (), load: _Texts = (), json: _Text | None = None, csv: _Text | None = None,
) -> CheckedRoutes:
    """Print the routing tables, check that all pairs arrive without loops, and say how evenly links are loaded by an
    all-to-all and by a shift (each rank sends to the one half of all ranks further). Exit code 1: it fails."""

def topology_check(topology: _Text, *, json: _Text | None = None) -> CheckedTopology:
    """Check a topology: syntax, keys, units, links, and that every rank reaches every other. Exit code 1: it fails."""

def simulate(
    what: _Text, topology: _Texts = (), size: _Text | None = None, *, model: _Text | None = None,
    switching: _Texts = (), queueing: _Texts = (), routing: _Text | None = None, packets: _Text | None = None,
    overlap_slowdown: _Text = '1', algorithm: _Texts = (), library: _Text | None = None, times: _Text | None = None,
    nccl_machine: _Text | None = None, nccl_set: _Texts = (), nccl_version: _Text = '2.30.7', degrade: _Texts = (),
    late: _Texts = (), traffic: _Texts = (), chunks: _Integer = 1, root: _Integer | None = None,
    runtime: _Text | None = None, costs: _Text | None = None, compute_scale: _Text = '1',
    accelerator: _Text | None = None, reprice: bool = False, remote_memory: _Text | None = None,
    placement: _Text | None = None, groups: _Text | None = None, accept_losses: bool = False, json: _Text | None = None,
    timeline: _Text | None = None, timeline_ranks: _Text | None = None, timeline_time: _Text | None = None,
    timeline_links: _Text | None = None, tables: _Text | None = None, parquet: bool = False, csv: _Text | None = None,
    report: _Text | None = None, compat: _Text | None = None, network: _Text | None = None, system: _Text | None = None,
    memory: _Text | None = None, num_queues_per_dim: _Integer = 1, injection_scale: _Number = 1.0,
    rendezvous_protocol: bool = False,
) -> _SimulationResultOrOther:
    """Predict the time of traces, a schedule, a program or a collective, and how far it is from the lower bound."""

def traffic(
    pattern: _Text, topology: _Text, *, load: _Text = '10%..100%', window: _Texts = (), size: _Text = '4KiB',
    duration: _Text = '500us', warm_up: _Text | None = None, seed: _Integer = 0, switching: _Texts = (),
    routing: _Text | None = None, packets: _Text | None = None, json: _Text | None = None, csv: _Text | None = None,
    report: _Text | None = None,
) -> TrafficResult:
    """Send synthetic traffic through the packet model over loads: throughput, latencies, queues, and where it
    saturates."""

def step(
    traces: _Text, topology: _Text, *, model: _Text | None = None, switching: _Texts = (), queueing: _Texts = (),
    routing: _Text | None = None, packets: _Text | None = None, overlap_slowdown: _Text = '1', algorithm: _Texts = (),
    library: _Text | None = None, nccl_machine: _Text | None = None, nccl_set: _Texts = (),
    nccl_version: _Text = '2.30.7', chunks: _Integer = 1, compute_scale: _Text = '1', accelerator: _Text | None = None,
    reprice: bool = False, remote_memory: _Text | None = None, placement: _Text | None = None,
    groups: _Text | None = None, accept_losses: bool = False, tokens: _Integer | None = None,
    model_pflop: _Number | None = None, what_if: bool = True, synthesize: bool = False, json: _Text | None = None,
    report: _Text | None = None,
) -> StepResult:
    """Show where a training step's time goes on a cluster, what other libraries would take, and what would shorten it
    the most."""

def validate(
    traces: _Text, topology: _Text, *, model: _Text | None = None, switching: _Texts = (), queueing: _Texts = (),
    routing: _Text | None = None, packets: _Text | None = None, overlap_slowdown: _Text = '1', algorithm: _Texts = (),
    library: _Text | None = None, nccl_machine: _Text | None = None, nccl_set: _Texts = (),
    nccl_version: _Text = '2.30.7', chunks: _Integer = 1, compute_scale: _Text = '1', accelerator: _Text | None = None,
    reprice: bool = False, remote_memory: _Text | None = None, placement: _Text | None = None,
    groups: _Text | None = None, accept_losses: bool = False, fit: _Text | None = None, json: _Text | None = None,
    report: _Text | None = None,
) -> ValidationResult:
    """Compare a job's recorded collectives and steps with their prediction, kind by kind."""

def sweep(
    file: _Text, *, output: _Text = 'sweep', executor: _Text = 'serial', jobs: _Integer | None = None,
    cluster: _Text | None = None, time_limit: _Number | None = None, retry_failed: bool = False, parquet: bool = False,
    json: _Text | None = None,
) -> _SweepResultOrOther:
    """Simulate every combination of the values in FILE: collectives by sizes, or models by plans, on topologies."""

def sweep_plot(
    folder: _Text, *, output: _Text = 'plot.html', kind: _Text = 'curves', x: _Text | None = None,
    y: _Text | None = None, value: _Text | None = None, by: _Texts = (), each: _Text | None = None, log: bool = False,
    json: _Text | None = None,
) -> SweepPlotResult:
    """Draw columns of a sweep's results: curves with both regimes and the knee, heat maps, Pareto fronts."""

def compare(first: _Text, second: _Text, *, tolerance: _Number = 0.0, json: _Text | None = None) -> ComparisonResult:
    """Compare two predictions: time, lower bound, exposed communication, collectives, groups, ranks and links."""

def view(
    folder: _Text, *, listen: _Text = '127.0.0.1:8008', list_runs: bool = False, json: _Text | None = None,
) -> ListedRuns:
    """Show a folder of results in a browser: what was run, when, by which command, what it came to, and two
    compared."""

def synthesize(
    collective: _Text, topology: _Text, size: _Text | None = None, *, sizes: _Text | None = None,
    conditions: _Text | None = None, group: _Texts = (), relays: bool = False, priority: _Text | None = None,
    without: _Texts = (), degrade: _Texts = (), load: _Texts = (), chunks: _Integer | None = None, root: _Integer = 0,
    engine: _Text = 'auto', objective: _Text = 'auto', seed: _Integer = 0, attempts: _Integer | None = None,
    time_limit: _Text | None = None, threads: _Integer | None = None, blocking: bool = False,
    runtime: _Text | None = None, costs: _Text | None = None, explain: bool = False, output: _Text | None = None,
    report: _Text | None = None, json: _Text | None = None,
) -> _SynthesisResultOrOther:
    """Synthesize a schedule of COLLECTIVE for a topology, prove it correct, and compare it with a lower bound."""

def verify(
    files: _Texts, *, runtime: _Text | None = None, json: _Text | None = None, explain: _Text | None = None,
    gpu: _Text | None = None, root: _Integer | None = None, fifo_depth: _Integer | None = None,
    topology: _Text | None = None, size: _Text | None = None, claimed: _Text | None = None, output: _Text | None = None,
) -> VerificationResult:
    """Prove a schedule, an MSCCL XML or an MSCCL++ plan correct."""

def translate(
    files: _Texts, to: _Text, output: _Text | None = None, *, written_for: _Text | None = None,
    bundle: _Text | None = None, protocol: _Text | None = None, channels: _Integer | None = None,
    slots: _Integer | None = None, instances: _Integer | None = None, costs: _Text | None = None,
    min_bytes: _Text | None = None, max_bytes: _Text | None = None, in_place: bool | None = None,
    name: _Text | None = None, topology: _Text | None = None, size: _Text | None = None,
    collective: _Text | None = None, root: _Integer | None = None, ranks_per_node: _Integer | None = None,
    json: _Text | None = None,
) -> TranslationResult:
    """Turn a schedule, or the program of another runtime, into MSCCL XML for one runtime, an MSCCL++ execution plan,
    JSON without any runtime's limits, graphs for ASTRA-sim, a table, or a graph file for stock NCCL; a program into a
    schedule; or several of one collective into a folder for a runtime."""

def bundle(
    traces: _Text, topology: _Text, *, output: _Text, to: _Text = 'executor', groups: _Text | None = None,
    json: _Text | None = None,
) -> JobBundleResult:
    """Synthesize programs for every collective, group and size of a recorded job, as one folder that the job runs."""

def explain(
    paths: _Texts, collective: _Text, size: _Text, *, ranks: _Integer, runtime: _Text, dtype: _Text = 'float32',
    in_place: bool = False, json: _Text | None = None,
) -> ExplanationResult:
    """Explain which file a runtime would run for a call, and why not the others."""

def run(
    file: _Text | None = None, size: _Text | None = None, *, bundle: _Text | None = None, transport: _Text = 'shm',
    ranks: _Integer | None = None, least: _Text = '1MiB', most: _Text | None = None, factor: _Integer = 2,
    dtype: _Text = 'float32', op: _Text = 'sum', root: _Integer | None = None, iterations: _Integer = 20,
    warmup: _Integer = 5, compare: bool = False, verify: bool = True, timeout: _Number = 300.0,
    json: _Text | None = None, print: _Text | None = None,
) -> _ProgramRunResultOrOther:
    """Run a program, or each size by the right one of a bundle, on real processes and check every value."""

def nccl_choose(
    topology: _Text, *, nodes: _Integer | None = None, collective: _Texts = ('all',), least: _Text = '8',
    most: _Text = '16GiB', csv: _Text | None = None, graph_dump: _Text | None = None, why: bool = False,
    calibration: _Text | None = None, settings: _Texts = (), version: _Text = '2.30.7', buffers: _Text = 'plain',
    policy: _Text = 'default', graph: _Text | None = None, domain: _Integer | None = None, operations: _Integer = 1,
    json: _Text | None = None,
) -> NcclChoices:
    """Print what NCCL (2.30.7, unless said) would choose for each size, and the time that it expects."""

def nccl_program(
    topology: _Text, size: _Text, *, output: _Text, nodes: _Integer | None = None, collective: _Text = 'all_reduce',
    algorithm: _Text | None = None, root: _Integer = 0, to: _Text = 'executor', settings: _Texts = (),
    version: _Text = '2.30.7', json: _Text | None = None,
) -> Report:
    """Write what NCCL would do for a call as MSCCL XML, to be read, changed, verified, simulated and run."""

def nccl_run_stock(
    topology: _Text, *, source: _Text, output: _Text, nodes: _Integer | None = None, machine: _Texts = (),
    do: _Text = 'choose', collective: _Texts = ('all',), least: _Text = '8', most: _Text = '16GiB',
    type: _Text = 'float32', operation: _Text = 'sum', settings: _Texts = (), profile: bool = False,
    table: _Text | None = None, job: _Text | None = None, cuda: _Text | None = None, rocm: _Text | None = None,
    limit: _Integer = 120, json: _Text | None = None,
) -> StockResult:
    """Run stock NCCL or RCCL itself without a GPU: its own code, built from its sources, over stand-ins."""

def nccl_log(
    path: _Text, *, topology: _Text | None = None, nodes: _Integer | None = None, collective: _Text | None = None,
    json: _Text | None = None,
) -> Report:
    """Print what NCCL chose in a job, as it logs with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING."""

def nccl_env(
    *, profile: _Text | None = None, kernels: bool = False, table: _Text | None = None, json: _Text | None = None,
) -> NcclVariables:
    """Print `export` lines for NCCL's profiler and tuner plugin, with absolute paths."""

def nccl_profile_show(path: _Text, *, json: _Text | None = None) -> ProfiledCalls:
    """Print a job's calls as nccl-tests prints its own: size, time, algbw and busbw."""

def nccl_tuner_make(
    files: _Texts = (), *, output: _Text | None = None, run: _Texts = (), baseline: _Texts = (), margin: _Number = 3.0,
    extrapolate: bool = False, collective: _Text | None = None, ranks: _Integer | None = None, partial: bool = False,
    topology: _Text | None = None, nodes: _Integers = (), settings: _Texts = (), version: _Text = '2.30.7',
    calibration: _Text | None = None, simulate: _Text | None = None, constants: _Text | None = None, least: _Text = '8',
    most: _Text = '16GiB', json: _Text | None = None,
) -> MadeTable:
    """Write a table for the tuner plugin: the quickest of what was measured, or what the model chooses."""

def nccl_tuner_check(
    table: _Text, *, nodes: _Integer | None = None, ranks: _Integer | None = None, domains: _Text | None = None,
    against: _Text | None = None, pipe_operations: _Integer = 1, version: _Text = '2.30.7', registered: bool = False,
    json: _Text | None = None,
) -> CheckedTable:
    """Say what is wrong with a table for NCCL's tuner plugin: lines that cannot be read (the plugin then does nothing),
    rules that never take effect, that overlap, that leave gaps."""

def calibrate(
    files: _Texts = (), *, topology: _Text | None = None, output: _Text | None = None, by: _Text | None = None,
    holdout: _Text | None = None, nccl: _Text | None = None, settings: _Texts = (), collective: _Text | None = None,
    ranks: _Integer | None = None, nodes: _Integer | None = None, predict_nodes: _Integers = (), plan: bool = False,
    kernels: _Texts = (), accelerator: _Text | None = None, precision: _Text = 'bf16', runtime: _Text | None = None,
    partial: bool = False, report: _Text | None = None, json: _Text | None = None,
) -> CalibrationResult:
    """Fit latencies, bandwidths and protocols to measurements, and say which disagree with the topology."""

def bench_claims(
    only: _Text | None = None, *, quick: bool = False, json: _Text | None = None, page: _Text | None = None,
    list_claims: bool = False,
) -> _ClaimsResultOrOther:
    """Measure the claims of the papers that Hocket starts from, and say of each: exact, within its tolerance, trend,
    refuted and why, not specified, out of reach, or not yet."""

def bench_peers(
    *, only: _Text | None = None, astra_sim: _Text | None = None, tacos: _Text | None = None, page: _Text | None = None,
    data: _Text | None = None, grid: bool = False, case: _Texts = (), json: _Text | None = None,
    timeout: _Number = 600.0, memory: _Text = '8GiB', list_cases: bool = False,
) -> _PeersOverviewOrOther:
    """Compare with other tools: what each can do, and its speed and results beside Hocket's on the same problems."""

def bench_speed(
    *, only: _Texts = (), json: _Text | None = None, record: bool = False, recorded: _Text | None = None,
    count: bool = False,
) -> SpeedResult:
    """Measure the core's rates: events, messages, packets, transfers and more a CPU second, each beside what the CPU
    can do at most (measured in the same run) and what was recorded last on the same model of CPU."""
