"""What is sent back without what it should not tell: names of hosts, users and folders, addresses, serial numbers."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from getpass import getuser
from pathlib import Path

__all__ = ["Scrubber"]

_PUBLIC = {"root", "localhost", "user", "ubuntu", "admin"}  # tell nobody anything
_SHORTEST = 3  # of names that are looked for: a shorter one would be found in half of all words
#: Identifiers of hardware, where each alike is replaced alike: what is the same stays the same.
_NUMBERED = re.compile(r"""(?P<key>\b(?:guid|host_hash|pciSerial|serial)=")(?P<value>[^"]*)(?P<end>")""")
_UUID = re.compile(r"\b(?:GPU-|MIG-)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_IPV4 = re.compile(r"(?<![\d.])(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6 = re.compile(
    r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}(?::|[0-9a-fA-F]{1,4})(?:%\w+)?(?![\w:])|\bfe80::[0-9a-fA-F:]+"
)
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_PATH = re.compile(r"(?<![\w.<>/])/(?:[^\s/:\"'<>|;,()]+/)+(?P<last>[^\s/:\"'<>|;,()]*)")


class Scrubber:
    """Of this machine and user. Names of files are kept, without the folders that they are in."""

    def __init__(self) -> None:
        self._words = [(name, place) for name, place in _words() if name]
        self._seen: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text without these."""
        text = _PATH.sub(lambda found: f"<folder>/{found['last']}", text)
        text = _NUMBERED.sub(lambda found: f"{found['key']}{self._number(found['value'])}{found['end']}", text)
        for pattern, place in ((_UUID, "<uuid>"), (_MAC, "<address>"), (_IPV4, "<address>"), (_IPV6, "<address>")):
            text = pattern.sub(place, text)
        for name, place in self._words:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", place, text, flags=re.IGNORECASE)
        return text

    def content(self, content: bytes) -> bytes:
        """A file's: texts are scrubbed, what is none stays."""
        try:
            return self.text(content.decode("utf-8")).encode()
        except UnicodeDecodeError:
            return content

    def _number(self, value: str) -> str:
        return self._seen.setdefault(value, f"0x{len(self._seen) + 1:x}")


def _words() -> Iterator[tuple[str, str]]:
    """Names, and what stands in their place; the longest first."""
    hosts = {socket.gethostname(), os.uname().nodename, os.environ.get("HOSTNAME", "")}
    hosts |= {name.partition(".")[0] for name in hosts}
    users = {_user(), os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), Path.home().name}
    folders = {str(Path.home()), os.getcwd(), tempfile.gettempdir()} - {"/", "/tmp", "/root"}
    told = [(name, "<host>") for name in hosts] + [(name, "<user>") for name in users]
    named = [(name, place) for name, place in told if len(name) >= _SHORTEST and name.lower() not in _PUBLIC]
    yield from sorted(named + [(name, "<folder>") for name in folders], key=lambda pair: -len(pair[0]))


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a number without a name
        return ""
