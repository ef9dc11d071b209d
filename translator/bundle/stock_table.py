"""A bundle's table for NCCL's tuner plugin: settings quicker than NCCL's own choice, where no program serves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hocket.base.units import format_bytes, format_limit, format_time
from hocket.translator.bundle.manifest import TUNER_TABLE, SettingTime, StockSetting

__all__ = ["StockTable", "gain_of", "table_readme"]


@dataclass(frozen=True, slots=True)
class StockTable:
    """The file's text, and its rules."""

    text: str
    settings: tuple[StockSetting, ...]


def gain_of(setting: StockSetting) -> SettingTime:
    """The predicted size at which a setting gains most."""
    return max(setting.predicted, key=lambda one: one.own_ps / max(1, one.time_ps))


def table_readme(settings: Sequence[StockSetting]) -> str:
    """Markdown: what the table says, and how NCCL comes to read it."""
    return "".join(f"{line}\n" for line in _lines(settings))


def _lines(settings: Sequence[StockSetting]) -> Iterator[str]:
    yield ""
    yield "## Settings of stock NCCL"
    yield f"No program serves these sizes: NCCL does, and by `{TUNER_TABLE}` quicker than by its own choice."
    yield ""
    yield "| from | to | NCCL takes | predicted | in place of |"
    yield "|---|---|---|---|---|"
    for one in settings:
        at = gain_of(one)
        own = f"{at.own}, {format_time(at.own_ps)}"
        window = f"{format_limit(one.min_bytes)} | {format_limit(one.max_bytes)}"
        yield f"| {window} | {one.algorithm} | {format_time(at.time_ps)} at {format_bytes(at.size_bytes)} | {own} |"
    yield ""
    yield "NCCL reads the table through Hocket's tuner plugin, with the same file on every node: ranks that choose"
    yield "differently hang. In the shell that starts the job:"
    yield ""
    yield f'    eval "$(hocket nccl env --table {TUNER_TABLE})"   # NCCL_TUNER_PLUGIN, HOCKET_NCCL_TUNER_TABLE'
    yield ""
    yield f"`hocket nccl tuner check {TUNER_TABLE}` says what the plugin makes of it."
