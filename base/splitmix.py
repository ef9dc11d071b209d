"""Random numbers that are the same on every machine and in every version."""

__all__ = ["SplitMix"]

_MASK = 2**64 - 1


class SplitMix:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def next(self) -> int:
        """64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        bits = self._state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        return bits ^ (bits >> 31)

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1; `limit` is at most 2^32."""
        return self.next() * limit >> 64
