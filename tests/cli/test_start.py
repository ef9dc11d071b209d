"""How commands start: what they do not use, they do not load."""

import subprocess
import sys

import pytest

RING = "simulate all_reduce --size 1MiB --topology ring:8,bandwidth=50GB/s,latency=500ns"
#: Commands, and the beginnings of names of modules that they have no use for.
UNUSED = {
    "--help": "numpy pydantic yaml rich hocket.topology hocket.simulator hocket.report",
    "--version": "numpy pydantic yaml rich hocket.topology hocket.simulator",
    "simulate --help": "pydantic yaml hocket.report",
    f"topology show {RING.split()[-1]}": "pydantic rich google torch hocket.simulator",
    RING: "pydantic yaml rich google torch hocket.report hocket.translator hocket.chakra.reading"
    " hocket.nccl.model hocket.simulator.traces hocket.simulator.kernels"
    " hocket.topology.machines.presets hocket.topology.formats",
}
SCRIPT = """
import sys
from hocket.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("command", UNUSED)
def test_what_a_command_does_not_use_is_not_loaded(command: str) -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *command.split()], capture_output=True, text=True, check=True)
    loaded = ran.stderr.split()
    assert "hocket.cli.groups" in loaded
    unused = UNUSED[command].split()
    assert not [name for name in loaded if any(name == each or name.startswith(f"{each}.") for each in unused)]
