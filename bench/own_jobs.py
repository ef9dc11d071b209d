"""How far predictions of jobs on this machine's own gloo and MPI are from what was recorded.

Run: python -m hocket.bench.own_jobs [--ranks 2] [--steps 40]

Each job is recorded by `hocket collect` and held against its prediction by `hocket validate`: on a guessed network, and
with the odd steps correcting the even ones, of which all figures are. Nothing of the machine is told beforehand. Other
load on the machine makes both noisier; the last column says by how much the recording itself scatters.
"""

from pathlib import Path
from typing import Any

from hocket.api.collect.request import CollectionRequest
from hocket.api.progress import SILENT
from hocket.api.validate.request import JobValidation
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line

_EXAMPLES = Path(__file__).parent.parent / "examples"
_NETWORK = "ring:{ranks},bandwidth=1GB/s,latency=50us"


def _row(name: str, errors: dict[str, Any], noise: float | None) -> str:
    collectives = ", ".join(f"{part} {errors[f'{part}_error']:7.1%}" for part in ("median", "p90"))
    scatters = "-" if noise is None else f"{noise:.1%}"
    return f"{name:<48} {_steps(errors)}; collectives {collectives}; noise {scatters}"


def _steps(errors: dict[str, Any]) -> str:
    if not errors["steps"]:
        return f"{'no steps told':<38}"
    exposed = [sum(step[f"{source}_exposed_ps"] for step in errors["steps"]) for source in ("recorded", "predicted")]
    return f"step {errors['step_error']:+7.1%}, not computing {exposed[1] / max(exposed[0], 1) - 1:+7.1%}"


def _hold(name: str, request: CollectionRequest, ranks: int) -> None:
    request.perform(SILENT)
    found = JobValidation.of(traces=request.output, topology=_NETWORK.format(ranks=ranks), fit="odd").perform()
    form = found.as_json()
    noise = form["not_fitted_corrected"]["noise"]
    print(_row(f"{name}, as predicted", form["not_fitted_predicted"], noise))
    print(_row(f"{name}, odd steps fitted", form["not_fitted_corrected"], noise), flush=True)


def main() -> None:
    parser = command_line()
    parser.add_argument("--ranks", type=int, default=2, help="processes of each job")
    parser.add_argument("--steps", type=int, default=40, help="steps of each job")
    arguments = parser.parse_args()
    ranks, steps = arguments.ranks, str(arguments.steps)
    with scratch_folder("jobs") as folder:
        script = str(_EXAMPLES / "train_ddp.py")
        _hold(
            f"gloo, {ranks} ranks, train_ddp.py",
            CollectionRequest.of(
                script=script, arguments=["--steps", steps], ranks=ranks, skip_steps=2, output=f"{folder}/gloo"
            ),
            ranks,
        )
        line = ["-n", str(ranks), "python", str(_EXAMPLES / "stencil_mpi.py"), steps]
        _hold(
            f"MPI, {ranks} ranks, stencil_mpi.py",
            CollectionRequest.of(script="mpiexec", arguments=line, mpi=True, output=f"{folder}/mpi"),
            ranks,
        )


if __name__ == "__main__":
    main()
