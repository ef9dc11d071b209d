"""Comments of the C++ sources: how many of their lines carry one, held for the whole; the poorest files are named."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Of lines that are not blank. What tests do, their names and expectations say.
LEAST = 0.15


def commented(text: str) -> tuple[int, int]:
    """Lines that carry a comment, beside code or alone, and lines that are not blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    return sum("//" in line for line in lines), len(lines)


def test_what_counts() -> None:
    assert commented("/// An idea.\n\nint x = 1;  // of a thing\nint y = 2;\n") == (2, 3)


def test_density() -> None:
    counts = {
        path.relative_to(ROOT): commented(path.read_text(encoding="utf-8"))
        for room in ("core", "plugin")
        for path in sorted((ROOT / room).rglob("*.[ch]pp"))
        if "tests" not in path.parts
    }
    assert len(counts) > 200
    carry, lines = (sum(column) for column in zip(*counts.values(), strict=True))
    poorest = sorted(counts, key=lambda path: counts[path][0] - LEAST * counts[path][1])[:10]
    assert carry >= LEAST * lines, f"{carry / lines:.3f}; most is missing in {', '.join(map(str, poorest))}"
