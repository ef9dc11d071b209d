"""Which jobs that nobody ran to make traces of: the commands of `hocket generate`."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.parts import AcceleratorName, Reader, TraceFolder
from hocket.api.request import Request

__all__ = ["CollectiveGeneration", "InferenceGeneration", "LlmGeneration", "NetworkGeneration"]

_ROOM = "hocket.api.generate"
_Target = Annotated[
    str | None,
    option("The cluster: sets the number of ranks, and its accelerators price computation.", "-t", metavar="SPEC|FILE"),
]
_Model = Annotated[
    str,
    argument(
        "A published model, or the config.json of one on Hugging Face.",
        "MODEL",
        known="hocket.workload.llm:MODELS",
    ),
]
_Precision = Annotated[str, option("Format of the multiplications.", choices="hocket.workload.accelerators:Precision")]


class CollectiveGeneration(Request, frozen=True, kw_only=True, tag="generate collective"):
    """Make traces of one collective, or a ring of messages, done once or again and again."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket generate collective all_reduce --ranks 64 --size 64MiB -o traces/",
        "hocket generate collective all_to_all --ranks 16 --group 0-7 --group 8-15 --size 1MiB --repeat 10"
        " --compute 1ms -o traces/",
    )
    performer: ClassVar[str] = f"{_ROOM}.collective:perform"

    pattern: Annotated[
        str,
        argument(
            "The collective; ring_exchange: every rank sends to the next one.",
            "KIND",
            choices="hocket.workload.collective:CommunicationPattern",
        ),
    ]
    written: TraceFolder
    ranks: Annotated[
        int | None, option("Ranks of the job; by default all of --topology's.", "-n", ge=2, le=1 << 20)
    ] = None
    topology: _Target = None
    size: Annotated[
        tuple[str, ...],
        option(
            "Size as nccl-tests counts it; given once per member: each one's input (all_to_all, all_gather, gather).",
            "-s",
        ),
    ] = ()
    split: Annotated[
        str | None, option("Parts of an input for the members, in proportion: 3,1,1,1 (all_to_all, ...).")
    ] = None
    group: Annotated[tuple[str, ...], option("Ranks of a process group, 0-7 or 0,2,4; several run side by side.")] = ()
    root: Annotated[int, option("Position of the root in the group, where there is one.", ge=0)] = 0
    repeat: Annotated[int, option("Rounds, one after the other.", ge=1, le=1 << 20)] = 1
    compute: Annotated[str | None, option("Computation before each round: 1ms.")] = None
    profile: Reader = "mlcommons"


