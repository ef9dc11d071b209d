"""The native algorithms: each a generator of an untimed schedule."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.schedule.algorithms.multi_ring import along_rings
    from hocket.schedule.algorithms.native import Form, NativeAlgorithm
    from hocket.schedule.algorithms.packed_trees import PackedTree, along_trees
    from hocket.schedule.algorithms.pattern import Pattern
    from hocket.schedule.algorithms.registry import ALGORITHMS, build, build_all, pattern, patterns

__all__ = [
    "ALGORITHMS",
    "Form",
    "NativeAlgorithm",
    "PackedTree",
    "Pattern",
    "along_rings",
    "along_trees",
    "build",
    "build_all",
    "pattern",
    "patterns",
]
