"""The requests that are served: drawn from a seed, or of a file."""

import random
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import FormatError

__all__ = ["Request", "random_requests", "read_requests"]

_MOST_TOKENS = 1 << 24
_MOST_ARRIVAL_NS = 10**15
_MOST_BYTES = 1 << 28
_PICOSECONDS = 1000


@dataclass(frozen=True)
class Request:
    """Tokens of a prompt, tokens to generate (the first comes of the prompt's pass), arrival in picoseconds."""

    number: int
    prompt: int
    output: int
    arrival_ps: int = 0


def random_requests(
    count: int, prompt: int, output: int, rate: float | None = None, spread: float = 0.0, seed: int = 0
) -> tuple[Request, ...]:
    """`count` requests that arrive `rate` a second (Poisson), all at once without it. Lengths are uniform within
    `spread` (0 to 1) of `prompt` and `output` tokens."""
    drawn = random.Random(seed)
    arrival, requests = 0.0, []

    def length(mean: int) -> int:
        return max(1, round(mean * drawn.uniform(1 - spread, 1 + spread))) if spread else mean

    for number in range(count):
        arrival += drawn.expovariate(rate) if rate else 0.0
        requests.append(Request(number, length(prompt), length(output), round(arrival * 10**9) * _PICOSECONDS))
    return tuple(requests)


def read_requests(path: str | Path) -> tuple[Request, ...]:
    """A CSV file of `arrival_ms,prompt,output` lines, by arrival; a first line of words and lines after # are skipped.
    Raises FormatError, naming the line, for anything else."""
    path = Path(path)
    if not path.is_file():
        raise FormatError(f"{path}: no such file of requests")
    if path.stat().st_size > _MOST_BYTES:
        raise FormatError(f"{path}: too large for requests")
    found: list[tuple[int, int, int]] = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        words = [word.strip() for word in line.split(",")]
        if not line.strip() or line.startswith("#") or (number == 1 and words[0].startswith("arrival")):
            continue
        try:
            arrival_ms, prompt, output = float(words[0]), int(words[1]), int(words[2])
        except (ValueError, IndexError):
            raise FormatError(f"{path}:{number}: expected arrival_ms,prompt,output such as 12.5,1024,128") from None
        within = 0 <= arrival_ms * 10**6 <= _MOST_ARRIVAL_NS
        if len(words) != 3 or not (within and 0 < prompt <= _MOST_TOKENS and 0 < output <= _MOST_TOKENS):
            raise FormatError(f"{path}:{number}: a request has an arrival from 0 ms on and 1 to {_MOST_TOKENS} tokens")
        found.append((round(arrival_ms * 10**6) * _PICOSECONDS, prompt, output))
    if not found:
        raise FormatError(f"{path}: no requests")
    return tuple(Request(i, prompt, output, at) for i, (at, prompt, output) in enumerate(sorted(found)))
