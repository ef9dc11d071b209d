"""Traces of serving: volumes, memory and batches by hand."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_models import EXPERTS, TINY, communicated

from hocket.base.errors import FormatError, Infeasible
from hocket.chakra import CollectiveType, NodeType, Trace
from hocket.chakra.extras import extra_attributes
from hocket.chakra.validate import validate
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS, parse_accelerator
from hocket.workload.llm import MODELS, Experts
from hocket.workload.llm.serving import (
    Pool,
    Request,
    Served,
    ServingPlan,
    Speculation,
    random_requests,
    read_requests,
    request_times,
    serving_traces,
)

H100 = ACCELERATORS["h100"]
SUM, A2A, GATHER = CollectiveType.ALL_REDUCE, CollectiveType.ALL_TO_ALL, CollectiveType.ALL_GATHER
HIDDEN = 2 * 256  # bytes of a token's hidden state
SLOW_MEMORY = parse_accelerator("peak=1000PFLOP/s,memory=1GB/s,capacity=80GB")  # all that counts is what is read


def passes(served: Served) -> list[list[tuple[int, int, bool]]]:
    """Of the first replica's steps: request, new tokens, whether of its prompt."""
    return [[(i.request.number, i.tokens, i.prefill) for i in step.batches[0]] for step in served.steps[0]]


def names(trace: Trace) -> list[str]:
    return [trace.strings[row] for row in trace.name]


def test_volumes_of_a_prompt_and_of_decoding() -> None:
    traces = serving_traces(TINY, ServingPlan(Pool(tp=2)), H100, [Request(0, 64, 3)]).traces
    assert validate(traces) == []
    # The embedding and two sums a layer, of 64 tokens once, then of one token for each of two more; logits of 500
    # words.
    assert communicated(traces, 0, SUM, "tp") == Counter({64 * HIDDEN: 17, HIDDEN: 2 * 17})
    assert communicated(traces, 0, GATHER, "tp") == Counter({2 * 500: 3})


def test_decoding_reads_weights_once_and_keys_and_values_of_every_request() -> None:
    requests = [Request(number, 100, 2) for number in range(5)]
    trace = serving_traces(TINY, ServingPlan(Pool()), SLOW_MEMORY, requests).traces.traces[0]
    row = names(trace).index("decode 1 layer 3 attention")
    qkv, output = 256 * (8 + 4 + 4) * 32, 8 * 32 * 256
    weights = 2 * (qkv + output)
    activations = 2 * 5 * (256 + 512 + 256 + 256 + 5 * 256)  # in and out of both matrices; norm and residual
    keys_values = 5 * 101 * 2 * 4 * 32 * 2
    queries = 2 * 5 * 8 * (32 + 32)
    assert trace.tensor_bytes[row] == weights + activations + keys_values + queries
    assert trace.duration_ns[row] == pytest.approx(trace.tensor_bytes[row], rel=0.01)  # 1 byte a nanosecond
    # Two operations for each weight and token; scores and values of 101 tokens.
    assert trace.num_ops[row] == 2 * 5 * (qkv + output) + 2 * 5 * 101 * 8 * 64


def test_latents_are_whole_on_every_rank() -> None:
    # arXiv:2412.19437: (512 + 64) elements per token and layer, whatever the tensor parallelism.
    card = MODELS["deepseek-v3"]
    for tp in (1, 8):
        assert ServingPlan(Pool()).key_values(card, Pool(tp=tp), 1000) == 1000 * 61 * (512 + 64) * 2
    # Grouped queries: 8 heads of 128 for keys and for values, one of each on a rank of 8, and of 16 too.
    llama = MODELS["llama3-70b"]
    assert ServingPlan(Pool()).key_values(llama, Pool(tp=8), 1000) == 1000 * 80 * 2 * 128 * 2
    assert ServingPlan(Pool()).key_values(llama, Pool(tp=16), 1000) == 1000 * 80 * 2 * 128 * 2


def test_weights_of_ranks_are_those_of_the_model() -> None:
    llama = MODELS["llama3-8b"]
    assert ServingPlan(Pool()).weights(llama, Pool()) == 2 * llama.num_parameters
    # A rank of 32 has 8 of 256 experts of 58 layers, three matrices of 7168 x 2048 each.
    deepseek = MODELS["deepseek-v3"]
    expert = 3 * 7168 * 2048
    assert ServingPlan(Pool()).weights(deepseek, Pool(dp=32, ep=32)) == 2 * (
        deepseek.num_parameters - 58 * (256 - 8) * expert
    )


