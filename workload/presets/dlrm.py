"""DLRM: Naumov et al., "Deep learning recommendation model for personalization and recommendation systems", 2019,
arXiv:1906.00091, in MLPerf's configuration for the Criteo 1 TB data set (tables cut at 40 million rows)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hocket.workload.architecture import Architecture, Block, Split
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS", "dlrm"]

_WIDTH = 128
_BOTTOM = (13, 512, 256, _WIDTH)
_TOP = (1024, 1024, 512, 256, 1)
_ROWS = (
    *(39_884_406, 39_043, 17_289, 7_420, 20_263, 3, 7_120, 1_543, 63, 38_532_951, 2_953_546, 403_346, 10),
    *(2_208, 11_938, 155, 4, 976, 14, 39_979_771, 25_641_295, 39_664_984, 585_935, 12_972, 108, 36),
)


def dlrm() -> Architecture:
    """The embedding tables, whose exchange overlaps the bottom layers; these; the interaction; the top layers."""
    vectors = len(_ROWS) + 1
    interactions = vectors * (vectors - 1) // 2 + _WIDTH
    tables = Block(
        "embedding tables",
        parameters=sum(_ROWS) * _WIDTH,
        flops=0,
        inputs=len(_ROWS) * _WIDTH,
        outputs=len(_ROWS) * _WIDTH,
        split=Split.TABLES,
        read=0,
        needed_by="interaction",
    )
    interaction = Block("interaction", 0, 2 * vectors * vectors * _WIDTH, vectors * _WIDTH, interactions)
    return Architecture(
        title="DLRM",
        source="Naumov et al. 2019, MLPerf's configuration",
        blocks=(tables, *_layers("bottom", _BOTTOM), interaction, *_layers("top", (interactions, *_TOP))),
        batch=2048,
        sample=f"13 numbers and {len(_ROWS)} table rows",
        update_bytes=12,  # SGD in 4-byte numbers: reads gradient and weight, writes the weight
    )


def _layers(name: str, widths: Sequence[int]) -> Iterator[Block]:
    for at, (inputs, outputs) in enumerate(pairwise(widths), start=1):
        yield Block(f"{name}{at}", inputs * outputs + outputs, 2 * inputs * outputs, inputs, outputs)


PRESETS = (
    NetworkPreset(
        dlrm,
        "187,767,399 rows of 128",
        name="dlrm",
        summary="recommendations from embedding tables",
        source="Naumov et al. 2019, arXiv:1906.00091, MLPerf's",
        example="hocket generate network dlrm --ranks 8 -o traces/",
    ),
)
