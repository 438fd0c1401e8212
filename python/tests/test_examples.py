"""The programs of examples/python, and its notebook in a kernel."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def environment(folder):
    """Files of a program that runs in an empty folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder), "IPYTHONDIR": str(folder / "ipython")}


def skip_without_imports(source):
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            beside = (EXAMPLES / f"{name}.py").exists()
            if not beside and importlib.util.find_spec(name.split(".")[0]) is None:
                pytest.skip(f"needs {name}")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs_to_its_end(path, tmp_path):
    skip_without_imports(path.read_text())
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_notebook_shows_charts_a_bar_and_the_page_of_its_run(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbconvert = pytest.importorskip("nbconvert.preprocessors")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code), "commit the notebook without outputs"
    skip_without_imports("\n".join(cell.source for cell in code))
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    nbconvert.ExecutePreprocessor(timeout=600, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    shown = {cell.source.splitlines()[-1].split("(")[0]: cell.outputs for cell in code}
    for call, parts in {
        "results = sar.run": ["<code>epoch 19"],
        "results": ["<svg", "memory", "budget", "rank 0"],
        "run = sar.train": ["<progress"],
        "run": ["<svg", "accuracy", "test_acc"],
        "run.report": ["<iframe srcdoc="],
    }.items():
        html = "".join(output.get("data", {}).get("text/html", "") for output in shown[call])
        assert all(part in html for part in parts), f"{call}: {html[:500]}"
        printed = "".join(output.get("text", "") for output in shown[call])
        assert "epoch 1" not in printed, printed
