"""The file of a self-test: a zip of `selftest.json`, which says how each part ended, and of what the parts left."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hocket.api.selftest.outcome import PartOutcome
from hocket.api.selftest.privacy import Scrubber
from hocket.base.archives import is_archive, read_archive, write_archive
from hocket.base.errors import HocketError
from hocket.base.selftest_file import FORMAT, MANIFEST, VERSION

__all__ = ["SelfTestFile"]

#: Words and numbers of ours alone, which a host of a common name would damage; traces, which `anonymize` wrote.
_OURS = re.compile(r"(.*/)?(table|checks)\.txt|.*\.et")


class SelfTestFile:
    """What was done so far. It is written anew after each part, whole: an end in between loses none that was done."""

    def __init__(self, path: str, asked: Mapping[str, Any]) -> None:
        self._path, self._asked = path, json.loads(json.dumps(asked))  # as it is read again
        self._members: dict[str, bytes] = {}
        self._scrubber = Scrubber()
        self.outcomes: dict[str, PartOutcome] = {}

    def add(self, name: str, outcome: PartOutcome, files: Path) -> None:
        """A part, with all that lies in its folder `files`; written by `write`."""
        clean = self._scrubber.text
        told = {"said": clean(outcome.said), "reasons": tuple(map(clean, outcome.reasons))}
        self.outcomes[name] = msgspec.structs.replace(outcome, **told)
        for path in sorted(files.rglob("*")):
            if path.is_file() and path.stat().st_size:
                member, content = str(path.relative_to(files)), path.read_bytes()
                is_ours = _OURS.fullmatch(member)
                self._members[f"{name}/{clean(member)}"] = content if is_ours else self._scrubber.content(content)

    def keep(self, name: str, outcome: PartOutcome, members: Mapping[str, bytes]) -> None:
        """A part as another file has it."""
        self.outcomes[name] = outcome
        self._members |= {key: value for key, value in members.items() if key.startswith(f"{name}/")}

    def write(self, finished: bool) -> None:
        """Writes the file. Raises HocketError, naming it."""
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "finished": finished,
            "asked": self._asked,
            "parts": {name: msgspec.to_builtins(outcome) for name, outcome in self.outcomes.items()},
        }
        text = json.dumps(manifest, indent=1) + "\n"
        write_archive(self._path, {MANIFEST: text.encode(), **self._members})

    def unfinished(self, versions: Mapping[str, Any]) -> tuple[dict[str, PartOutcome], dict[str, bytes]]:
        """The parts that passed, and all members, of an earlier run to this path that was cut off and asked for the
        same, with the same versions on as many processors or GPUs; nothing where there is none."""
        try:
            members = read_archive(self._path) if Path(self._path).is_file() and is_archive(self._path) else {}
            manifest = json.loads(members.get(MANIFEST, b"{}"))
            if manifest.get("format") != FORMAT or manifest.get("finished") or manifest.get("asked") != self._asked:
                return {}, {}
            told = msgspec.convert(manifest["parts"], dict[str, PartOutcome])
        except (HocketError, ValueError, KeyError, msgspec.ValidationError):  # another file: written anew
            return {}, {}
        if _lasting(told["versions"].facts) != _lasting(versions):
            return {}, {}
        return told, members


def _lasting(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Without what changes from one minute to the next."""
    return {name: value for name, value in facts.items() if name != "available_bytes"}
