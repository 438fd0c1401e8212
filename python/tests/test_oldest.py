"""The package on the oldest Python that it supports, and in an environment without torch."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sar_single

SCRIPT = """
import sys
sys.modules["torch"] = None
import numpy as np
import sar_single as sar
source = np.arange(20)
data = {"feat": np.eye(20, 4, dtype="float32"), "label": source % 2, "train_mask": source % 3 == 0}
parts = sar.partition(sys.argv[1], edge_index=(source, (source + 1) % 20), node_data=data, num_parts=2)
print(sar.inspect(parts).split()[:2])
try:
    sar.run(lambda rank: None, parts)
except ModuleNotFoundError as error:
    print(error)
"""


def test_sources_are_of_python_3_9():
    for path in Path(sar_single.__file__).parent.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))


def test_jobs_work_without_torch_and_a_run_says_that_it_is_missing(tmp_path):
    try:
        sar_single.commands.jobs.call(["inspect", "--help"])
    except FileNotFoundError as error:
        pytest.skip(str(error))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "parts")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['graph', 'g']", "sar_single.run needs PyTorch 2.0 or newer: pip install torch"]
