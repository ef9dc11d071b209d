"""Where this process listens for its peers, and how it talks to those of its own machine."""

import fcntl
import os
import socket
import struct

from hocket.base.errors import HocketError

__all__ = ["TRANSPORT_VARIABLE", "own_address", "shares_memory"]

#: `shm` (the default): through shared memory with ranks of the same machine and network namespace; `tcp`: never so.
TRANSPORT_VARIABLE = "HOCKET_ALGORITHMS_TRANSPORT"

_SIOCGIFADDR = 0x8915


def shares_memory() -> bool:
    """Whether peers nearby are talked to through shared memory. Raises HocketError for a transport not known."""
    transport = os.environ.get(TRANSPORT_VARIABLE, "shm")
    if transport not in ("shm", "tcp"):
        raise HocketError(f"{TRANSPORT_VARIABLE}={transport}: expected shm or tcp")
    return transport == "shm"


def own_address() -> str:
    """The address of GLOO_SOCKET_IFNAME's first interface; else the one from which MASTER_ADDR is reached; else the
    loopback's. Raises HocketError for an interface without an address, or a MASTER_ADDR that is not known."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    master = os.environ.get("MASTER_ADDR")
    if interface:
        return _address_of(interface)
    if not master:
        return "127.0.0.1"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(master, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(place)  # sends nothing: it only finds the way
            return str(probe.getsockname()[0])
    except OSError as error:
        raise HocketError(f"MASTER_ADDR={master}: {error}; GLOO_SOCKET_IFNAME may name an interface instead") from error


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError as error:
            raise HocketError(f"GLOO_SOCKET_IFNAME={interface}: {error.strerror}") from error
    return socket.inet_ntoa(answer[20:24])
