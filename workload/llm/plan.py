"""A parallel plan: how the work of training is divided among ranks, and which plans are impossible."""

from dataclasses import dataclass

from hocket.base.enums import StrEnum
from hocket.workload.accelerators import Precision
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.layout import layer_ranges, part_of, require, split_layers
from hocket.workload.llm.loads import UNIFORM, ExpertLoads
from hocket.workload.llm.pipeline import PipelineSchedule
from hocket.workload.llm.routing import RoutingShape, TokenDispatch, TokenFormat

__all__ = ["AttentionKernel", "ContextMethod", "ParallelPlan", "Recomputation"]

ACTIVATION_BYTES = 2  # BF16 or FP16; narrower formats are those of multiplications only
PARAMETER_BYTES = 2


class Recomputation(StrEnum):
    """What the backward pass computes anew instead of keeping it (Korthikanti et al., arXiv:2205.05198).

    SELECTIVE: the attention's scores, nothing more with FlashAttention; FULL: all of each layer from its input.
    """

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


class AttentionKernel(StrEnum):
    """How attention is computed. FLASH: FlashAttention (arXiv:2205.14135) in one kernel, which skips what the causal
    mask hides, keeps no scores and computes them again backward. UNFUSED: all scores are made, and kept unless they are
    recomputed, as the papers before 2023 count."""

    FLASH = "flash"
    UNFUSED = "unfused"


class ContextMethod(StrEnum):
    """How a rank meets the keys and values of the whole sequence: in a ring (Ring Attention, arXiv:2310.01889),
    gathered
    before the attention (Llama 3, arXiv:2407.21783, section 3.3.2), all of them for a part of the heads (DeepSpeed
    Ulysses, arXiv:2309.14509), or that among `context_inner` neighbours and a ring of these (arXiv:2405.07719)."""

    RING = "ring"
    ALL_GATHER = "all_gather"
    ULYSSES = "ulysses"
    HIERARCHICAL = "hierarchical"


