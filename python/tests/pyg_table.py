"""The table of the book that says how modules of PyG run.

    python pyg_table.py > docs/src/pyg-modules.md

computes it from runs on small graphs. Needs PyTorch Geometric.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
import torch_geometric
import torch_geometric.nn

import pyg_cases
import pyg_graphs
import sar_single as sar

PAGE = Path(__file__).resolve().parents[2] / "docs" / "src" / "pyg-modules.md"
TOLERANCE = 1e-9

HEAD = """# Modules of PyTorch Geometric

This page lists how each module of `torch_geometric.nn` {version} runs on `rank.edge_index`. A test runs all of them in float64 on the whole graph in memory and in
workers, on one partition and on four, one of which has no edges; outputs and all gradients agree to 1e-9. The same test makes this page.

* **fused**: the engine adds messages up; only factors that the module computes itself have a row per edge.
* **blocks**: `message` and `aggregate` run on blocks of destinations with at most 65,536 edges and 8 million values (one destination may have more), which the backward pass computes again.
* **all edges**: the messages of all edges of a rank are in memory at once, for the reason given.
* **rows of all edges**: the module takes the rows of sources and destinations itself, which are in memory at once.
* **refused**: the module raises an error with the given text.
"""


def worker(rank, nn, keys, block):
    """Results by case, and how the cases ran."""
    from sar_single.graph import destinations, unfit
    from sar_single.pyg import patch, places

    destinations.EDGES = block
    found = {}
    for key in keys:
        make, call = pyg_cases.cases(nn)[key]
        ways, turns, gathered = recorded(patch), rank._engine.turns, []
        places.Sources.gather = gathering(gathered)
        unfit._SAID.clear()
        try:
            module = pyg_cases.made(nn, make)
            values = pyg_cases.result(module, call, pyg_graphs.of_rank(rank, SimpleNamespace), 1 / rank.world_size if key[0] == "Pooling" else 1)
        except Exception as error:
            if not isinstance(error, sar.Refused) and key not in REFUSED_ANYWAY:
                raise
            found[key] = str(error)
            continue
        if rank._engine.turns > turns and not ways and not unfit._SAID:
            ways.add("rows" if gathered else "over ranks")
        rank.gather_grads(module)
        values["parameters"] = {name: parameter.grad for name, parameter in module.named_parameters()}
        values["buffers"] = dict(module.named_buffers())
        found[key] = values, sorted({reason for _, reason in unfit._SAID}), sorted(ways)
    return found, rank.orig_ids


def recorded(patch):
    """The names of the ways in which messages are computed from now on."""
    ways = set()
    for name in ("fused", "in_blocks"):
        theirs = getattr(patch, name)
        theirs = getattr(theirs, "theirs", theirs)

        def either(*args, name=name, theirs=theirs, **kwargs):
            result = theirs(*args, **kwargs)
            if result is not None:
                ways.add(name)
            return result

        either.theirs = theirs
        setattr(patch, name, either)
    return ways


def gathering(gathered):
    """A function that takes rows of sources, and notes that it is called."""
    from sar_single.pyg.places import Sources

    theirs = getattr(Sources.gather, "theirs", Sources.gather)

    def gather(*args):
        gathered.append(True)
        return theirs(*args)

    gather.theirs = theirs
    return gather


def expected(nn, data):
    """Results of the cases in memory, or their errors."""
    results = {}
    for key, (make, call) in pyg_cases.cases(nn).items():
        try:
            module = pyg_cases.made(nn, make)
            values = pyg_cases.result(module, call, SimpleNamespace(**data))
        except Exception as error:
            results[key] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        values["parameters"] = {name: parameter.grad for name, parameter in module.named_parameters()}
        values["buffers"] = dict(module.named_buffers())
        results[key] = values
    return results


def compared(nn, data, parts, memory, spill, budget, block, every=1):
    """How each case ran, and what was wrong: two dicts by case. ``every``: of how many cases one is run."""
    keys = [key for key, values in memory.items() if not isinstance(values, str) or key in REFUSED_ANYWAY and hasattr(nn, key[1].split(".")[0])][::every]
    results = sar.run(worker, parts, args=(nn, keys, block), memory_budget=budget, spill_dir=spill)
    ids = [ids for _, ids in results]
    ways, wrong = {}, {}
    for key in keys:
        ranks = [found[key] for found, _ in results]
        refusals = [rank for rank in ranks if isinstance(rank, str)]
        if refusals:
            ways[key] = f"refused: {refusals[0]}"
            continue
        what, by = pyg_graphs.worst([values for values, _, _ in ranks], ids, memory[key])
        if by > TOLERANCE:
            wrong[key] = f"{what} differs by {by}"
        ways[key] = described(*ranks[0][1:])
    return ways, wrong


def described(reasons, ways):
    """How a case ran, in words."""
    words = [{"fused": "fused", "in_blocks": "blocks", "over ranks": "sums over all ranks", "rows": "rows of all edges"}[way] for way in ways]
    return ", ".join([*words, *(f"all edges: {reason}" for reason in reasons)]) or "row by row, without a pause"


# Cases whose calls in memory fail for a reason of PyG's, but which are refused before that.
REFUSED_ANYWAY = {
    *(("Models", name) for name in "CorrectAndSmooth GAE.recon_loss LPFormer SGFormer ASAPooling PANPooling ClusterPooling SchNet DimeNet DimeNetPlusPlus GNNFF ViSNet".split()),
    *(("Pooling", name) for name in "graclus voxel_grid fps knn knn_graph radius radius_graph nearest knn_interpolate".split()),
}


def page(ways, memory):
    """The text of the page."""
    lines = [HEAD.format(version=torch_geometric.__version__)]
    for section in ("Convolutions", "Aggregations", "Norms", "Pooling", "Models"):
        lines.append(f"\n## {section}\n\n| module | how it runs |\n|---|---|")
        for key, values in memory.items():
            if key[0] == section:
                way = ways.get(key) or f"not tested: PyG says `{values}`"
                lines.append(f"| `{key[1]}` | {way.replace('|', ' ')} |")
    lines.append("\n## Without a test\n\nAnother test compares the names of this page with those of `torch_geometric.nn`.\n\n| module | why |\n|---|---|")
    lines += [f"| `{name}` | {reason} |" for name, reason in sorted(pyg_cases.WITHOUT.items())]
    return "\n".join(lines) + "\n"


def main():
    """Prints the page."""
    nn, data = torch_geometric.nn, pyg_graphs.graph()
    memory = expected(nn, data)
    with tempfile.TemporaryDirectory() as folder:
        parts = pyg_graphs.cut(data, Path(folder), 4)
        ways, wrong = compared(nn, data, parts, memory, Path(folder) / "spill", "2GiB", 16)
    print(*(f"{key}: {problem}" for key, problem in wrong.items()), sep="\n", file=sys.stderr)
    print(page(ways, memory), end="")


if __name__ == "__main__":
    import cloudpickle

    for module in (pyg_cases, pyg_graphs):
        cloudpickle.register_pickle_by_value(module)
    torch.set_num_threads(1)
    main()
