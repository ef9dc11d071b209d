"""Arrays of JSON objects are read in pieces as in one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.chakra.importers import json_array
from hocket.chakra.importers.json_array import JsonArray

quickly = settings(max_examples=60)
texts = st.text(st.sampled_from('{}[],:" \\\nx'), max_size=6)
values = st.recursive(
    st.one_of(st.integers(), texts, st.none()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, min_size=1, max_size=3)


@quickly
@given(st.lists(objects, max_size=12), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: list[Any], block: int, indent: int | None, last: bool
) -> None:
    monkeypatch.setattr(json_array, "_BLOCK", block)
    whole = {"before": 1, "items": items} | ({} if last else {"after": [2]})
    path = tmp_path / "array.json"
    path.write_text(json.dumps(whole, indent=indent))
    array = JsonArray(path, "items", dict[str, Any], dict[str, Any])
    assert [item for piece in array.blocks() for item in piece] == items
    assert array.rest == whole | {"items": []}
    assert not array.is_cut


@quickly
@given(st.lists(objects, min_size=1, max_size=6), st.integers(1, 40), st.integers(1, 40))
def test_what_is_whole_of_a_cut_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: list[Any], lost: int, block: int
) -> None:
    monkeypatch.setattr(json_array, "_BLOCK", block)
    path = tmp_path / "array.json"
    text = json.dumps({"items": [{"first": 1}, *items]})
    path.write_text(text[: max(len(text) - 2 - lost, text.index("}") + 4)])
    array = JsonArray(path, "items", dict[str, Any], dict[str, Any])
    found = [item for piece in array.blocks() for item in piece]
    assert array.is_cut
    assert 0 < len(found) <= len(items) + 1 and found == [{"first": 1}, *items][: len(found)]
