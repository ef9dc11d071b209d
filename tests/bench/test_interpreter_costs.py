"""Interpreters' programs of NCCL's rings beside NCCL's model."""

import pytest

from hocket.bench.interpreter_costs import rows


@pytest.mark.parametrize("spec", ["dgx-h100", "dgx-a100"])
def test_rings_take_what_nccls_model_says(spec: str) -> None:
    found = list(rows([spec]))
    assert len(found) == 15
    for _, protocol, size, said, taken in found:
        assert taken / said == pytest.approx(1, abs=0.35 if protocol == "LL" else 0.05), (protocol, size)
