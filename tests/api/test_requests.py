"""Requests: the same question from Python, the command line and JSON, and one clear error for what is none."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from traceback import format_exception
from typing import Annotated, Any

import msgspec
import numpy as np
import pytest

import hocket
from hocket.api.fields import option
from hocket.api.request import Request
from hocket.api.verbs import VERBS
from hocket.base.errors import RequestError
from hocket.schedule.algorithms import ALGORITHMS
from hocket.synthesizer import engine_names

REQUESTS = [verb.request() for verb in VERBS.values()]


def ids(request: type[Request]) -> str:
    return request.words()


def filled(request: type[Request]) -> dict[str, Any]:
    """A value of the right type for every field."""
    values: dict[str, Any] = {}
    for field in request.fields():
        item = field.item_type
        least = field.bounds[0] or 0
        value = (
            field.known[0]
            if field.is_closed
            else {str: field.name if field.is_output else "text", int: int(least) + 1, float: float(least), bool: True}[
                item
            ]
        )
        values[field.name] = [value, value] if field.is_list else value
    return values


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_requests_round_trip_through_json(request_type: type[Request]) -> None:
    request = request_type.of(**filled(request_type))
    assert request_type.from_json(request.to_json()) == request
    assert set(request.set_fields()) >= {field.name for field in request_type.fields() if field.required}


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_a_verb_is_known_by_the_words_of_its_command(request_type: type[Request]) -> None:
    assert VERBS[request_type.words()].request() is request_type


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_every_field_says_what_it_is(request_type: type[Request]) -> None:
    names = [field.name for field in request_type.fields()]
    assert len(set(names)) == len(names)
    flags = [flag for field in request_type.fields() if not field.is_argument for flag in field.flags]
    assert len(set(flags)) == len(flags)
    for field in request_type.fields():
        assert field.help, f"{request_type.words()}: {field.name} has no help"
    assert request_type.examples, f"{request_type.words()} has no example"
    assert all(example.startswith(f"hocket {request_type.words()}") for example in request_type.examples)


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_requests_are_frozen(request_type: type[Request]) -> None:
    request = request_type.of(**filled(request_type))
    for name in [each.name for each in msgspec.structs.fields(request_type)] or ["other"]:
        with pytest.raises(AttributeError):
            setattr(request, name, "other")


#: What is never right, and what is for fields of some types.
WRONG: list[Any] = [object(), b"bytes", {"a": 1}, {1, 2}, 1j, [[1]], [object()], np.zeros(2), print, Exception]
ODD: list[Any] = [*WRONG, None, "", "text", "\ud800", "a\0b", True, 1, -1, 2.5, 10**19, 10**5000, [], (), [None]]
ODD += [[1, 2], range(3), "nan", float("nan"), -float("inf"), np.float64("nan"), np.array(3), Path("p"), Fraction(1, 3)]


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_a_wrong_value_is_one_error_that_names_the_field(request_type: type[Request]) -> None:
    """And what is not wrong is a request like any other."""
    values = filled(request_type)
    for field in request_type.fields():
        for value in ODD:
            try:
                with request_type.spoken_in_python():
                    request = request_type.of(**{**values, field.name: value})
            except hocket.RequestError as error:
                assert field.name in str(error) and len(str(error)) < 700, f"{field.name}: {error}"
                continue
            assert not any(value is each for each in WRONG), f"{field.name} took {value!r}"
            assert request_type.from_json(request.to_json()) == request
            assert hash(request) == hash(request_type.from_plain(request.to_plain(), "again"))


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_a_wrong_value_in_a_file_is_one_error_that_names_the_file(request_type: type[Request]) -> None:
    plain = request_type.of(**filled(request_type)).to_plain()
    for field in request_type.fields():
        *parts, last = field.path
        for value in (None, [None], {"a": 1}, 1.5, "\ud800", True, -1, 10**30, float("nan")):
            branch = content = json.loads(json.dumps(plain))
            for part in parts:
                branch = branch[part]
            branch[last] = value
            try:
                request_type.from_json(json.dumps(content), "old.json")
            except hocket.HocketError as error:
                assert str(error).startswith("old.json: "), error


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_unknown_fields_are_named(request_type: type[Request]) -> None:
    with pytest.raises(hocket.RequestError, match="no option 'nonsense'"):
        request_type.of(**filled(request_type), nonsense=1)
    plain = request_type.of(**filled(request_type)).to_plain()
    with pytest.raises(hocket.RequestError, match=r"old\.json: .*unknown key 'nonsense'"):
        request_type.from_plain({**plain, "nonsense": 1}, "old.json")


def test_what_is_no_request_is_refused() -> None:
    for text in ("", "[]", "1", '{"verb": "simulate"}', "{"):
        with pytest.raises(hocket.HocketError, match=r"odd\.json"):
            hocket.Comparison.from_json(text, "odd.json")


def test_paths_numbers_and_single_values_stand_for_texts_and_lists() -> None:
    request = hocket.Comparison.of(Path("a.json"), "b.json", tolerance=np.float32(0.5), json=Fraction(1, 50))
    assert (request.first, request.tolerance, request.json) == ("a.json", 0.5, "1/50")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), np.float64("-inf")])
def test_numbers_are_finite(number: float) -> None:
    with pytest.raises(hocket.RequestError, match="no number that JSON has"):
        hocket.Comparison.of("a", "b", tolerance=number)


def test_messages_speak_python_in_python(tmp_path: Path) -> None:
    with pytest.raises(hocket.RequestError, match="compare: second is missing"):
        hocket.compare(tmp_path)
    with pytest.raises(hocket.RequestError, match="given twice"):
        hocket.compare(tmp_path, tmp_path, first=tmp_path)
    with pytest.raises(hocket.RequestError, match="2 positional values"):
        hocket.compare(tmp_path, tmp_path, tmp_path)


RING = "ring:4,bandwidth=1GB/s,latency=1us"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: hocket.synthesize("all_reduce", RING, 0), "size must be at least 1 byte"),
        (lambda: hocket.synthesize("all_reduce", RING, 1, group="0,9"), "group 0,9: expected different ranks"),
        (lambda: hocket.simulate("x", RING, compat="astra-sim"), "compat takes ASTRA-sim's files: drop topology"),
        (lambda: hocket.translate("x", "executor", bundle="b", output="o"), "for sizes of its own: drop output"),
        (lambda: hocket.run("ar.schedule"), "first hocket translate ar.schedule --to executor -o ar.xml"),
        (lambda: hocket.simulate("x", RING, placement=[0]), "simulate: placement: expected text or None, got list"),
        (lambda: hocket.simulate("x", RING, json=True), "simulate: json: expected text or None, got bool"),
        (lambda: hocket.synthesize("x", RING, 1, group=[[0]]), "synthesize: group[0]: expected text, got list"),
        (lambda: hocket.simulate("x", RING, degrade={}), "simulate: degrade[0]: expected text, got dict"),
    ],
)
def test_messages_name_fields_and_types_as_python_does_and_once(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(hocket.HocketError) as raised:
        ask()
    assert message in str(raised.value)
    shown = "".join(format_exception(raised.value))
    assert shown.count(f"Error: {raised.value}") == 1 and "msgspec.ValidationError" not in shown


@pytest.mark.parametrize("request_type", REQUESTS, ids=ids)
def test_a_request_shows_the_call_that_makes_it(request_type: type[Request]) -> None:
    request = request_type.of(**filled(request_type))
    assert eval(repr(request), {request_type.__name__: request_type}) == request
    assert repr(hocket.Comparison.of("a", "b")) == "Comparison.of(first='a', second='b')"


def test_all_names_of_the_package_are_there() -> None:
    for name in dir(hocket):
        assert getattr(hocket, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hocket.nonsense


class Choosing(Request, frozen=True, kw_only=True, tag="choose"):
    """Takes one engine, and any algorithms."""

    engine: Annotated[str, option("Who searches.", "-e", choices="hocket.synthesizer.engines:engine_names")] = (
        "matching"
    )
    algorithms: Annotated[list[str], option("What is tried.", known="hocket.schedule.algorithms:ALGORITHMS")] = (
        msgspec.field(default_factory=list)
    )


def test_names_come_from_the_registry_that_a_field_names() -> None:
    engine, algorithms = Choosing.fields()
    assert engine.known == engine_names() and engine.is_closed
    assert algorithms.help == f"What is tried. Known: {', '.join(ALGORITHMS)}."
    assert Choosing.of(engine="native:ring", algorithms=["mine.schedule"]).algorithms == ["mine.schedule"]
    with pytest.raises(RequestError, match=r"^--engine native:rin: no such choice; did you mean 'native:ring'"):
        Choosing.of(engine="native:rin")
    with pytest.raises(RequestError, match="did you mean 'native:ring'"):
        Choosing.of(engine="ring")
    with pytest.raises(RequestError, match="no such choice; did you mean 'matching'"):
        Choosing.from_json('{"verb": "choose", "engine": "matchin"}')
