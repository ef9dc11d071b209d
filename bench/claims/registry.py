"""All claims, and those that somebody asks for."""

import re
from collections.abc import Sequence

from hocket.base.errors import RequestError
from hocket.bench.claims import hierarchy, intra_node, slides, synthesis, synthesis_at_scale, two_regimes
from hocket.bench.claims.claim import Claim
from hocket.bench.claims.papers import PAPERS

__all__ = ["CLAIMS", "chosen"]

CLAIMS: tuple[Claim, ...] = (
    *two_regimes.CLAIMS,
    *hierarchy.CLAIMS,
    *slides.CLAIMS,
    *intra_node.CLAIMS,
    *synthesis.CLAIMS,
    *synthesis_at_scale.CLAIMS,
)
_RANGE = re.compile(r"([A-Z])(\d+)-(?:\1)?(\d+)")


def chosen(words: str | None) -> Sequence[Claim]:
    """Those of papers (`A`), claims (`B3`) and ranges of them (`B3-B21`), separated by commas, in the claims' order;
    None: all. Raises RequestError for what is none of these."""
    if words is None:
        return CLAIMS
    wanted = {each for word in words.split(",") for each in _ids(word.strip().upper())}
    return [claim for claim in CLAIMS if claim.id in wanted]


def _ids(word: str) -> Sequence[str]:
    known = [claim.id for claim in CLAIMS]
    if word in {paper.letter for paper in PAPERS}:
        return [each for each in known if each[0] == word]
    if found := _RANGE.fullmatch(word):
        ids = [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)]
    else:
        ids = [word]
    if not ids or not set(ids) <= set(known):
        papers = ", ".join(f"{paper.letter}1-{paper.letter}{paper.count}" for paper in PAPERS)
        raise RequestError(f"--only {word}: no such paper, claim or range of claims; there are {papers}")
    return ids
