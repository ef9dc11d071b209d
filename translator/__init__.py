"""Schedules and programs to and from MSCCL XML; lowering to thread blocks."""

from hocket.translator.algorithm import Algorithm, Chunk
from hocket.translator.costs import priced_profile, priced_protocols
from hocket.translator.formats.chakra_graphs import schedule_graphs
from hocket.translator.formats.forestcoll import is_forest, read_forest
from hocket.translator.formats.nccl_rings import nccl_graph, read_nccl_graph, read_ring_orders, rings
from hocket.translator.formats.program_json import from_program_json, is_program_json, read_program, to_program_json
from hocket.translator.formats.switch_json import from_switch_json, is_switch_json, read_switch_program, to_switch_json
from hocket.translator.formats.tacos import read_tacos_csv, read_tacos_xml
from hocket.translator.formats.transfers import transfer_table, write_transfers
from hocket.translator.lowering.lower import lower
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.lowering.proving import Translated
from hocket.translator.msccl.document import read_document, read_file
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.judge import Judgement, Verdict, judge
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import DEVICE_RUNTIME, PROFILES, UNLIMITED
from hocket.translator.msccl.recipes import run_recipe
from hocket.translator.msccl.xml_read import from_xml, read_xml
from hocket.translator.msccl.xml_write import check_limits, to_xml
from hocket.translator.program_schedule import program_schedule
from hocket.translator.translate import lower_best, rewrite, translate

__all__ = [
    "DEVICE_RUNTIME",
    "PROFILES",
    "UNLIMITED",
    "Algorithm",
    "Chunk",
    "Finding",
    "Judgement",
    "Lowering",
    "Profile",
    "Severity",
    "Translated",
    "Verdict",
    "check_limits",
    "from_program_json",
    "from_switch_json",
    "from_xml",
    "is_forest",
    "is_program_json",
    "is_switch_json",
    "judge",
    "lower",
    "lower_best",
    "nccl_graph",
    "priced_profile",
    "priced_protocols",
    "program_schedule",
    "read_document",
    "read_file",
    "read_forest",
    "read_nccl_graph",
    "read_program",
    "read_ring_orders",
    "read_switch_program",
    "read_tacos_csv",
    "read_tacos_xml",
    "read_xml",
    "rewrite",
    "rings",
    "run_recipe",
    "schedule_graphs",
    "to_program_json",
    "to_switch_json",
    "to_xml",
    "transfer_table",
    "translate",
    "write_transfers",
]
