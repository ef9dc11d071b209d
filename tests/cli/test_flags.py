"""One meaning, one spelling: an option is spelled alike in all commands, and each letter stands for one option."""

from collections import defaultdict

import pytest

from hocket.api.fields import Field
from hocket.api.verbs import VERBS

FIELDS = [(words, field) for words, verb in VERBS.items() for field in verb.request().fields() if not field.is_argument]
#: Options that mean something else in these commands, whose values say so.
OTHERS = {
    ("trace import", "--size"): "NAME=BYTES",
    ("trace merge", "--ranks"): "RANKS",
    ("trace slice", "--ranks"): "RANKS",
    ("trace timeline", "--ranks"): "RANKS|all",
}


def long_flag(field: Field) -> str:
    return next(flag for flag in field.flags if flag.startswith("--"))


def letters(field: Field) -> set[str]:
    return {flag for flag in field.flags if not flag.startswith("--")}


def test_an_option_has_the_same_letter_in_every_command() -> None:
    spelled: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for words, field in FIELDS:
        if OTHERS.get((words, long_flag(field))) != field.metavar or field.metavar is None:
            spelled[long_flag(field)][words] = letters(field)
    # hocket run spells sizes as nccl-tests does.
    apart = {flag: by for flag, by in spelled.items() if len({*map(frozenset, by.values())}) > 1}
    assert {*apart} <= {"--min", "--max"}, apart


def test_a_letter_stands_for_one_option() -> None:
    meant: dict[str, set[str]] = defaultdict(set)
    for _, field in FIELDS:
        for letter in letters(field):
            meant[letter].add(long_flag(field))
    assert not {letter: flags for letter, flags in meant.items() if len(flags) > 1}


@pytest.mark.parametrize("flag", ["--json", "--csv", "--report", "--output", "--timeline"])
def test_what_is_written_is_a_file_or_a_folder(flag: str) -> None:
    for words, field in FIELDS:
        if long_flag(field) == flag:
            assert field.metavar in ("FILE", "DIR", "FILE|DIR"), words


def test_every_command_has_an_example_of_itself() -> None:
    for words, verb in VERBS.items():
        examples = verb.request().examples
        assert examples and all(example.startswith(f"hocket {words}") for example in examples), words
