"""The pictures of the documentation: all are there, in a page, and as drawn today."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from hocket.bench.pictures.registry import IMAGES, PICTURES

PAGES = [*IMAGES.parent.glob("*.md"), IMAGES.parents[1] / "README.md"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_there_is_xml_and_is_shown(name: str) -> None:
    picture = IMAGES / f"{name}.svg"
    assert xml.parse(picture).getroot().tag.endswith("svg")
    assert any(f"images/{name}.svg" in page.read_text(encoding="utf-8") for page in PAGES)


def test_every_image_is_shown() -> None:
    shown = {name for page in PAGES for name in re.findall(r"images/([\w.-]+)", page.read_text(encoding="utf-8"))}
    assert {path.name for path in Path(IMAGES).iterdir()} <= shown


@pytest.mark.parametrize("name", PICTURES)
def test_it_is_as_drawn_today(name: str) -> None:
    drawn = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert PICTURES[name]() == drawn, f"python -m hocket.bench.pictures {name}"
