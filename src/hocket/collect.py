"""The collector as a program under torchrun, and `step`, for training scripts to call.

    torchrun --nproc-per-node 4 -m hocket.collect --out traces/ train.py --epochs 1

runs `train.py --epochs 1` with every collective recorded.
"""

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from hocket.api.modules import make_verb
from hocket.base.errors import HocketError, exit_code
from hocket.base.interrupts import ignore_unhandled
from hocket.base.notices import notice
from hocket.plugin.installed import check_script
from hocket.recording.settings import OPTIONS, OUT_VARIABLE, SIGNALS, SWITCHES, variable

__all__ = ["main", "step"]


def step() -> None:
    """Ends a training step, for loops whose steps are not their optimizer's; nothing when nobody collects.

    From the first call on, optimizers' steps are no longer counted.
    """
    from hocket.plugin.torch import collector

    collector.mark_step()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parses the flags, arms the collector and runs the script as `python script.py` would."""
    chosen = _parser().parse_args(arguments)
    try:
        _arm(chosen)
    except HocketError as error:
        notice(f"error: {error}")
        sys.exit(exit_code(error))
    sys.argv = [chosen.script, *chosen.arguments]
    sys.path[0] = str(Path(chosen.script).resolve().parent)
    runpy.run_path(chosen.script, run_name="__main__")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hocket.collect",
        usage="torchrun [torchrun's options] -m hocket.collect --out DIR [options] SCRIPT [ARGUMENTS ...]",
        description="Runs a PyTorch training script and records its collectives into Chakra traces.",
        epilog="Example: torchrun --nproc-per-node 4 -m hocket.collect --out traces/ --skip-steps 2 train.py",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        default=os.environ.get(OUT_VARIABLE),
        required=OUT_VARIABLE not in os.environ,
        help=f"folder of jobs, each with traces, summary and streams (or {OUT_VARIABLE})",
    )
    for name, option in OPTIONS.items():
        text = f"{option.help} (or {variable(name)})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=option.parse, metavar=option.metavar, help=text)
    ops_help = f"record operators beside the collectives, with PyTorch's profiler (or {variable('ops')}=1)"
    parser.add_argument("--ops", action="store_true", help=ops_help)
    stacks_help = f"record the script's line that issues each call (or {variable('stacks')}=1)"
    parser.add_argument("--stacks", action="store_true", help=stacks_help)
    completion_help = f"have streams wait for asynchronous calls on devices: their ends (or {variable('completion')}=1)"
    parser.add_argument("--completion", action="store_true", help=completion_help)
    build_help = f"do not build the native hook beside a job that lacks it (or {variable('no_build')}=1)"
    parser.add_argument("--no-build", action="store_true", help=build_help)
    nccl_help = f"do not load Hocket's profiler plugin into NCCL (or {variable('no_nccl')}=1)"
    parser.add_argument("--no-nccl", action="store_true", help=nccl_help)
    times_help = f"do not ask devices when they came to calls (or {variable('no_device_times')}=1)"
    parser.add_argument("--no-device-times", action="store_true", help=times_help)
    triggers_help = f"let `hocket collect trigger` ask for windows while the job runs (or {variable('triggers')}=1)"
    parser.add_argument("--triggers", action="store_true", help=triggers_help)
    parser.add_argument("script", metavar="SCRIPT", help="training script")
    parser.add_argument("arguments", metavar="ARGUMENTS", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _arm(chosen: argparse.Namespace) -> None:
    check_script(chosen.script)
    flags = {variable(name): getattr(chosen, name) for name in OPTIONS}
    os.environ |= {name: str(value) for name, value in flags.items() if value is not None}
    os.environ[OUT_VARIABLE] = chosen.out
    if (signal := os.environ.get(variable("signal"), "")) in SIGNALS:
        ignore_unhandled(signal)  # until the collector handles it, seconds from here
    os.environ |= {variable(name): "1" for name in SWITCHES if getattr(chosen, name)}

    from hocket.plugin import autoload

    autoload.arm()


make_verb(__name__)
if __name__ == "__main__":
    main()