class NetworkGeneration(Request, frozen=True, kw_only=True, tag="generate network"):
    """Make traces of training steps of a layered network: data-, model- or hybrid-parallel."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket generate network resnet50 --ranks 64 --parallel data -o traces/",
        "hocket generate network turing-nlg --ranks 256 --parallel hybrid:4 --accelerator a100 -o traces/",
        "hocket generate network layers.csv --ranks 8 --parallel hybrid:4 --steps 2 -o traces/",
        "hocket generate network Resnet50_DataParallel.txt --ranks 8 -o traces/",
    )
    performer: ClassVar[str] = f"{_ROOM}.network:perform"

    what: Annotated[
        str,
        argument(
            "A table (.csv, .yaml), a workload text file of ASTRA-sim 1.0, or a published architecture.",
            "TABLE|PRESET",
            known="hocket.workload.presets:PRESETS",
        ),
    ]
    written: TraceFolder
    ranks: Annotated[
        int | None, option("Ranks of the job; by default all of --topology's.", "-n", ge=2, le=1 << 20)
    ] = None
    topology: _Target = None
    parallel: Annotated[
        str | None,
        option(
            "data (default), model, or hybrid:8: groups of 8 neighbours share a model"
            " (hybrid:8:spread: ranks far apart do)."
        ),
    ] = None
    steps: Annotated[int, option("Training steps.", ge=1, le=1 << 16)] = 1
    batch: Annotated[
        int | None, option("Samples per replica and step; each preset has its own default.", ge=1, le=1 << 30)
    ] = None
    accelerator: AcceleratorName = None
    precision: _Precision = "bf16"
    element_bytes: Annotated[int, option("Bytes per element of a preset's weights and activations.", ge=1, le=8)] = 2
    gradient_bytes: Annotated[int, option("Bytes per element of a preset's communicated gradients.", ge=1, le=8)] = 4
    table: Annotated[str | None, output("Also write the layers here as CSV, to edit and use.")] = None
    profile: Reader = "mlcommons"


class InferenceGeneration(Request, frozen=True, kw_only=True, tag="generate inference"):
    """Make traces of serving requests with a large language model: prompts, decoding, continuous batches."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket generate inference llama3-70b --tp 8 --requests 64 --rate 10 -o traces/",
        "hocket generate inference llama3-70b --tp 8 --chunked --max-tokens 512 --request-list requests.csv -o traces/",
        "hocket generate inference llama3-70b --tp 4 --prefill-tp 4 --prefill-dp 2 --requests 64 -o traces/",
        "hocket generate inference deepseek-v3 --dp 32 --ep 32 --precision fp8 --requests 256 -o traces/",
        "hocket generate inference llama3-70b --tp 8 --draft llama3-8b --draft-tokens 4 --accepted 2.5 -o traces/",
    )
    performer: ClassVar[str] = f"{_ROOM}.inference:perform"

    model: _Model
    written: TraceFolder
    topology: _Target = None
    tp: Annotated[int, option("Tensor parallel ranks of a replica.", ge=1, le=1 << 16)] = 1
    dp: Annotated[int, option("Replicas of the attention, each with requests of its own.", ge=1, le=1 << 20)] = 1
    ep: Annotated[int, option("Ranks that share the experts, whole replicas of them.", ge=1, le=1 << 16)] = 1
    prefill_tp: Annotated[
        int | None, option("Prompts have replicas of their own, of as many ranks; keys and values go over.", ge=1)
    ] = None
    prefill_dp: Annotated[int, option("How many of these, with --prefill-tp.", ge=1, le=1 << 20)] = 1
    prefill_ep: Annotated[int, option("Ranks of these that share the experts.", ge=1, le=1 << 16)] = 1
    requests: Annotated[int, option("Requests to draw.", ge=1, le=1 << 20)] = 16
    prompt: Annotated[int, option("Tokens of their prompts.", ge=1, le=1 << 24)] = 1024
    output_tokens: Annotated[int, option("Tokens that they generate.", ge=1, le=1 << 24)] = 64
    spread: Annotated[str, option("Lengths are uniform within this part around these: 0.5.")] = "0"
    rate: Annotated[str | None, option("Requests per second (Poisson); all arrive at once by default.")] = None
    seed: Annotated[int, option("Seed of the draw.", ge=0, le=1 << 62)] = 0
    request_list: Annotated[
        str | None, option("A CSV file of arrival_ms,prompt,output instead of a draw.", metavar="FILE")
    ] = None
    max_batch: Annotated[int, option("Requests that a replica works on at a time.", ge=1, le=1 << 20)] = 256
    max_tokens: Annotated[int, option("Tokens of a step of prompts, of any step with --chunked.", ge=1)] = 8192
    chunked: Annotated[bool, option("A step takes decoding requests and then parts of prompts.")] = False
    draft: Annotated[
        str | None,
        option("Model whose guesses the other one checks (speculative decoding).", known="hocket.workload.llm:MODELS"),
    ] = None
    draft_tokens: Annotated[int, option("Tokens that it guesses.", ge=1, le=64)] = 4
    accepted: Annotated[str, option("How many of them are right, on average.")] = "2.5"
    key_value_bytes: Annotated[int, option("Bytes of an element of keys and values: 2 or 1.", ge=1, le=2)] = 2
    memory_part: Annotated[str, option("Part of the memory for weights, keys and values.")] = "0.9"
    accelerator: AcceleratorName = None
    precision: _Precision = "bf16"
    profile: Reader = "mlcommons"