def test_what_does_not_fit_is_refused_with_the_number() -> None:
    with pytest.raises(Infeasible, match=r"weights take 131\.4 GiB on a rank, and 67\.06 GiB of h100 may be used"):
        serving_traces(MODELS["llama3-70b"], ServingPlan(Pool()), H100, [Request(0, 8, 8)])
    # 320 KiB a token on a rank: 80 layers, keys and values of 4 heads of 128.
    with pytest.raises(Infeasible, match=r"request 0, 100000 and 8 tokens, take 15\.26 GiB on a rank, and 1\.346 GiB"):
        serving_traces(MODELS["llama3-70b"], ServingPlan(Pool(tp=2)), H100, [Request(0, 100_000, 8)])


def test_requests_wait_for_room() -> None:
    size = ServingPlan(Pool()).key_values(TINY, Pool(), 110)
    weights = ServingPlan(Pool()).weights(TINY, Pool())
    capacity = (weights + 2 * size) * 10 // 9 + 10
    accelerator = replace(H100, memory_bytes=capacity)
    served = serving_traces(TINY, ServingPlan(Pool()), accelerator, [Request(n, 100, 10) for n in range(4)])
    assert max(len(batch) for batch in passes(served)) == 2
    assert served.room == pytest.approx(2 * size, abs=10)


def test_whole_prompts_go_first() -> None:
    requests = [Request(n, 100, 3) for n in range(3)]
    served = serving_traces(TINY, ServingPlan(Pool(), max_tokens=250), H100, requests)
    assert passes(served) == [
        [(0, 100, True), (1, 100, True)],
        [(2, 100, True)],
        [(0, 1, False), (1, 1, False), (2, 1, False)],
        [(0, 1, False), (1, 1, False), (2, 1, False)],
    ]


def test_chunked_prompts_share_steps_with_decoding() -> None:
    requests = [Request(0, 100, 3), Request(1, 100, 2)]
    served = serving_traces(TINY, ServingPlan(Pool(), max_tokens=64, chunked=True), H100, requests)
    assert passes(served) == [
        [(0, 64, True)],
        [(0, 36, True), (1, 28, True)],
        [(0, 1, False), (1, 63, True)],
        [(0, 1, False), (1, 9, True)],
        [(1, 1, False)],
    ]
    said = [extra_attributes(served.traces.traces[0], row) for row in range(len(served.traces.traces[0]))]
    assert {one["pass"] for one in said} == {"prefill", "mixed", "decode"}
    assert {one["tokens"] for one in said if one.get("step") == 2} == {64}


def test_requests_that_come_later_find_an_idle_replica() -> None:
    late = 10**12
    served = serving_traces(TINY, ServingPlan(Pool()), H100, [Request(0, 10, 1), Request(1, 10, 1, late)])
    trace = served.traces.traces[0]
    idle = names(trace).index("idle before step 1")
    assert 0.99 * late < 1000 * trace.duration_ns[idle] < late
    prediction = simulate_traces(served.traces, load("switch:2,bandwidth=1GB/s,latency=1us"))
    first, second = request_times(served.traces, prediction.node_finish_ps)
    assert second.first_token_ps == pytest.approx(first.first_token_ps, rel=0.01)


def test_keys_and_values_go_from_the_ranks_that_made_them() -> None:
    plan = ServingPlan(Pool(tp=4), prefill=Pool(tp=2))
    served = serving_traces(TINY, plan, H100, [Request(0, 100, 5), Request(1, 50, 1)])
    assert validate(served.traces) == []
    # 4 heads of 32 in 8 layers, keys and values, on 2 ranks that make them and 4 that need them: each gets a quarter,
    # two from each. The second request wants no more than the token that comes of its prompt.
    quarter = 100 * 8 * 2 * 4 * 32 * 2 // 4
    messages = [
        (int(size), int(src), int(dst))
        for trace in served.traces.traces
        for kind, size, src, dst in zip(trace.type, trace.comm_bytes, trace.comm_src, trace.comm_dst, strict=True)
        if kind == NodeType.COMM_SEND
    ]
    assert messages == [(quarter, 0, 2), (quarter, 0, 3), (quarter, 1, 4), (quarter, 1, 5)]
    assert served.traces.groups == {"tp.0": (0, 1), "tp.1": (2, 3, 4, 5)}
    assert names(served.traces.traces[0]).count("request 1 last token") == 1
    times = request_times(
        served.traces,
        simulate_traces(served.traces, load("switch:6,bandwidth=10GB/s,latency=1us")).node_finish_ps,
    )
    assert times[0].last_token_ps > times[0].first_token_ps > 0 == times[1].token_ps


