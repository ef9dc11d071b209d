"""Metrics as text: OpenMetrics 1.0, and the older Prometheus format of node_exporter's textfile collector."""

from collections.abc import Iterable, Iterator, Sequence

from hocket.recording.metrics.families import BUCKETS, Family, Histogram, Labels

__all__ = ["CLASSIC_TYPE", "OPENMETRICS_TYPE", "classic_text", "openmetrics_text"]

OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
CLASSIC_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def openmetrics_text(families: Iterable[Family]) -> str:
    """OpenMetrics 1.0.0 (https://github.com/prometheus/OpenMetrics), with units."""
    lines: list[str] = []
    for family in families:
        lines.append(f"# TYPE {family.name} {family.type}")
        if family.unit:
            lines.append(f"# UNIT {family.name} {family.unit}")
        lines.append(f"# HELP {family.name} {_escaped(family.help)}")
        lines += _samples(family)
    return "\n".join([*lines, "# EOF", ""])


def classic_text(families: Iterable[Family]) -> str:
    """Prometheus' text format 0.0.4, in which a counter's name has its ending."""
    lines: list[str] = []
    for family in families:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        lines += [f"# HELP {name} {_escaped(family.help)}", f"# TYPE {name} {family.type}", *_samples(family)]
    return "\n".join([*lines, ""])


def _samples(family: Family) -> Iterator[str]:
    for labels, value in family.samples:
        if isinstance(value, Histogram):
            yield from _histogram(family.name, labels, value)
        else:
            ending = "_total" if family.type == "counter" else ""
            yield f"{family.name}{ending}{_labels(labels)} {_number(value)}"


def _histogram(name: str, labels: Labels, value: Histogram) -> Iterator[str]:
    bounds: Sequence[float] = (*BUCKETS, float("inf"))
    total = 0
    for bound, count in zip(bounds, value.counts, strict=True):
        total += count
        text = "+Inf" if bound == float("inf") else repr(bound)
        yield f"{name}_bucket{_labels((*labels, ('le', text)))} {total}"
    yield f"{name}_sum{_labels(labels)} {_number(value.sum)}"
    yield f"{name}_count{_labels(labels)} {total}"


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(text: str) -> str:
    """Backslash, quote and newline as the format wants them; other control characters, which it has no way to write,
    as people read them."""
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return "".join(letter if letter.isprintable() else f"\\\\x{ord(letter):02x}" for letter in escaped)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
