"""Every module of PyG on partitions against PyG in memory, and the page of the book that says how each runs."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
torch_geometric = pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_cases  # noqa: E402
import pyg_graphs  # noqa: E402
import pyg_table  # noqa: E402
import torch_geometric.nn  # noqa: E402

for module in (pyg_cases, pyg_graphs, pyg_table):
    cloudpickle.register_pickle_by_value(module)


@pytest.fixture(scope="module")
def data():
    return pyg_graphs.graph()


@pytest.fixture(scope="module")
def memory(data):
    return pyg_table.expected(torch_geometric.nn, data)


# Blocks of 16 edges are many to a rank; those of 65,536 are one. With the least memory, each pause writes all of it to the disk.
@pytest.mark.parametrize("num_parts, budget, block, every", [(4, "2GiB", 16, 1), (4, "min", 1 << 16, 12), (1, "2GiB", 16, 1)])
def test_modules_give_on_partitions_what_they_give_in_memory(data, memory, spill, tmp_path, num_parts, budget, block, every):
    parts = pyg_graphs.cut(data, tmp_path, num_parts)
    ways, wrong = pyg_table.compared(torch_geometric.nn, data, parts, memory, spill, budget, block, every)
    assert not wrong
    recorded = pyg_table.PAGE.read_text() if pyg_table.PAGE.exists() else ""
    if num_parts == 4 and every == 1 and f"torch_geometric.nn` {torch_geometric.__version__} " in recorded:
        assert pyg_table.page(ways, memory) == recorded, f"make {pyg_table.PAGE.name} again: python pyg_table.py"


def test_every_public_name_of_pyg_has_a_line():
    """The page says of each name how it runs, or why it has no test."""
    if f"torch_geometric.nn` {torch_geometric.__version__} " not in pyg_table.PAGE.read_text():
        pytest.skip("the page is about another version")
    listed = {name.split("(")[0].split(" ")[0].split(".")[0] for _, name in pyg_cases.cases(torch_geometric.nn)} | set(pyg_cases.WITHOUT)
    assert [name for name in pyg_cases.public_names(torch_geometric.nn) if name not in listed] == []