def test_experts_are_shared_by_replicas_with_requests_of_their_own() -> None:
    plan = ServingPlan(Pool(dp=4, ep=4))
    served = serving_traces(EXPERTS, plan, H100, [Request(0, 64, 2), Request(1, 32, 2)])
    assert validate(served.traces) == []
    # 7 layers with experts; 64 tokens go to 2 experts each, evenly to 4 ranks; one token for a rank of four is rounded
    # up. What comes back from rank 3, which has no request, are the shares of the first two.
    token, there = 4 * HIDDEN, 64 * 2 * HIDDEN
    assert communicated(served.traces, 0, A2A, "ep") == Counter(
        {there: 7, (32 + 16) * HIDDEN: 7, token: 7, 2 * HIDDEN: 7}
    )
    assert communicated(served.traces, 3, A2A, "ep") == Counter({0: 14, (32 + 16) * HIDDEN: 7, 2 * HIDDEN: 7})
    cuts = {served.traces.traces[3].strings[row] for row in set(served.traces.traces[3].in_splits.tolist()) - {-1}}
    assert cuts == {str([32 * HIDDEN, 16 * HIDDEN, 0, 0]), str([HIDDEN, HIDDEN, 0, 0])}


def test_speculation_takes_a_step_for_all_that_is_accepted() -> None:
    draft = replace(TINY, name="draft", layers=2)
    plan = ServingPlan(Pool(), speculation=Speculation(draft, 4, Fraction(3, 2)))
    served = serving_traces(TINY, plan, H100, [Request(0, 10, 11)])
    # 2.5 tokens per step: 2, 3, 2, 3 after the one that comes of the prompt; each checks 4 guesses and adds one.
    assert [item.emitted for step in served.steps[0] for item in step.batches[0]] == [1, 2, 3, 2, 3]
    assert passes(served)[1:] == [[(0, 5, False)]] * 4
    found = names(served.traces.traces[0])
    assert sum(name.startswith("draft 1 pass") and name.endswith("layer 1 attention") for name in found) == 4


@settings(max_examples=40, deadline=None)
@given(
    pool=st.sampled_from([Pool(), Pool(2, 2), Pool(1, 4, 4), Pool(2, 2, 4), Pool(2, 4, 4)]),
    prefill=st.sampled_from([None, Pool(1), Pool(2, 2), Pool(2, 2, 4)]),
    chunked=st.booleans(),
    rate=st.sampled_from([None, 100.0, 100_000.0]),
    count=st.integers(1, 7),
    speculates=st.booleans(),
)
def test_every_request_gets_all_of_its_tokens(
    pool: Pool, prefill: Pool | None, chunked: bool, rate: float | None, count: int, speculates: bool
) -> None:
    card = replace(EXPERTS, layers=2, experts=Experts(count=8, top_k=2, ffn=128, dense_layers=1))
    speculation = Speculation(replace(TINY, layers=1), 2, Fraction(1)) if speculates else None
    plan = ServingPlan(pool, prefill, max_batch=3, max_tokens=70, chunked=chunked, speculation=speculation)
    requests = random_requests(count, 50, 6, rate, 0.5, seed=count)
    served = serving_traces(card, plan, H100, requests)
    emitted: Counter[int] = Counter()
    read: Counter[int] = Counter()
    for step in (step for group in (*served.steps, *served.prefill_steps) for step in group):
        for item in (item for batch in step.batches for item in batch):
            emitted[item.request.number] += item.emitted
            read[item.request.number] += item.tokens if item.prefill else 0
    assert emitted == Counter({request.number: request.output for request in requests})
    assert read == Counter({request.number: request.prompt for request in requests})
    assert validate(served.traces) == []
    prediction = simulate_traces(served.traces, load(f"switch:{max(2, plan.num_ranks)},bandwidth=10GB/s,latency=1us"))
    times = request_times(served.traces, prediction.node_finish_ps)
    assert [time.output for time in times] == [request.output for request in requests]
    assert all(0 < time.first_token_ps <= time.last_token_ps for time in times)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ServingPlan(Pool(tp=3)), "tp 3 must divide the model's 8 heads"),
        (ServingPlan(Pool(dp=4, ep=3)), "ep 3 must divide the 8 experts"),
        (ServingPlan(Pool(dp=2, ep=4)), "ep 4 must divide tp \\* dp = 2"),
        (ServingPlan(Pool(tp=4, dp=2, ep=2)), "tp 4 must divide ep 2"),
        (ServingPlan(Pool(), prefill=Pool(tp=16)), "tp 16 must divide"),
        (ServingPlan(Pool(), speculation=Speculation(TINY, 2, Fraction(3))), "3 tokens cannot be accepted of 2"),
    ],
)
def test_what_cannot_be_is_refused(plan: ServingPlan, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        serving_traces(EXPERTS, plan, H100, [Request(0, 8, 8)])


def test_requests_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("arrival_ms,prompt,output\n12.5,100,10\n# later\n0,50,5\n")
    assert read_requests(path) == (Request(0, 50, 5), Request(1, 100, 10, 12_500_000_000))
    for text, message in (("1,2\n", ":1: expected"), ("1,2,0\n", ":1: a request has"), ("", "no requests")):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            read_requests(path)
    assert random_requests(5, 10, 10, 1.0, 0.5, 3) == random_requests(5, 10, 10, 1.0, 0.5, 3)
    assert np.diff([request.arrival_ps for request in random_requests(50, 10, 10, 1.0)]).min() > 0