class LlmGeneration(Request, frozen=True, kw_only=True, tag="generate llm"):
    """Make traces of one step of training a large language model by a parallel plan.

    `-o NAME.job` keeps the job itself in a file, in place of its traces: simulate and step make these when they need
    them, of jobs of any size.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket generate llm llama3-8b --dp 8 --zero 3 --global-batch 8 -o traces/",
        "hocket generate llm llama3-70b -t dgx-b200:nodes=4 --tp 8 --global-batch 64 -o traces/",
        "hocket generate llm gpt3-175b --tp 8 --sequence-parallel --pp 8 --dp 16 --global-batch 256 -o traces/",
        "hocket generate llm deepseek-v3 --pp 16 --dp 8 --ep 8 --schedule dualpipe --zero 1 --global-batch 256"
        " -o traces/",
        "hocket generate llm mixtral/config.json --sequence 4096 --dp 8 --ep 8 --global-batch 64 -o traces/",
        "hocket generate llm llama3-70b --tp 8 --sequence-parallel --pp 8 --dp 256 --global-batch 4096 -o big.job",
    )
    performer: ClassVar[str] = f"{_ROOM}.llm:perform"

    model: _Model
    written: TraceFolder
    topology: _Target = None
    global_batch: Annotated[int, option("Sequences of a step on all ranks.", ge=1, le=1 << 30)]
    micro_batch: Annotated[int, option("Sequences that a rank works on at a time.", ge=1, le=1 << 20)] = 1
    sequence: Annotated[int | None, option("Tokens; the model's unless given.", ge=1, le=1 << 30)] = None
    tp: Annotated[int, option("Tensor parallel ranks.", ge=1, le=1 << 16)] = 1
    sequence_parallel: Annotated[bool, option("Divide norms and residuals among the tensor parallel ranks.")] = False
    pp: Annotated[int, option("Pipeline stages.", ge=1, le=1 << 16)] = 1
    schedule: Annotated[
        str,
        option("Order of the passes of a pipeline stage.", choices="hocket.workload.llm:PipelineSchedule"),
    ] = "1f1b"
    chunks: Annotated[
        int, option("Model chunks of a stage, for interleaved; those of a V and DualPipe are 2.", ge=1, le=1 << 10)
    ] = 1
    layers_per_stage: Annotated[
        str | None, option("Layers of each pipeline stage, or of each chunk in the model's order: 3,4,4,3.")
    ] = None
    first_stage_layers: Annotated[
        int | None, option("Layers of the first stage; the others share the rest.", ge=0, le=1 << 16)
    ] = None
    last_stage_layers: Annotated[int | None, option("Layers of the last stage, likewise.", ge=0, le=1 << 16)] = None
    embeddings_count: Annotated[bool, option("Embedding and output take a layer's place in their stages.")] = False
    dp: Annotated[
        int | None, option("Data parallel ranks; 1 by default, with --topology what fills it.", ge=1, le=1 << 20)
    ] = None
    zero: Annotated[int, option("Stage of ZeRO; 3 is FSDP.", ge=0, le=3)] = 0
    shard_group: Annotated[
        int | None, option("Ranks that share one copy (hybrid sharding); all copies by default.", ge=1, le=1 << 20)
    ] = None
    prefetch: Annotated[int, option("Parts of the model that ZeRO 3 gathers ahead.", ge=0, le=1 << 16)] = 1
    keep_gathered: Annotated[
        bool, option("What ZeRO 3 gathered stays until its backward pass (FSDP's reshard_after_forward=False).")
    ] = False
    bucket_size: Annotated[str, option("Size of a gradient bucket.")] = "160MB"
    gradient_bytes: Annotated[int, option("Bytes of a gradient: 4 (FP32) or 2 (BF16).")] = 4
    cp: Annotated[int, option("Context parallel ranks.", ge=1, le=1 << 16)] = 1
    context: Annotated[
        str,
        option("How context parallel ranks share keys and values.", choices="hocket.workload.llm:ContextMethod"),
    ] = "ring"
    context_inner: Annotated[
        int | None, option("Neighbours that share out heads, for hierarchical.", ge=1, le=1 << 16)
    ] = None
    ep: Annotated[int, option("Expert parallel ranks, taken from dp * cp.", ge=1, le=1 << 16)] = 1
    expert_skew: Annotated[
        str,
        option("How often experts are chosen: uniform, zipf:1.2, or a file with a weight for each.", metavar="SKEW"),
    ] = "uniform"
    expert_seed: Annotated[int, option("Which experts are popular in which layer.", ge=0, le=1 << 30)] = 0
    expert_changes: Annotated[bool, option("Other experts are popular in every micro-batch, too.")] = False
    dispatch: Annotated[
        str,
        option(
            "What gets a copy of a token: its experts, their ranks, or their nodes, which forward it.",
            choices="hocket.workload.llm:TokenDispatch",
        ),
    ] = "experts"
    token_format: Annotated[
        str,
        option("Format of tokens on their way to experts; back as BF16.", choices="hocket.workload.llm:TokenFormat"),
    ] = "bf16"
    node_ranks: Annotated[
        int | None, option("Expert parallel ranks of a node; of 8 ranks in all by default.", ge=1, le=1 << 16)
    ] = None
    most_nodes: Annotated[
        int | None, option("Nodes that one token may go to (DeepSeek-V3: 4); all by default.", ge=1, le=1 << 16)
    ] = None
    recompute: Annotated[
        str,
        option(
            "What the backward pass recomputes: nothing, attention scores, whole layers.",
            choices="hocket.workload.llm:Recomputation",
        ),
    ] = "selective"
    attention: Annotated[
        str,
        option(
            "flash: one kernel, half of the scores, none kept; unfused: all are made.",
            choices="hocket.workload.llm:AttentionKernel",
        ),
    ] = "flash"
    order: Annotated[str, option("Order of the dimensions in rank numbers, fastest first.")] = "tp,cp,dp,pp"
    accelerator: AcceleratorName = None
    efficiency: Annotated[
        str | None, option("Part of the peak that matrices reach, 0.6; the accelerator's unless given.")
    ] = None
    memory_efficiency: Annotated[str | None, option("Part of the memory's bandwidth that kernels reach, likewise.")] = (
        None
    )
    precision: _Precision = "bf16"
    profile: Reader = "mlcommons"
