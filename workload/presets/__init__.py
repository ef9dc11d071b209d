"""Published networks by name."""

from hocket.base.registry import Registry
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS"]

# The files of this folder that hold them. A new one is one line.
_FILES = ("resnet50", "gnmt", "turing_nlg", "transformer", "dlrm")
PRESETS: Registry[NetworkPreset] = Registry.of_files("network", "hocket.workload.presets", _FILES, "PRESETS")
