"""All parts of the self-test, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.base.errors import RequestError
from hocket.base.registry import Entry, Registry

__all__ = ["PARTS", "VERSIONS", "SelfTestPart"]

VERSIONS = "versions"
"""The part that says what there is to be tested."""


@dataclass(frozen=True, kw_only=True)
class SelfTestPart(Entry):
    """`target` (`module:function`, in this folder) does it within `limit_s`; `on_gpus`: of the half that needs them;
    `by_torch`: whether it needs PyTorch."""

    target: str
    limit_s: float
    on_gpus: bool = False
    by_torch: bool = True

    def perform(self, place: PartPlace) -> PartOutcome:
        """Does it. Raises HocketError where it cannot."""
        module, _, function = self.target.partition(":")
        perform: Callable[[PartPlace], PartOutcome] = getattr(
            import_module(f"hocket.api.selftest.parts.{module}"), function
        )
        return perform(place)


_SUMMARIES = {
    "programs": "programs of all collectives, made for this machine and proved",
    "stock": "every collective by the stock library: values of all types, and its tables",
    "native": "the same by Hocket's programs, run by the engine for CPU cores",
    "device": "the same by Hocket's programs, run by the device interpreter",
    "messages": "the same by Hocket's programs, over the stock library's sends and receives",
    "job": "a training job, collected; its traces",
}


def _half(on_gpus: bool) -> list[SelfTestPart]:
    prefix = "gpu-" if on_gpus else ""
    targets = {"programs": "programs:make", "job": "job:collect"}
    return [
        SelfTestPart(
            name=f"{prefix}{name}",
            summary=summary,
            target=targets.get(name, f"collectives:{name}"),
            limit_s=300.0 if name in targets else 600.0,
            on_gpus=on_gpus,
            by_torch=name != "programs",
        )
        for name, summary in _SUMMARIES.items()
        if name != "native" or not on_gpus
    ]


PARTS = Registry(
    "part of the self-test",
    (
        SelfTestPart(
            name=VERSIONS,
            summary="versions of Hocket, Python, PyTorch, NCCL and the driver",
            target="versions:find",
            limit_s=300.0,
            by_torch=False,
        ),
        SelfTestPart(
            name="gpu-topology",
            summary="how the GPUs are joined, by nvidia-smi and by NCCL",
            target="topology:find",
            limit_s=120.0,
            on_gpus=True,
            by_torch=False,
        ),
        *_half(on_gpus=True),
        SelfTestPart(
            name="gpu-plugins",
            summary="Hocket's profiler and tuner plugins, loaded by NCCL",
            target="plugins:load",
            limit_s=120.0,
            on_gpus=True,
        ),
        *_half(on_gpus=False),
    ),
    RequestError,
)
