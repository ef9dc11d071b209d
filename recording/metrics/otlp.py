"""Metrics as OTLP's JSON, for a collector's HTTP endpoint (https://opentelemetry.io/docs/specs/otlp/)."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any

from hocket.base.errors import HocketError, RequestError
from hocket.base.version import __version__
from hocket.recording.metrics.families import BUCKETS, Family, Histogram, Labels

__all__ = ["otlp_json", "push", "require_url"]

_UNITS = {"seconds": "s", "bytes": "By", "bytes_per_second": "By/s", "": "1"}
_CUMULATIVE = 2
_PATIENCE_S = 10


def otlp_json(families: Iterable[Family], resource: Mapping[str, str], start_ns: int, now_ns: int) -> dict[str, Any]:
    """An ExportMetricsServiceRequest. `start_ns` is when counting began, `now_ns` when it was read, since the epoch."""
    times = {"startTimeUnixNano": str(start_ns), "timeUnixNano": str(now_ns)}
    return {
        "resourceMetrics": [
            {
                "resource": {"attributes": _attributes(tuple(resource.items()))},
                "scopeMetrics": [
                    {
                        "scope": {"name": "hocket.collect", "version": __version__},
                        "metrics": [_metric(family, times) for family in families],
                    }
                ],
            }
        ]
    }


def require_url(url: str) -> None:
    """Raises RequestError for what metrics cannot be posted to."""
    try:
        parts = urllib.parse.urlsplit(url)
        is_known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, an address in half a bracket
        is_known = False
    if not is_known:
        raise RequestError(f"--otlp {url}: expected an http:// or https:// URL, as http://localhost:4318")


def push(url: str, request: Mapping[str, Any]) -> None:
    """Posts to a collector, `http://host:4318`, whose path for metrics is added where `url` has none.

    Raises HocketError naming the address when it does not take it.
    """
    address = url if url.rstrip("/").count("/") > 2 else f"{url.rstrip('/')}/v1/metrics"
    body = json.dumps(request).encode()
    require_url(url)
    posted = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(posted, timeout=_PATIENCE_S):
            pass
    except (OSError, ValueError) as error:  # urllib's errors are OSErrors
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise HocketError(f"{address}: metrics could not be sent: {reason}") from error


def _metric(family: Family, times: Mapping[str, str]) -> dict[str, Any]:
    name = family.name.removesuffix(f"_{family.unit}") if family.unit else family.name
    named = {"name": name.replace("_", ".", 1), "unit": _UNITS[family.unit], "description": family.help}
    points = [_point(labels, value, times) for labels, value in family.samples]
    if family.type == "gauge":
        return named | {"gauge": {"dataPoints": points}}
    cumulative = {"dataPoints": points, "aggregationTemporality": _CUMULATIVE}
    if family.type == "histogram":
        return named | {"histogram": cumulative}
    return named | {"sum": cumulative | {"isMonotonic": True}}


def _point(labels: Labels, value: float | Histogram, times: Mapping[str, str]) -> dict[str, Any]:
    point: dict[str, Any] = {"attributes": _attributes(labels), **times}
    if not isinstance(value, Histogram):
        return point | {"asDouble": value}
    counts = {"bucketCounts": [str(count) for count in value.counts], "count": str(sum(value.counts))}
    return point | counts | {"sum": value.sum, "explicitBounds": list(BUCKETS)}


def _attributes(labels: Labels) -> list[dict[str, Any]]:
    return [{"key": name, "value": {"stringValue": value}} for name, value in labels]
