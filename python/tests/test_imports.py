"""Packages that start threads when they are imported, and modules that only one process has."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import sar_single as sar  # noqa: E402

PACKAGES = ["pandas", "pyarrow", "torch_geometric", "sklearn", "matplotlib.pyplot"]


def run(worker, karate, spill, **options):
    return sar.run(worker, karate, spill_dir=spill, memory_budget="min", **options)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Makes a module of a source, which workers can import, too."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def installed():
    found = []
    for name in PACKAGES:
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError:
            continue
    return found


def test_packages_with_threads_may_be_imported_in_any_order_and_place(karate, spill, module):
    names = installed()
    if len(names) < 2:
        pytest.skip("neither pandas nor its like is installed")
    for number, order in enumerate([names, names[::-1]]):
        body = "\n".join(f"import {name}" for name in order)
        worker = module(f"packages{number}", f"{body}\ndef worker(rank):\n    return rank.all_reduce(rank.index)\n").worker
        assert run(worker, karate, spill) == [1, 1], order

    def inside(rank):
        for name in names:
            importlib.import_module(name)
        rank.barrier()
        if "pandas" in names and "pyarrow" in names:
            import pandas

            table = pandas.DataFrame({"a": range(1000)})
            path = f"{rank._engine.folder}/table-{rank.index}.parquet"
            table.to_parquet(path)
            rank.barrier()
            assert pandas.read_parquet(path).equals(table)
        return rank.all_reduce(rank.index)

    assert run(inside, karate, spill) == [1, 1]


IDLE = """
import threading
never = threading.Event()
threading.Thread(target=never.wait, daemon=True).start()
def worker(rank):
    return rank.all_reduce(rank.index)
"""

BUSY = """
import threading
def spin():
    while True:
        sum(range(1000))
threading.Thread(target=spin, name="spinner", daemon=True).start()
def worker(rank):
    return rank.index
"""


def test_an_idle_thread_is_tolerated(karate, spill, module):
    assert run(module("idle", IDLE).worker, karate, spill) == [1, 1]


def test_a_thread_that_works_is_named_with_the_module_that_started_it(karate, spill, module):
    # In this process, which imports the module first, no thread has to spin.
    busy = module("busy", "def worker(rank):\n    return rank.index\n")
    Path(busy.__file__).write_text(BUSY)
    with pytest.raises(RuntimeError, match="workers cannot be forked while another thread works: 'spinner' of the module 'busy'"):
        run(busy.worker, karate, spill)


def test_functions_of_modules_that_only_this_process_has_are_taken_along(karate, spill, tmp_path):
    """As PyG generates them: one of an own name, and one below a package that exists."""
    (tmp_path / "generated.py").write_text("def double(x):\n    return 2 * x\n")
    functions = []
    for name in ("__main___Mine_propagate", "json.Mine_propagate"):
        spec = importlib.util.spec_from_file_location(name, tmp_path / "generated.py")
        sys.modules[name] = loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        functions.append(loaded.double)
    try:
        assert run(lambda rank: [f(rank.index) for f in functions], karate, spill) == [[0, 0], [2, 2]]
    finally:
        for function in functions:
            del sys.modules[function.__module__]


@pytest.mark.skipif(importlib.util.find_spec("torch_geometric") is None, reason="needs PyTorch Geometric")
def test_workers_share_the_package_of_models_that_they_import(karate, spill):
    def worker(rank):
        shared = "torch_geometric" in sys.modules
        from torch_geometric.nn import SAGEConv

        return shared, SAGEConv.__name__

    def other(rank):
        return "torch_geometric" in sys.modules, "a/torch_geometric/b"

    assert set(run(worker, karate, spill)) == {(True, "SAGEConv")}
    if "torch_geometric" not in sys.modules:
        assert set(run(other, karate, spill)) == {(False, "a/torch_geometric/b")}