@dataclass(frozen=True)
class ParallelPlan:
    """Sizes of the parallel groups, the batch, and how the steps overlap.

    `tp` tensor, `pp` pipeline, `dp` data, `cp` context parallel ranks make tp * pp * dp * cp in all; `ep` expert
    parallel ones are taken from dp * cp. `chunks`: model chunks of a stage, for the interleaved schedule; those of a V
    and DualPipe are always 2. `zero`: stage of ZeRO (arXiv:1910.02054), 3 is FSDP; it shards over dp * cp, or groups of
    `shard_group` of these, which then sum their shards of gradients (hybrid sharding, arXiv:2304.11277, section 3.2.2).
    With stage 3 parts of the model are gathered `prefetch` ahead, and with `keep_gathered` stay whole until their
    backward pass. `loads`: how often experts are chosen; `dispatch`: how copies of tokens go to them, `token_format`:
    of what goes there, `node_ranks`: expert parallel ranks of a node, `most_nodes`: nodes that a token may go to.
    `global_batch` and `micro_batch` are sequences. `bucket_bytes`: gradients are reduced as soon as this much is there,
    in whole layers. `order`: what varies fastest from rank to rank first. `gradient_bytes`: of one gradient, 4 or 2.
    `embeddings_count`: the embedding and the output layer take the place of a layer each when layers are dealt out to
    stages. `layers_per_stage`, `first_stage_layers` and `last_stage_layers`: how they are dealt out instead
    (`hocket.workload.llm.layout.split_layers`).
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    sequence_parallel: bool = False
    schedule: PipelineSchedule = PipelineSchedule.ONE_F_ONE_B
    chunks: int = 1
    zero: int = 0
    shard_group: int | None = None
    prefetch: int = 1
    keep_gathered: bool = False
    context: ContextMethod = ContextMethod.RING
    context_inner: int | None = None
    loads: ExpertLoads = UNIFORM
    dispatch: TokenDispatch = TokenDispatch.EXPERTS
    token_format: TokenFormat = TokenFormat.BF16
    node_ranks: int | None = None
    most_nodes: int | None = None
    global_batch: int = 1
    micro_batch: int = 1
    recomputation: Recomputation = Recomputation.SELECTIVE
    attention: AttentionKernel = AttentionKernel.FLASH
    precision: Precision = Precision.BF16
    gradient_bytes: int = 4
    bucket_bytes: int = 160_000_000
    embeddings_count: bool = False
    layers_per_stage: tuple[int, ...] = ()
    first_stage_layers: int | None = None
    last_stage_layers: int | None = None
    order: tuple[str, ...] = ("tp", "cp", "dp", "pp")

    def __post_init__(self) -> None:
        if self.schedule.two_chunks and self.chunks == 1:
            object.__setattr__(self, "chunks", 2)

    @property
    def num_ranks(self) -> int:
        return self.tp * self.pp * self.dp * self.cp

    @property
    def replicas(self) -> int:
        """Ranks of a stage that hold the same dense parameters."""
        return self.dp * self.cp

    @property
    def context_heads(self) -> int:
        """Context parallel ranks that share out the heads."""
        inner = {ContextMethod.ULYSSES: self.cp, ContextMethod.HIERARCHICAL: self.context_inner or 1}
        return inner.get(self.context, 1)

    @property
    def copies(self) -> int:
        """Ranks that hold the same dense parameters, over which gradients are reduced: with DualPipe those of the
        opposite stage, too."""
        return self.replicas * (2 if self.schedule is PipelineSchedule.DUALPIPE else 1)

    @property
    def shards(self) -> int:
        """Ranks among which ZeRO divides a dense parameter; all copies or a part of them."""
        return self.shard_group or self.copies

    @property
    def parts(self) -> int:
        """Parts that the pipeline cuts the model into; DualPipe has each of them twice."""
        return self.pp * (1 if self.schedule is PipelineSchedule.DUALPIPE else self.chunks)

    @property
    def shares_ends(self) -> bool:
        """Whether one stage has both the embedding and the output."""
        return self.pp == 1 or self.schedule.two_chunks

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a step on each rank."""
        return self.global_batch // (self.dp * self.micro_batch)

    def tokens(self, card: ModelCard) -> int:
        """Tokens of a micro-batch on one rank, of which tensor parallel ranks share the matrices."""
        return self.micro_batch * card.sequence // self.cp

    def sharded_tokens(self, card: ModelCard) -> int:
        """Those of them that a rank holds outside the matrices: a part of them with sequence parallelism."""
        return self.tokens(card) // (self.tp if self.sequence_parallel else 1)

    def check(self, card: ModelCard) -> None:
        """Raises Infeasible, saying what does not divide, when this model cannot be trained by this plan."""
        for what in ("tp", "pp", "dp", "cp", "ep", "chunks", "global_batch", "micro_batch", "bucket_bytes"):
            require(getattr(self, what) >= 1, f"{what} is {getattr(self, what)}; it must be positive")
        require(0 <= self.zero <= 3, f"ZeRO has stages 0 to 3, not {self.zero}")
        require(self.gradient_bytes in (2, 4), f"a gradient has 2 or 4 bytes, not {self.gradient_bytes}")
        order = ",".join(self.order)
        require(sorted(self.order) == ["cp", "dp", "pp", "tp"], f"order {order} must name tp, cp, dp and pp once")
        for what, size in (("heads", card.heads), ("key/value heads", card.key_value_heads), ("ffn", card.ffn)):
            _divides(self.tp, size, f"tp {self.tp} must divide the model's {size} {what}")
        _divides(self.cp, card.sequence, f"cp {self.cp} must divide the sequence of {card.sequence} tokens")
        if self.sequence_parallel:
            tokens = card.sequence // self.cp
            require(self.tp > 1, "sequence parallelism divides among tensor parallel ranks: it needs tp above 1")
            _divides(self.tp, tokens, f"with sequence parallelism tp {self.tp} must divide a rank's {tokens} tokens")
        self._check_context(card)
        self._check_batch()
        self._check_sharding()
        self._check_pipeline(card)
        self._check_experts(card)

    def _check_context(self, card: ModelCard) -> None:
        is_hierarchical = self.context is ContextMethod.HIERARCHICAL
        require(
            is_hierarchical == (self.context_inner is not None),
            "hierarchical context parallelism, and it alone, needs the inner ranks that share out heads",
        )
        inner = self.context_heads
        require(inner > 0, f"inner context parallel ranks are {inner}; they must be positive")
        _divides(inner, self.cp, f"{inner} inner context parallel ranks must divide cp {self.cp}")
        heads = (card.heads if card.latent else card.key_value_heads) // self.tp
        _divides(inner, heads, f"{inner} context parallel ranks cannot share out a rank's {heads} key/value heads")

    def _check_batch(self) -> None:
        step = self.dp * self.micro_batch
        _divides(
            step, self.global_batch, f"dp {self.dp} * micro-batch {self.micro_batch} must divide the global batch "
            f"{self.global_batch}",
        )  # fmt: skip

    def _check_sharding(self) -> None:
        require(self.prefetch >= 0, f"prefetch is {self.prefetch}; it cannot be negative")
        require(
            self.zero == 3 or (self.prefetch == 1 and not self.keep_gathered),
            f"only ZeRO 3 gathers ahead and keeps what it gathered; this is ZeRO {self.zero}",
        )
        if self.shard_group is None:
            return
        require(self.zero > 0, "a shard group divides what ZeRO 1 to 3 divide; this is ZeRO 0")
        require(self.shard_group > 0, f"shard group is {self.shard_group}; it must be positive")
        _divides(
            self.shard_group, self.copies, f"shard group {self.shard_group} must divide the {self.copies} ranks that "
            "hold the same parameters",
        )  # fmt: skip
        _divides(self.ep, self.shard_group, f"ep {self.ep} must divide the shard group of {self.shard_group}")

    def _check_pipeline(self, card: ModelCard) -> None:
        schedule = self.schedule
        interleaved = schedule is PipelineSchedule.INTERLEAVED
        if schedule.two_chunks:
            require(self.chunks == 2, f"the schedule {schedule} has 2 chunks of layers per stage, not {self.chunks}")
        else:
            require(
                self.chunks == 1 or interleaved,
                f"{self.chunks} chunks of layers per stage need the interleaved schedule",
            )
        require(self.pp > 1 or not (interleaved or schedule.two_chunks), f"the {schedule} schedule needs pp above 1")
        if interleaved:
            _divides(
                self.pp, self.micro_batches, f"the interleaved schedule needs a multiple of pp {self.pp} "
                f"micro-batches; there are {self.micro_batches}: choose another global batch",
            )  # fmt: skip
        if schedule in (PipelineSchedule.DUALPIPE, PipelineSchedule.DUALPIPE_V):
            self._check_dual()
        self._part_sizes(card)

    def _check_dual(self) -> None:
        schedule, least = self.schedule, 2 * self.pp
        require(
            self.micro_batches >= least, f"the schedule {schedule} needs 2 * pp = {least} micro-batches and more; "
            f"there are {self.micro_batches}: choose a greater global batch",
        )  # fmt: skip
        require(self.zero < 2, f"the schedule {schedule} keeps whole gradients: ZeRO 0 or 1, not {self.zero}")
        if schedule is PipelineSchedule.DUALPIPE:
            _divides(2, self.pp, f"DualPipe pairs opposite stages: pp {self.pp} must be even")
            _divides(2, self.micro_batches, f"DualPipe shares {self.micro_batches} micro-batches among two directions")

    def _check_experts(self, card: ModelCard) -> None:
        if card.experts is None:
            require(self.ep == 1, f"ep {self.ep}: {card.name} has no experts")
            return
        _divides(self.ep, card.experts.count, f"ep {self.ep} must divide the {card.experts.count} experts")
        _divides(self.ep, self.replicas, f"ep {self.ep} must divide dp * cp = {self.replicas}, from which it is taken")
        _divides(self.tp, card.experts.ffn, f"tp {self.tp} must divide the experts' ffn {card.experts.ffn}")
        require(
            self.tp == 1 or self.ep == 1 or self.sequence_parallel,
            "experts with both tp and ep need sequence parallelism, or tokens would be sent tp times",
        )

        self.loads.check(card.experts.count, sum(map(card.has_experts, range(card.layers))))
        require(
            self.loads.even or self.ep > 1, "experts on one rank each take what they get: skewed loads need ep above 1"
        )
        self._check_dispatch(card)

    def _check_dispatch(self, card: ModelCard) -> None:
        by_nodes = self.dispatch is TokenDispatch.NODES
        require(by_nodes or self.node_ranks is self.most_nodes is None, "nodes matter to dispatch by nodes only")
        require(
            self.ep > 1
            or not (by_nodes or self.token_format is TokenFormat.FP8 or self.dispatch is TokenDispatch.RANKS),
            "tokens are dispatched with ep above 1 only",
        )
        if not by_nodes:
            return
        size = self.expert_node_ranks
        require(size > 0, f"expert parallel ranks of a node are {size}; they must be positive")
        _divides(size, self.ep, f"{size} expert parallel ranks of a node must divide ep {self.ep}")
        shape = self.routing(card)
        require(0 < shape.most_nodes <= shape.nodes, f"a token cannot go to {shape.most_nodes} of {shape.nodes} nodes")
        reached = shape.experts // shape.nodes * shape.most_nodes
        require(shape.top_k <= reached, f"{shape.most_nodes} nodes have {reached} experts, and a token {shape.top_k}")

    @property
    def expert_node_ranks(self) -> int:
        """Expert parallel ranks of a node; those of 8 ranks in all unless told."""
        return self.node_ranks or min(self.ep, max(8 // self.tp, 1))

    def routing(self, card: ModelCard) -> RoutingShape:
        """How the experts lie."""
        assert card.experts
        size = self.expert_node_ranks if self.dispatch is TokenDispatch.NODES else self.ep
        nodes = self.ep // size
        return RoutingShape(card.experts.count, card.experts.top_k, self.ep, size, self.most_nodes or nodes)

    def part(self, stage: int, chunk: int) -> int:
        """Which part of the model, in the order of a forward pass, a stage's chunk is."""
        return part_of(self.schedule, stage, chunk, self.pp)

    def layers_of(self, card: ModelCard, stage: int, chunk: int) -> range:
        """The layers of a stage's chunk."""
        return layer_ranges(self._part_sizes(card))[self.part(stage, chunk)]

    def has_embedding(self, stage: int, chunk: int) -> bool:
        return self.part(stage, chunk) == 0

    def has_output(self, stage: int, chunk: int) -> bool:
        return self.part(stage, chunk) == self.parts - 1

    def _part_sizes(self, card: ModelCard) -> tuple[int, ...]:
        return split_layers(
            card.layers,
            self.schedule,
            self.pp,
            self.parts // self.pp,
            self.layers_per_stage,
            self.first_stage_layers,
            self.last_stage_layers,
            self.embeddings_count,
        )


def _divides(divisor: int, number: int, message: str) -> None:
    require(number % divisor == 0, message)
