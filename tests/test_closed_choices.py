"""Choices between the members of a closed kind say what each does: a new member is refused, never taken for another.

A `match` ends in `case _`, which refuses (`assert_never`, by which mypy names what is forgotten, or `not_here` where
some members cannot come). A chain of `if`s over the members of one enum is a `match`.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = [path.name for path in ROOT.iterdir() if (ROOT / "src" / "hocket" / path.name).is_symlink()]

#: Matches over what is no closed kind, by what is matched.
OPEN = {
    "chr(letter), numbers": "lines that a newer recorder may write are skipped",
    "lines": "shapes of networks, of which the next line refuses all others",
}
#: Chains that pick some members, by file and what they look at: why the others need no word.
PICKS = {
    ("chakra/importers/pytorch/issues.py", "event.what"): "all others issue nothing",
    ("chakra/importers/pytorch/waits.py", "event.what"): "all others wait for nothing",
    ("schedule/exchange_planning.py", "kind"): "the others by what they do: receives, sends",
    ("schedule/flow_bounds.py", "kind"): "these flows bound no others",
    ("src/hocket/api/nccl/buffers.py", "buffers"): "what a policy does not go with",
    ("src/hocket/api/nccl/buffers.py", "policy"): "what does not go with the buffers",
    ("src/hocket/api/simulate/options.py", "model"): "options that one model alone has",
    ("schedule/switch_proof.py", "program.kind"): "of all others every rank has all chunks",
    ("simulator/astra/collectives.py", "algorithm"): "what some cannot do",
    ("simulator/astra/setup.py", "AstraBackend(backend)"): "what one cannot do",
    ("simulator/timeline.py", "kind"): "what is shown of some nodes besides",
    ("simulator/traces/blocks.py", "kind"): "all others have the same blocks on all ranks, or are refused",
    ("synthesizer/engines/symmetry.py", "kind"): "all others are refused",
    ("translator/bundle/plan_readme.py", "bundle.collective"): "what is to be said of some",
    ("translator/lowering/heads.py", "collective.kind"): "of all others each rank is the head of its block",
    ("translator/lowering/unfuse.py", "kind"): "all others stay, or go by what they do",
    ("translator/mscclpp/emit.py", "step.type"): "the others by what they do; a nop does nothing",
    ("translator/mscclpp/flatten.py", "op.name"): "the others by tables of what they do; a flush does nothing",
    ("translator/mscclpp/join.py", "op.name"): "the others move data, and are ordered by what they touch",
    ("translator/mscclpp/limits.py", "op.name"): "what is wrong with some",
    ("workload/extrapolate.py", "kind"): "all others keep their input, which is said of each by name",
}


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for folder in [*(ROOT / name for name in FOLDERS), ROOT / "src" / "hocket"]:
        for path in sorted(folder.rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def open_matches(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and subjects of matches that let through what no case is for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            match node.cases[-1]:
                case ast.match_case(pattern=ast.MatchAs(pattern=None), body=[*_, last]) if _refuses(last):
                    continue
                case _:
                    yield node.lineno, ast.unparse(node.subject).strip("()")


def _refuses(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) or ast.unparse(statement).startswith(("assert_never(", "not_here("))


def chains(tree: ast.AST, enums: set[str]) -> Iterator[tuple[int, str]]:
    """Lines and subjects of `if`s, behind each other, that compare one thing with several members of one enum."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            yield from _repeated([node, *_others(node)], enums)
            continue
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            statements = [each for each in block or () if isinstance(each, ast.If)] if isinstance(block, list) else []
            yield from _repeated([link for each in statements for link in (each, *_elifs(each))], enums)


def _elifs(statement: ast.If) -> Iterator[ast.If]:
    match statement.orelse:
        case [ast.If() as other]:
            yield other
            yield from _elifs(other)
        case _:
            return


def _others(expression: ast.IfExp) -> Iterator[ast.IfExp]:
    if isinstance(expression.orelse, ast.IfExp):
        yield expression.orelse
        yield from _others(expression.orelse)


def _repeated(links: list[ast.If] | list[ast.IfExp], enums: set[str]) -> Iterator[tuple[int, str]]:
    seen: dict[tuple[str, str], int] = {}
    for link in links:
        for found in set(_compared(link.test, enums)):
            if found in seen:
                yield seen[found], found[0]
            seen.setdefault(found, link.lineno)


def _compared(test: ast.expr, enums: set[str]) -> Iterator[tuple[str, str]]:
    """What is compared with members, and of which enum."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            for each in (part for other in node.comparators for part in ast.walk(other)):
                match each:
                    case ast.Attribute(value=ast.Name(id=name)) if name in enums:
                        yield ast.unparse(node.left), name
                    case _:
                        continue


def enums_of(trees: Mapping[str, ast.AST]) -> set[str]:
    bases = ("Enum", "IntEnum", "StrEnum")
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {each.name for each in classes if any(ast.unparse(base) in bases for base in each.bases)}


def test_every_match_refuses_what_it_does_not_know() -> None:
    found = {(file, line): subject for file, tree in _sources() for line, subject in open_matches(tree)}
    assert {subject for subject in found.values()} == set(OPEN), found


def test_ifs_do_not_choose_between_members() -> None:
    trees = dict(_sources())
    enums = enums_of(trees)
    assert {"Kind", "Model", "StepType", "NodeKind", "Split"} < enums
    found = {(file, subject): line for file, tree in trees.items() for line, subject in chains(tree, enums)}
    assert found.keys() == PICKS.keys(), {each: found.get(each) for each in found.keys() ^ PICKS.keys()}


def test_what_lets_a_member_through_is_found() -> None:
    good = """
match kind:
    case Kind.RING:
        return 1
    case _:
        assert_never(kind)
"""
    assert not list(open_matches(ast.parse(good)))
    for bad in (good.replace("assert_never(kind)", "return 2"), good[: good.index("    case _")]):
        assert list(open_matches(ast.parse(bad))) == [(2, "kind")]
    elif_ = "if kind is Kind.A:\n    pass\nelif kind in (Kind.B, Kind.C):\n    pass\n"
    behind = "if of == 1 and kind == Kind.A:\n    x = 1\ny = 2\nif kind != Kind.B:\n    x = 2\n"
    chosen = "x = 1 if kind is Kind.A else 2 if kind is Kind.B else 3\n"
    for bad in (elif_, behind, chosen):
        assert list(chains(ast.parse(bad), {"Kind"})) == [(1, "kind")], bad
        assert not list(chains(ast.parse(bad.replace("Kind.B", "Other.B").replace("Kind.C", "Other.C")), {"Kind"}))
