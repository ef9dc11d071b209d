"""Command lines and requests: each makes the other, and says the same of what is wrong."""

import shlex
from functools import reduce
from typing import Any, cast

import msgspec
import pytest
from in_process import hocket
from test_requests import REQUESTS, filled, ids

from hocket.api.command_line import command_line, words_of
from hocket.api.fields import Field
from hocket.api.request import Request
from hocket.api.result import Report
from hocket.api.verify.request import Verification
from hocket.base.errors import ExitCode, RequestError


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that commands make, which are not performed."""
    requests: list[Request] = []

    def keep(request: Request, progress: Any) -> Report:
        requests.append(request)
        return Report(request, ["kept"])

    monkeypatch.setattr(Request, "perform", keep)
    return requests


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_the_words_of_a_request_make_it_again(request_type: type[Request], made: list[Request]) -> None:
    values = filled(request_type)
    required = {field.name: values[field.name] for field in request_type.fields() if field.required}
    for request in (request_type.of(**values), request_type.of(**required)):
        done = hocket(*words_of(request))
        assert done.returncode == 0, done.stderr
        assert made.pop() == request
        assert shlex.split(command_line(request))[1:] == words_of(request)


def test_an_argument_that_looks_like_an_option_is_one_no_more(made: list[Request]) -> None:
    request = Verification.of("-x.schedule", json="found.json")
    assert command_line(request) == "hocket verify --json found.json -- -x.schedule"
    assert hocket(*words_of(request)).returncode == 0
    assert made.pop() == request


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_each_example_can_be_pasted(request_type: type[Request], made: list[Request]) -> None:
    for example in request_type.examples:
        words = shlex.split(example, comments=True)
        assert not {"|", ";", "&&", ">", "<", "\\"} & {*words}, example
        done = hocket(*words[1:])
        assert done.returncode == 0, f"{example}: {done.stderr}"
        assert isinstance(made.pop(), request_type)


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_what_is_wrong_is_said_alike(request_type: type[Request], made: list[Request]) -> None:
    """Names that are none and numbers out of bounds: the command says what Python says, of flags in place of names."""
    values = filled(request_type)
    for field in request_type.fields():
        least, most = field.bounds
        for value in ["nonsense"] * field.is_closed + [each for each in (least, most) if each is not None]:
            wrong = value if isinstance(value, str) else value - 1 if value == least else value + 1
            with pytest.raises(RequestError) as raised:
                request_type.of(**{**values, field.name: wrong})
            done = hocket(*words_of(put(request_type.of(**values), field, wrong)))
            assert done.returncode == ExitCode.USAGE, done.stdout
            assert done.stderr.endswith(f"Error: Invalid value: {raised.value}\n")
    assert made == []


def put(request: Request, field: Field, value: object) -> Request:
    """The request with a value that none can have, as only msgspec's own constructors let it."""
    changed: Any = (value,) if field.is_list else value
    for depth in range(len(field.path) - 1, -1, -1):
        owner: Any = reduce(getattr, field.path[:depth], request)
        changed = msgspec.structs.replace(owner, **{field.path[depth]: changed})
    return cast("Request", changed)
