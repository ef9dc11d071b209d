"""A training job whose collectives are collected."""

from __future__ import annotations

import os
from pathlib import Path

from hocket.api.collect.request import CollectionRequest
from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.api.trace.request import TraceAnonymization, TraceInfo, TraceValidation
from hocket.base.files import copy_file, write_file
from hocket.recording.settings import variable

__all__ = ["collect"]

_STEPS, _SKIPPED = 5, 2


def collect(place: PartPlace) -> PartOutcome:
    """Fails where the job does, or its traces are not whole."""
    os.environ[variable("hook")] = "python"  # this process's alone: the compiled one takes half a minute to build
    script = Path(__file__).parents[3] / "examples" / "train_ddp.py"
    device = "cuda" if place.on_gpus else "cpu"
    arguments = ("--steps", str(_STEPS), "--device", device)
    collected = CollectionRequest.of(
        script, arguments, output=place.path / "traces", ranks=place.ranks, skip_steps=_SKIPPED
    ).perform()
    faults = [f"the job ended with exit code {collected.exit_code}"] if collected.exit_code else []
    valid = TraceValidation.of(place.path / "traces").perform()
    write_file(place.files / "validation.txt", valid.summary() + "\n")
    faults += [f"its traces: {valid.headline()}"] if valid.exit_code else []
    information = TraceInfo.of(place.path / "traces").perform().summary()
    write_file(place.files / "traces.txt", information + "\n")
    TraceAnonymization.of(place.path / "traces", output=place.files / "traces").perform()
    for path in sorted((place.path / "traces").rglob("summary.txt")):
        copy_file(path, place.files / path.name)
    return PartOutcome.of_faults(information.partition("\n")[0], tuple(faults))
