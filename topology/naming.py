"""How people read nodes and links, everywhere the same."""

from collections.abc import Iterable

__all__ = ["link_name", "node_name", "spans"]


def node_name(node: int, num_ranks: int) -> str:
    """`rank 3`, or `switch 12`: its node id."""
    return f"rank {node}" if node < num_ranks else f"switch {node}"


def link_name(src: int, dst: int, num_ranks: int, class_name: str) -> str:
    """`rank 3 -> switch 12 (nvlink)`; `(dimension 0)` for a product's; nothing for the class `link` of all links."""
    suffix = f" (dimension {class_name})" if class_name.isdecimal() else f" ({class_name})"
    return f"{node_name(src, num_ranks)} -> {node_name(dst, num_ranks)}" + suffix * (class_name != "link")


def spans(numbers: Iterable[int]) -> str:
    """Ascending numbers for people: `0-6,8-15`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = int(number)
        else:
            runs.append([int(number), int(number)])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
