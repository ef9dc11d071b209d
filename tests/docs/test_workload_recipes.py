"""CONTRIBUTING.md's recipes of what jobs are made of: followed word for word in a copy of the house."""

from pathlib import Path

from house_copies import HouseCopy

from hocket.chakra import read_traces

ACCELERATOR = '    Figures("lab1", "the laboratory\'s", "100TFLOP/s", "100TFLOP/s", "", "1TB/s", "32GB", "0.5"),\n'
CARD = """_TINY = ModelCard(
    name="tiny", summary="a test's",
    layers=4, hidden=512, heads=8, key_value_heads=8, head_dim=64, ffn=2048,
    vocabulary=32000, sequence=1024, source="nobody",
)  # fmt: skip

MODELS = Registry(
    "model",
    (_TINY, """
NETWORK = '''"""A perceptron: 784 inputs, 100 inside, 10 outputs."""

from hocket.workload.architecture import Architecture, Block, Split
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS", "perceptron"]


def perceptron() -> Architecture:
    blocks = tuple(
        Block(f"layer{at}", inputs * outputs, 2 * inputs * outputs, inputs, outputs, Split.OUTPUTS)
        for at, (inputs, outputs) in enumerate(((784, 100), (100, 10)), 1)
    )
    return Architecture("a perceptron", "a textbook", blocks, batch=32, sample="an image", update_bytes=8)


PRESETS = (NetworkPreset(perceptron, "79,400", name="perceptron", summary="digits", source="a textbook"),)
'''


def test_an_accelerator_and_a_model_are_an_entry_each(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["workload"])
    house.replace("workload/accelerator_figures.py", "FIGURES = (\n", f"FIGURES = (\n{ACCELERATOR}")
    house.replace("workload/llm/presets.py", 'MODELS = Registry(\n    "model",\n    (', CARD)
    traces = tmp_path / "traces"
    ask = ["generate", "llm", "tiny", "--accelerator", "lab1", "--global-batch", "8", "--dp", "2", "-o", str(traces)]
    done = house.hocket(*ask)
    assert done.returncode == 0, done.stderr
    assert read_traces(traces).num_ranks == 2
    assert "lab1" in house.hocket("generate", "llm", "--help").stdout
    assert "`lab1`" in house.table("accelerators") and "`tiny`" in house.table("models")
    done = house.hocket(*["tny" if word == "tiny" else word for word in ask])
    assert (done.returncode, "did you mean 'tiny'?" in done.stderr) == (3, True), done.stderr


def test_a_published_network_is_a_file_and_a_line(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["workload"])
    house.write("workload/presets/perceptron.py", NETWORK)
    house.replace("workload/presets/__init__.py", '"transformer", "dlrm")', '"transformer", "dlrm", "perceptron")')
    traces = tmp_path / "traces"
    done = house.hocket("generate", "network", "perceptron", "--ranks", "4", "-o", str(traces))
    assert done.returncode == 0, done.stderr
    assert read_traces(traces).num_ranks == 4
    assert "79,400" in house.table("networks")
