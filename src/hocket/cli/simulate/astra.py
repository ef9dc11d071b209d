"""`hocket simulate PREFIX --compat astra-sim`: ASTRA-sim's own result from its own files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hocket.cli.options import given, one_of

if TYPE_CHECKING:
    from hocket.simulator.astra import AstraPrediction

__all__ = ["AstraOptions", "refuse_mixed", "simulate_as_astra_sim"]

# Parameters of `hocket simulate` that mean something with --compat only, and either way; others only without it.
_ONLY = {"network", "system", "memory", "num_queues_per_dim", "injection_scale", "rendezvous_protocol"}
_EITHER_WAY = {"what", "model", "groups", "json_path", "compat"}


@dataclass(frozen=True)
class AstraOptions:
    """ASTRA-sim's files and command-line options, by its names."""

    compat: str
    network: Path | None
    system: Path | None
    memory: Path | None
    num_queues_per_dim: int
    injection_scale: float
    rendezvous_protocol: bool


def refuse_mixed(context: typer.Context, is_compat: bool) -> None:
    """A usage error for options given that would do nothing with --compat, or without it."""
    options = given(context)
    idle = options.keys() - _EITHER_WAY - (_ONLY if is_compat else options.keys() - _ONLY)
    names = ", ".join(sorted(options[name] for name in idle))
    if names and is_compat:
        raise typer.BadParameter(f"--compat takes ASTRA-sim's files: drop {names}")
    if names:
        raise typer.BadParameter(f"ASTRA-sim's options are for --compat astra-sim: add it, or drop {names}")


def simulate_as_astra_sim(
    prefix: str, groups: Path | None, model: str, options: AstraOptions, json_path: Path | None
) -> None:
    """Prints, and writes, what ASTRA-sim would: finish and exposed cycles of every rank."""
    from hocket.chakra import read_traces
    from hocket.simulator.astra import AstraBackend, read_setup, simulate_astra

    one_of("--compat", options.compat, ["astra-sim"])
    if options.network is None or options.system is None:
        raise typer.BadParameter("--compat astra-sim needs its files: --network network.yml --system system.json")
    one_of("--compat astra-sim --model", model, AstraBackend)
    setup = read_setup(
        options.network,
        options.system,
        options.memory,
        backend=model,
        queues_per_dimension=options.num_queues_per_dim,
        injection_scale=options.injection_scale,
        rendezvous=options.rendezvous_protocol,
    )
    prediction = simulate_astra(read_traces(prefix, groups), setup)
    _print(prediction)
    if json_path:
        prediction.to_json(json_path)
        typer.echo(f"wrote {json_path}")


def _print(prediction: AstraPrediction) -> None:
    finish, exposed = prediction.finish_ns, prediction.exposed_ns
    last = int(finish.argmax())
    typer.echo(f"ASTRA-sim compatible, model {prediction.backend}: {len(finish)} ranks, {prediction.messages} messages")
    typer.echo(f"  finish                 {finish.min()} to {finish[last]} ns, rank {last} is last")
    typer.echo(f"  exposed communication  {exposed[last]} ns on rank {last}")
    for note in prediction.notes:
        typer.echo(f"  note: {note}")
