"""Every Python block of the README and of the book runs, unchanged except for sizes."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import sar_single as sar  # noqa: E402
from sar_single import _program  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/src/**/*.md") if "lab" not in path.parts)]
NODES, FEATURES, CLASSES = 200, 12, 40

SMALLER = {
    "num_parts=16": "num_parts=4",
    'g, "g", 16, "parts"': 'g, "g", 2, "parts"',
    "range(100)": "range(2)",
    "range(20)": "range(2)",
    "hidden=256, epochs=20": "hidden=8, epochs=2",
    "epochs=20": "epochs=2",
}


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def arrays():
    draw = np.random.default_rng(0)
    return {
        "src": draw.integers(0, NODES, 1500),
        "dst": draw.integers(0, NODES, 1500),
        "x": draw.standard_normal((NODES, FEATURES)).astype("float32"),
        "y": draw.integers(0, CLASSES, NODES),
        "m": np.arange(NODES) % 2 == 0,
    }


def data_of_pyg():
    from torch_geometric.data import Data

    given = {name: torch.from_numpy(array) for name, array in arrays().items()}
    masks = {f"{split}_mask": given["m"] for split in ("train", "val", "test")}
    return Data(x=given["x"], y=given["y"], edge_index=torch.stack([given["src"], given["dst"]]), **masks)


def graph_of_dgl():
    import dgl

    given = arrays()
    graph = dgl.graph((given["src"], given["dst"]), num_nodes=NODES)
    graph.ndata["feat"] = torch.from_numpy(given["x"])
    graph.ndata["label"] = torch.from_numpy(given["y"])
    graph.ndata["train_mask"] = torch.from_numpy(given["m"])
    return graph


def as_a_worker(block, names):
    """Runs a block of a worker with the names of the guide's."""
    of_pyg = 'form="pyg"' in block
    widths = [FEATURES, 8, 8, CLASSES]

    def worker(rank):
        if of_pyg:
            from torch_geometric.nn import GraphSAGE

            model = GraphSAGE(FEATURES, 8, 3, CLASSES)
        else:
            convs = [sar.nn.SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:])]

            def model(graph, x):
                for conv in convs:
                    x = conv(graph, x)
                return x

        inside = {"rank": rank, "model": model, "y": rank.ndata["label"], "train": rank.ndata["train_mask"].bool()}
        inside.update(sar=sar, torch=torch, F=torch.nn.functional, hidden=rank.ndata["feat"][:, :3])
        inside["sampler"] = sar.DistNeighborSampler([2, 2, 2], input_node_features={"x": "feat"})
        exec(block, inside)
        rows = inside.get("logits", inside.get("score"))
        return len(rows), len(inside.get("labels", rows)), bool(inside.get("loss", rows).isfinite().all())

    given = {"edge_index": (names["src"], names["dst"]), "node_data": {"feat": names["x"], "label": names["y"], "train_mask": names["m"]}}
    weights = {"weight": np.random.default_rng(1).random(1500).astype("float32")}
    parts = names.setdefault("weighted", None) or sar.partition("weighted", num_parts=2, edge_data=weights, **given)
    names["weighted"] = parts
    for rows, labels, finite in sar.run(worker, parts):
        assert rows == labels > 0 and finite


def run_of_dgl(names):
    names["classes"], names["features"] = CLASSES, FEATURES
    node_data = {"feat": names["x"], "label": names["y"], "train_mask": names["m"]}
    parts = sar.partition("parts", edge_index=(names["src"], names["dst"]), node_data=node_data, num_parts=2)
    sar.train(parts, out="run", layers=2, hidden=64, epochs=1)


def run_commands(page):
    """Runs the first commands of a page, up to a prediction."""
    commands = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.S)[0]
    program = _program.program()
    script = "sar-single() { " + " ".join(program) + ' "$@"; }\n' + commands.split("sar-single predict")[0]
    subprocess.run(["bash", "-ec", script], env=_program.environment(program), check=True)


# Makes the names and files that a page expects.
PREPARE = {
    "README.md": lambda names: names.update(data=data_of_pyg()),
    "docs/src/from-pyg.md": lambda names: names.update(data=data_of_pyg()),
    "docs/src/commands/export.md": lambda names: run_commands("docs/src/commands/export.md"),
    "docs/src/guides/heterogeneous.md": lambda names: run_commands("docs/src/guides/heterogeneous.md"),
    "docs/src/guides/python.md": run_of_dgl,
    "docs/src/guides/own-data.md": lambda names: names.update(dgl=dgl(), g=graph_of_dgl()),
    "docs/src/commands/predict.md": lambda names: names.update(dgl=dgl(), torch=torch, g=graph_of_dgl()),
}


def dgl():
    return __import__("dgl.distributed")


def missing(block):
    """The first package that a block needs and that is not here."""
    named = [name for name in ("dgl", "torch_geometric", "safetensors") if re.search(rf"\b{name}\b", block)]
    wanted = named + (["torch_geometric"] if 'form="pyg"' in block else [])
    return next((name for name in wanted if importlib.util.find_spec(name) is None), None)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_python_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    try:
        _program.environment(_program.program())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if missing(blocks(page)[0]):
        pytest.skip(f"needs {missing(blocks(page)[0])}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    names = {"__name__": "guide", **arrays()}
    PREPARE.get(page, lambda names: None)(names)
    for number, block in enumerate(blocks(page), 1):
        for size, smaller in SMALLER.items():
            block = block.replace(size, smaller)
        if missing(block):
            continue
        if "parts" in names:
            names.setdefault("data", names["parts"])
        if "rank." in block and "def worker(rank)" not in block:
            as_a_worker(block, names)
        else:
            exec(compile(block, f"{page}, block {number}", "exec"), names)
    if page.endswith("pytorch-model.md"):
        assert sum(len(part) for part in names["results"]) == NODES
        assert names["run"].predict().shape == (NODES,)
