"""Predicted times of training steps beside measured ones.

Measured: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models (arXiv:2205.05198), table 5,
on DGX A100 with 8 HDR InfiniBand ports; models and plans from its table 3. The first time is with full recomputation,
the second with sequence parallelism and selective recomputation.

Run: python -m hocket.bench.llm_measured
"""

from dataclasses import dataclass

from hocket.base.units import format_time
from hocket.bench.command_line import command_line
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import AttentionKernel, ModelCard, ParallelPlan, PipelineSchedule, Recomputation, llm_traces


@dataclass(frozen=True)
class Case:
    """A model, its plan of tp 8 and `stages`, and the two measured times in seconds."""

    name: str
    layers: int
    hidden: int
    heads: int
    stages: int
    chunks: int
    batch: int
    micro_batch: int
    measured: tuple[float, float]

    @property
    def card(self) -> ModelCard:
        return ModelCard(
            name=self.name, layers=self.layers, hidden=self.hidden, heads=self.heads, key_value_heads=self.heads,
            head_dim=self.hidden // self.heads, ffn=4 * self.hidden, vocabulary=51200, sequence=2048, gated=False,
            layer_norm=True, biases=True, positions=2048, tied_embeddings=True,
        )  # fmt: skip

    def plan(self, recomputation: Recomputation) -> ParallelPlan:
        return ParallelPlan(
            tp=8,
            pp=self.stages,
            schedule=PipelineSchedule.INTERLEAVED if self.chunks > 1 else PipelineSchedule.ONE_F_ONE_B,
            chunks=self.chunks,
            global_batch=self.batch,
            micro_batch=self.micro_batch,
            sequence_parallel=recomputation is Recomputation.SELECTIVE,
            recomputation=recomputation,
            attention=AttentionKernel.UNFUSED,
        )


CASES = (
    Case("22B", 48, 6144, 64, 1, 1, 4, 4, (1.42, 1.10)),
    Case("175B", 96, 12288, 96, 8, 3, 64, 1, (18.13, 13.75)),
    Case("530B", 105, 20480, 128, 35, 3, 280, 1, (49.05, 37.83)),
)
MODES = (Recomputation.FULL, Recomputation.SELECTIVE)


def main() -> None:
    print(
        f"{'model':<6} {'ranks':>5} {'recomputation':<14} {'nodes':>9} {'predicted':>10} {'measured':>9} {'ratio':>6}"
    )
    for case in CASES:
        for mode, measured in zip(MODES, case.measured, strict=True):
            _print_case(case, mode, measured)


def _print_case(case: Case, mode: Recomputation, measured: float) -> None:
    plan = case.plan(mode)
    traces = llm_traces(case.card, plan, ACCELERATORS["a100"])
    time_ps = simulate_traces(traces, load(f"dgx-a100:nodes={plan.num_ranks // 8}")).time_ps
    print(
        f"{case.name:<6} {plan.num_ranks:5} {mode:<14} {sum(map(len, traces.traces)):9} {format_time(time_ps):>10}"
        f" {measured:>7.2f} s {time_ps / 1e12 / measured:6.3f}"
    )


if __name__ == "__main__":
    command_line().parse_args()
    main()
