"""Two machines of two ranks made of Linux network namespaces, their links held to bandwidths by `tc`."""

import os
import subprocess
from types import TracebackType

from hocket.base import processes
from hocket.base.errors import HocketError

__all__ = ["RANKS", "TOPOLOGY", "TwoMachines"]

RANKS = 4
RANK_MBIT = 2000
TRUNK_MBIT = 250
INTERFACE = "hocket0"

#: What `TwoMachines` builds: ranks 0 and 2 on one switch, 1 and 3 on the other.
TOPOLOGY = f"""\
name: two machines
ranks: {RANKS}
switches: 2
machine: [0, 1, 0, 1]
links:
- {{from: 0, to: 4, latency: 20us, bandwidth: {RANK_MBIT // 8}MB/s, both: true}}
- {{from: 1, to: 5, latency: 20us, bandwidth: {RANK_MBIT // 8}MB/s, both: true}}
- {{from: 2, to: 4, latency: 20us, bandwidth: {RANK_MBIT // 8}MB/s, both: true}}
- {{from: 3, to: 5, latency: 20us, bandwidth: {RANK_MBIT // 8}MB/s, both: true}}
- {{from: 4, to: 5, latency: 20us, bandwidth: {TRUNK_MBIT / 8}MB/s, both: true}}
"""


class TwoMachines:
    """A namespace a rank and one a switch while it is entered; entering raises HocketError where that is not allowed.

    `prefixes[rank]` runs a command as that rank's machine; `environment` is what torch.distributed needs to know.
    """

    def __init__(self) -> None:
        self._name = f"hocket{os.getpid()}"
        self._ranks = [f"{self._name}r{rank}" for rank in range(RANKS)]
        self._switches = [f"{self._name}s{switch}" for switch in range(2)]

    @property
    def prefixes(self) -> list[list[str]]:
        return [["ip", "netns", "exec", name] for name in self._ranks]

    @property
    def environment(self) -> dict[str, str]:
        return {"MASTER_ADDR": _address(0), "GLOO_SOCKET_IFNAME": INTERFACE}

    def __enter__(self) -> "TwoMachines":
        try:
            for name in (*self._switches, *self._ranks):
                _ip(f"netns add {name}")
                _ip(f"-n {name} link set lo up")
            for name in self._switches:
                _ip(f"-n {name} link add bridge type bridge")
                _ip(f"-n {name} link set bridge up")
            for rank, name in enumerate(self._ranks):
                _join(name, INTERFACE, self._switches[rank % 2], f"rank{rank}", RANK_MBIT)
                _ip(f"-n {name} address add {_address(rank)}/24 dev {INTERFACE}")
                _ip(f"-n {self._switches[rank % 2]} link set rank{rank} master bridge")
            _join(self._switches[0], "trunk", self._switches[1], "trunk", TRUNK_MBIT)
            for name in self._switches:
                _ip(f"-n {name} link set trunk master bridge")
        except HocketError:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in (*self._ranks, *self._switches):
            processes.run(["ip", "netns", "delete", name], capture_output=True)


def _address(rank: int) -> str:
    return f"10.77.0.{rank + 1}"


def _join(left: str, left_interface: str, right: str, right_interface: str, mbit: int) -> None:
    """A cable between two namespaces, shaped in both directions."""
    _ip(f"-n {left} link add {left_interface} type veth peer name {right_interface} netns {right}")
    for name, interface in ((left, left_interface), (right, right_interface)):
        _ip(f"-n {name} link set {interface} up")
        _run(f"tc -n {name} qdisc add dev {interface} root tbf rate {mbit}mbit burst 256kb latency 100ms")


def _ip(arguments: str) -> None:
    _run(f"ip {arguments}")


def _run(command: str) -> None:
    try:
        processes.run(command.split(), check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise HocketError(f"{error.filename} is not installed (iproute2)") from error
    except subprocess.CalledProcessError as error:
        raise HocketError(f"`{command}`: {error.stderr.strip()}") from error
