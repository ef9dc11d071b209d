"""Schedules and programs to and from MSCCL XML; lowering to thread blocks."""

from hocket.translator.limits import check_limits
from hocket.translator.lower import lower
from hocket.translator.profiles import PROFILES, Profile, ProfileName
from hocket.translator.recipes import run_recipe
from hocket.translator.tacos import read_tacos_csv, read_tacos_xml
from hocket.translator.translate import Translation, rewrite, translate
from hocket.translator.xml_read import from_xml, read_xml
from hocket.translator.xml_write import to_xml

__all__ = [
    "PROFILES",
    "Profile",
    "ProfileName",
    "Translation",
    "check_limits",
    "from_xml",
    "lower",
    "read_tacos_csv",
    "read_tacos_xml",
    "read_xml",
    "rewrite",
    "run_recipe",
    "to_xml",
    "translate",
]
