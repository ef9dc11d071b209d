"""Published networks by name."""

from collections.abc import Callable

from hocket.chakra.generate.architecture import Architecture
from hocket.chakra.generate.presets.dlrm import dlrm
from hocket.chakra.generate.presets.gnmt import gnmt
from hocket.chakra.generate.presets.resnet50 import resnet50
from hocket.chakra.generate.presets.transformer import transformer
from hocket.chakra.generate.presets.turing_nlg import turing_nlg

__all__ = ["PRESETS"]

PRESETS: dict[str, Callable[[], Architecture]] = {
    "resnet50": resnet50,
    "gnmt": gnmt,
    "turing-nlg": turing_nlg,
    "transformer": transformer,
    "dlrm": dlrm,
}
