"""`hocket generate llm` as users type it."""

import json
from pathlib import Path

import pytest
from in_process import hocket

from hocket.chakra import read_traces
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import MODELS, ParallelPlan, llm_traces

CONFIG = {
    "model_type": "mixtral",
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "intermediate_size": 512,
    "vocab_size": 1000,
    "max_position_embeddings": 256,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
}


@pytest.mark.parametrize(
    "options",
    [
        ("--tp", 2, "--sequence-parallel", "--pp", 2, "--dp", 2, "--zero", 1),
        ("--dp", 4, "--ep", 2, "--zero", 3, "--recompute", "full", "--gradient-bytes", 2),
        ("--cp", 2, "--dp", 2, "--context", "all_gather", "--bucket-size", "1MB"),
        ("--pp", 2, "--schedule", "interleaved", "--chunks", 2, "--order", "pp,dp,cp,tp"),
        ("--pp", 3, "--embeddings-count", "--schedule", "zb-h1", "--accelerator", "b200", "--precision", "fp8"),
    ],
)
def test_a_generated_step_is_valid_and_simulates(tmp_path: Path, options: tuple[object, ...]) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    made = hocket("generate", "llm", config, "--global-batch", 8, *options, "-o", tmp_path / "traces")
    assert made.returncode == 0, made.stderr
    assert "micro-batches of 1 x 256 tokens" in made.stdout
    checked = hocket("trace", "validate", tmp_path / "traces")
    assert checked.returncode == 0, checked.stdout
    predicted = hocket("simulate", tmp_path / "traces", "--topology", "dgx-h100:nodes=1")
    assert predicted.returncode == 0, predicted.stderr
    assert "exposed communication" in predicted.stdout


def test_the_files_hold_what_the_python_api_makes(tmp_path: Path) -> None:
    made = hocket("generate", "llm", "llama3-8b", "--dp", 2, "--pp", 2, "--global-batch", 4, "-o", tmp_path)
    assert made.returncode == 0, made.stderr
    assert "llama3-8b: 8.03 billion parameters" in made.stdout
    read, expected = read_traces(tmp_path), llm_traces(
        MODELS["llama3-8b"], ParallelPlan(dp=2, pp=2, global_batch=4), ACCELERATORS["h100"]
    )  # fmt: skip
    assert read.groups == expected.groups
    for a, b in zip(read.traces, expected.traces, strict=True):
        assert a.duration_ns.tolist() == b.duration_ns.tolist()
        assert a.comm_bytes.tolist() == b.comm_bytes.tolist()
        assert [a.strings[name] for name in a.name] == [b.strings[name] for name in b.name]


def test_what_does_not_fit_is_warned_about(tmp_path: Path) -> None:
    made = hocket("generate", "llm", "llama2-70b", "--dp", 2, "--global-batch", 2, "-o", tmp_path)
    assert made.returncode == 0
    assert "warning: that does not fit: h100 has 74.51 GiB" in made.stderr


def test_efficiency_stretches_computation(tmp_path: Path) -> None:
    times = []
    for efficiency in ("0.8", "40%"):
        folder = tmp_path / efficiency
        made = hocket(
            "generate", "llm", "llama3-8b", "--global-batch", 1, "--efficiency", efficiency, "--accelerator",
            "peak=100TFLOP/s,memory=100TB/s,efficiency=1", "-o", folder,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        trace = read_traces(folder).traces[0]
        layers = [trace.strings[name].startswith("forward 0 layer") for name in trace.name]
        times.append(int(trace.duration_ns[layers].sum()))
    # The multiplications take twice as long; norms and residuals are bound by the memory and stay.
    assert 1.95 < times[1] / times[0] <= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tp", 5), "tp 5 must divide the model's 32 heads"),
        (("--tp", 16), "tp 16 must divide the model's 8 key/value heads"),
        (("--pp", 33), "32 layers are too few for pp 33 * 1 chunks"),
        (("--dp", 3), "dp 3 * micro-batch 1 must divide the global batch 8"),
        (("--ep", 2, "--dp", 2), "llama3-8b has no experts"),
        (("--cp", 3), "cp 3 must divide the sequence of 8192 tokens"),
        (("--sequence-parallel",), "needs tp above 1"),
        (("--chunks", 2), "need the interleaved schedule"),
        (("--pp", 16, "--schedule", "interleaved"), "needs a multiple of pp 16 micro-batches; there are 8"),
        (("--pp", 34, "--embeddings-count"), "a stage would have no layer left"),
        (("--gradient-bytes", 3), "a gradient has 2 or 4 bytes, not 3"),
        (("--order", "tp,dp"), "order tp,dp must name tp, cp, dp and pp once"),
        (("--sequence", 1 << 30), "a node has 2^63 operations or bytes and more"),
    ],
)
def test_impossible_plans_are_refused(tmp_path: Path, options: tuple[object, ...], message: str) -> None:
    made = hocket("generate", "llm", "llama3-8b", "--global-batch", 8, *options, "-o", tmp_path / "traces")
    assert made.returncode == 4
    assert message in made.stderr
    assert not (tmp_path / "traces").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("llama4",), "no such model or config.json"),
        (("llama3-8b", "--accelerator", "h1000"), "did you mean 'h100'"),
        (("llama3-8b", "--accelerator", "a100", "--precision", "fp8"), "a100 has no fp8"),
        (("llama3-8b", "--efficiency", "2"), "above 0 and at most 1"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    made = hocket("generate", "llm", *arguments, "--global-batch", 8, "-o", tmp_path / "traces")
    assert made.returncode == 3
    assert message in made.stderr
