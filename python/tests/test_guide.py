"""The lines of the book's guide "Bring your PyTorch model", as they stand there but for sizes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from sar_single import _program  # noqa: E402

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "src" / "guides" / "pytorch-model.md"


def test_the_guide_leads_from_arrays_to_predictions(tmp_path, monkeypatch):
    try:
        _program.environment(_program.program())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    jobs, model = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)[:2]
    other_form = 'parts = sar.partition("parts", graph, num_parts=16)'
    assert other_form in jobs
    jobs = jobs.replace(other_form, "").replace("num_parts=16", "num_parts=4").replace("hidden=256, epochs=20", "hidden=8, epochs=2")
    draw, nodes = np.random.default_rng(0), 200
    names = {
        "src": draw.integers(0, nodes, 1500),
        "dst": draw.integers(0, nodes, 1500),
        "x": draw.standard_normal((nodes, 12)).astype("float32"),
        "y": draw.integers(0, 40, nodes),
        "m": np.arange(nodes) % 2 == 0,
    }
    exec(jobs, names)
    assert len(names["run"].metrics) == 2 and names["run"].predict().shape == (nodes,)
    exec(model.replace("range(20)", "range(2)"), names)
    assert sum(len(part) for part in names["results"]) == nodes
