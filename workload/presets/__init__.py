"""Published networks by name."""

from collections.abc import Callable

from hocket.workload.architecture import Architecture
from hocket.workload.presets.dlrm import dlrm
from hocket.workload.presets.gnmt import gnmt
from hocket.workload.presets.resnet50 import resnet50
from hocket.workload.presets.transformer import transformer
from hocket.workload.presets.turing_nlg import turing_nlg

__all__ = ["PRESETS"]

PRESETS: dict[str, Callable[[], Architecture]] = {
    "resnet50": resnet50,
    "gnmt": gnmt,
    "turing-nlg": turing_nlg,
    "transformer": transformer,
    "dlrm": dlrm,
}
