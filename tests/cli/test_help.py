"""`--help` of everything: whole sentences however narrow the terminal is, and examples that stay on a line."""

import pytest
from in_process import hocket

from hocket.api.verbs import VERBS
from hocket.cli import SUMMARY
from hocket.cli.groups import GROUPS

COLUMNS = (60, 80)


def told(words: str, columns: int) -> str:
    done = hocket(*words.split(), "--help", columns=columns)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout, done.stdout
    return done.stdout


def flat(text: str) -> str:
    """Without blanks: lines end behind hyphens, too."""
    return "".join(text.split())


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("words", VERBS)
def test_commands_are_told_whole(words: str, columns: int) -> None:
    text = told(words, columns)
    if words not in VERBS:
        return
    request = VERBS[words].request()
    for field in request.fields():
        assert flat(field.help) in flat(text), field.name
    assert flat(request.__doc__ or "") in flat(text)
    examples = {f"    {example}" for example in request.examples}
    assert examples <= {*text.splitlines()}
    others = [line for line in text.splitlines() if line not in examples and len(line.split()) > 1]
    assert max(map(len, others)) <= columns


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("words", ["", *(words for words in GROUPS if words not in VERBS)])
def test_groups_tell_the_whole_summaries_of_what_is_in_them(words: str, columns: int) -> None:
    text = flat(told(words, columns))
    prefix = f"{words} " if words else ""
    inside = [name for name in VERBS if name.startswith(prefix) and " " not in name.removeprefix(prefix)]
    assert inside
    for name in inside:
        assert flat(name.removeprefix(prefix) + (VERBS[name].summary)) in text
    assert flat(GROUPS.get(words, SUMMARY)) in text


@pytest.mark.parametrize("words", ["", "trace"])
def test_a_group_without_a_command_shows_its_help_in_lines(words: str) -> None:
    done = hocket(*words.split(), columns=80)
    assert done.returncode == 2
    assert (done.stdout + done.stderr).strip() == told(words, 80).strip()
