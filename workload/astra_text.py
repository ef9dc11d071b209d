"""Workload text files of ASTRA-sim 1.0.

The first line names the parallelism, with options (`HYBRID_TRANSFORMER model_parallel_NPU_group: 4`); the second has
the number of layers; then comes a line per layer: name, an unused number, and for forward, input gradient and weight
gradient the computation (cycles of 1 ns), the collective and its bytes; the update time; and, in HYBRID_CUSTOMIZED,
the parallelism of the layer.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from hocket.base.errors import FormatError, HocketError
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest
from hocket.workload.network import Layer, Network, Pass, Scope
from hocket.workload.table import KINDS

__all__ = ["AstraText", "read_astra_text"]

_KINDS = {"NONE": None} | {name.upper().replace("_", ""): kind for name, kind in KINDS.items()}
_NUM_FIELDS = 12
_CUSTOMIZED = "HYBRID_CUSTOMIZED"
_DLRM = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
_OPTIONS = ("model_parallel_NPU_group", "DLRM_LAST_BOTTOM_LAYER")
_MOST = 2**62

# Scopes of forward and input gradient, and of the weight gradient; None: what the file says there is not done.
# HYBRID_MODEL_DATA has data parallelism among neighbours, so that model-parallel ranks are spread.
_POLICIES: dict[str, tuple[Scope | None, Scope | None]] = {
    "DATA": (None, Scope.ALL),
    "MODEL": (Scope.ALL, None),
    "HYBRID_TRANSFORMER": (Scope.MODEL, Scope.DATA),
    "HYBRID_DATA_MODEL": (Scope.MODEL, Scope.DATA),
    "HYBRID_MODEL_DATA": (Scope.DATA, Scope.MODEL),
    **dict.fromkeys(_DLRM, (Scope.ALL, Scope.ALL)),
}


@dataclass(frozen=True)
class AstraText:
    """A workload file: its network, its first word, and the plan that this implies (as `parse_plan` reads it).

    `plan` is None where the file does not say how many ranks share a model.
    """

    network: Network
    policy: str
    plan: str | None


def read_astra_text(path: Path | str) -> AstraText:
    """Reads a workload text file. Raises FormatError, naming file and line, for anything that is not of this form."""
    lines = [(number, line) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    if len(lines) < 2:
        raise FormatError(f"{path}: expected a line with the parallelism, one with the number of layers, and layers")
    (first, head), (second, count), *rest = lines
    words = head.split()
    policy = words[0]
    if policy not in (*_POLICIES, _CUSTOMIZED):
        raise FormatError(f"{path}:{first}: '{policy}' is not read; {nearest(policy, (*_POLICIES, _CUSTOMIZED))}")
    options = _options(words[1:], f"{path}:{first}")
    if count.split() != [str(len(rest))]:
        raise FormatError(f"{path}:{second}: expected the number of layers, {len(rest)}, but this is '{count.strip()}'")
    layers = [_layer(line.split(), policy, at == 0, f"{path}:{number}") for at, (number, line) in enumerate(rest)]
    if policy in _DLRM and layers:
        layers = _overlapped(layers, options, f"{path}:{first}")
    try:
        return AstraText(Network(tuple(layers)), policy, _plan(policy, options))
    except HocketError as error:
        raise FormatError(f"{path}: {error}") from error


def _options(words: list[str], place: str) -> dict[str, int]:
    """`name: 4 other: 5`; a lone number is that of HYBRID_DLRM's older form."""
    if len(words) == 1:
        words = ["DLRM_LAST_BOTTOM_LAYER:", *words]
    names, values = words[::2], words[1::2]
    if len(names) != len(values) or not all(re.fullmatch("[0-9]{1,9}", value) for value in values):
        raise FormatError(f"{place}: expected options such as 'model_parallel_NPU_group: 4'")
    for name in names:
        if name.rstrip(":") not in _OPTIONS:
            raise FormatError(f"{place}: option '{name}' is not read; {nearest(name, _OPTIONS)}")
    return {name.rstrip(":"): int(value) for name, value in zip(names, values, strict=True)}


def _plan(policy: str, options: dict[str, int]) -> str | None:
    if policy == "HYBRID_TRANSFORMER" and "model_parallel_NPU_group" in options:
        return f"hybrid:{options['model_parallel_NPU_group']}"
    return {"DATA": "data", "MODEL": "model"}.get("DATA" if policy in _DLRM else policy)


def _layer(words: list[str], policy: str, is_first: bool, place: str) -> Layer:
    expected = _NUM_FIELDS + (policy == _CUSTOMIZED)
    weights_first = policy in ("DATA", *_DLRM)
    if len(words) != expected:
        raise FormatError(f"{place}: {len(words)} fields, but a layer of {policy} has {expected}")
    if policy == _CUSTOMIZED:
        policy = words[-1]
        if policy not in _POLICIES or policy in _DLRM:
            raise FormatError(f"{place}: '{policy}' is no parallelism of a layer; {nearest(policy, _POLICIES)}")
    if policy in _DLRM and not is_first:
        policy = "DATA"
    activations, weights = _POLICIES[policy]
    forward = _pass(words[2:5], activations, place)
    input_gradient = _pass(words[5:8], activations, place)
    weight_gradient = _pass(words[8:11], weights, place)
    if is_first and weights_first:  # these loops end with the first layer's weight gradient
        input_gradient = replace(input_gradient, duration_ns=0)
    elif is_first and policy != "HYBRID_TRANSFORMER":  # nobody is there to get it
        input_gradient = Pass(input_gradient.duration_ns)
    update = Pass(_number(words[11], place))
    return Layer(words[0], forward, input_gradient, weight_gradient, update)


def _pass(words: list[str], scope: Scope | None, place: str) -> Pass:
    duration_ns, num_bytes = _number(words[0], place), _number(words[2], place)
    if words[1] not in _KINDS:
        raise FormatError(f"{place}: '{words[1]}' is not a collective that is read; {nearest(words[1], _KINDS)}")
    kind = _KINDS[words[1]]
    return Pass(duration_ns) if kind is None or scope is None else Pass(duration_ns, 0, 0, kind, num_bytes, scope)


def _number(word: str, place: str) -> int:
    value = int(word) if re.fullmatch("[0-9]{1,19}", word) else _MOST
    if value >= _MOST:
        raise FormatError(f"{place}: expected a whole number of cycles or bytes, but this is '{word}'")
    return value


def _overlapped(layers: list[Layer], options: dict[str, int], place: str) -> list[Layer]:
    """HYBRID_DLRM: what the first layer (embeddings) exchanges is awaited behind the last bottom layer."""
    last_bottom = options.get("DLRM_LAST_BOTTOM_LAYER")
    if last_bottom is None or not last_bottom + 1 < len(layers):
        raise FormatError(f"{place}: expected 'DLRM_LAST_BOTTOM_LAYER: N' with a layer behind layer N (from 0)")
    return [replace(layers[0], needed_by=layers[last_bottom + 1].name), *layers[1:]]
