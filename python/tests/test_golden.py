"""Numbers of DGL on whole graphs, through ``sar.run`` on partitions: with layers of ``sar_single.nn`` and of ``dgl.nn``."""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

import cloudpickle  # noqa: E402
import models  # noqa: E402

import sar_single as sar  # noqa: E402

# Everything is written at every pause with the one, and kept with the other; the bits are the same (test_budget.py).
BUDGETS = {"sar_single.nn": "min", "dgl.nn.pytorch": "1GiB"}

# Worker processes cannot import the modules of the tests by name.
cloudpickle.register_pickle_by_value(models)

LAYERS = ["sar_single.nn", "dgl.nn.pytorch"]
STEPS = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "karate_steps"
FOLDERS = ["karate/p2", "karate/p2_hops2", "randdir/p3", "randdir/p4_random", "cora/p2", "cora/p4", "hetero/p2", "hetero/p4"]


def worker(rank, layers, cases):
    layer = importlib.import_module(layers)
    if layers.startswith("dgl"):
        sar.patch_dgl()
    ntypes = rank.node_types
    results = {}
    for name, (kind, sizes, heads, num_rels, parameters) in cases.items():
        for dtype in (torch.float32, torch.float64):
            model = models.Model(layer, kind, sizes, heads, num_rels).to(dtype)
            model.load_state_dict({key: value.to(dtype) for key, value in parameters.items()})
            x = rank.ndata["features"].to(dtype).requires_grad_()
            weight = rank.edata["weight"].to(dtype) if kind == "gcn_ew" else None
            logits = model(rank.graph, x, weight, rank.edata["_TYPE"])
            labelled = rank.ndata["_TYPE"] == len(ntypes) - 1
            train, y = rank.ndata["train_mask"].bool(), rank.ndata["labels"].long()
            total = rank.all_reduce(train.sum())
            loss = torch.nn.functional.cross_entropy(logits[labelled][train], y[train], reduction="sum") / total
            loss.backward()
            rank.gather_grads(model)
            values = {f"grad.{key}": parameter.grad for key, parameter in model.named_parameters()}
            values.update(logits=logits.detach(), grad_features=x.grad, loss=rank.all_reduce(loss.detach()).reshape(1))
            results[name, "f32" if dtype == torch.float32 else "f64"] = values
    return results


def cases_of(folder: Path):
    for path in sorted((folder.parent / "cases").glob("*_l?*.safetensors")):
        if path.name.startswith("curve"):
            continue
        with safetensors.safe_open(path, "pt") as file:
            meta = file.metadata()
            values = {key: file.get_tensor(key) for key in file.keys()}
        features = values["f64.grad_features"].shape[1] if "f64.grad_features" in values else 64
        hidden = [int(meta["hidden"])] * (int(meta["layers"]) - 1)
        sizes = [features, *hidden, int(meta["classes"])]
        parameters = {key[6:]: value for key, value in values.items() if key.startswith("param.")}
        case = meta["kind"], sizes, int(meta["heads"] or 0), int(meta["num_rels"] or 0), parameters
        yield path.stem, case, values


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_golden_numbers(golden, spill, folder, layers):
    if layers.startswith("dgl") and importlib.util.find_spec("dgl") is None:
        pytest.skip("DGL is not installed")
    folder = golden / folder
    found = list(cases_of(folder))
    assert found
    part_json = next(path for path in folder.glob("*.json") if path.name != "inspect.json")
    cases = {name: case for name, case, _ in found}
    ranks = sar.run(worker, part_json, args=(layers, cases), memory_budget=BUDGETS[layers], spill_dir=spill)
    original = safetensors.load_file(folder / "mapping.safetensors")["homo.orig_nid"].long()
    maps = json.loads(part_json.read_text())["node_map"].values()
    for name, _, values in found:
        for precision, tolerance in (("f64", 1e-9), ("f32", 1e-4)):
            for key in [key[4:] for key in values if key.startswith(precision) and "hidden" not in key]:
                expected = values[f"{precision}.{key}"]
                if key in ("logits", "grad_features"):
                    ours = torch.empty_like(expected)
                    for part, result in enumerate(ranks):
                        start, end = min(m[part][0] for m in maps), max(m[part][1] for m in maps)
                        ours[original[start:end]] = result[name, precision][key]
                    check(ours, expected, tolerance, f"{name} {precision} {key}")
                    continue
                for result in ranks:
                    check(result[name, precision][key], expected, tolerance, f"{name} {precision} {key}")


def first_step(rank, layers, cases):
    """Logits, loss and gradients of the first step, in both precisions."""
    layer = importlib.import_module(layers)
    train, y = rank.ndata["train_mask"].bool(), rank.ndata["labels"].long()
    total = rank.all_reduce(train.sum())
    results = {}
    for name, (kind, how, sizes, weighted, parameters) in cases.items():
        for dtype in (torch.float32, torch.float64):
            model = models.Stack(layer, kind, how, sizes).to(dtype)
            model.load_state_dict({key: value.to(dtype) for key, value in parameters.items()})
            weight = rank.edata["weight"].to(dtype) if weighted else None
            logits = model(rank.graph, rank.ndata["features"].to(dtype), weight)
            loss = torch.nn.functional.cross_entropy(logits[train], y[train], reduction="sum") / total
            loss.backward()
            rank.gather_grads(model)
            values = {f"grad.{key}": parameter.grad for key, parameter in model.named_parameters()}
            values.update(logits=logits.detach(), loss=rank.all_reduce(loss.detach()).reshape(1))
            results[name, dtype] = values
    return results


@pytest.mark.parametrize("layers", LAYERS)
def test_numbers_of_dgl_that_the_repository_has(karate, spill, layers):
    if layers.startswith("dgl") and importlib.util.find_spec("dgl") is None:
        pytest.skip("DGL is not installed")
    cases, expected = {}, {}
    for path in sorted(STEPS.glob("*_*.safetensors")):
        values = safetensors.load_file(path)
        kind, how = path.stem.split("_")[:2]
        count = 1 + max(int(key.split(".")[2]) for key in values if key.startswith("param."))
        parameters = {key[6:]: value for key, value in values.items() if key.startswith("param.")}
        cases[path.stem] = kind, how, [34, *[5] * (count - 1), 2], path.stem.endswith("weighted"), parameters
        expected[path.stem] = {key: value for key, value in values.items() if not key.startswith("param.")}
    assert len(cases) >= 13
    ranks = sar.run(first_step, karate, args=(layers, cases), memory_budget=BUDGETS[layers], spill_dir=spill)
    for name, values in expected.items():
        for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
            found = [rank[name, dtype] for rank in ranks]
            for key, value in values.items():
                parts = [torch.cat([part[key] for part in found])] if key == "logits" else [part[key] for part in found]
                for part in parts:
                    check(part, value, tolerance, f"{name} {dtype} {key}")


def check(ours, expected, tolerance, what):
    scale = max(1.0, expected.abs().max().item())
    difference = (ours.reshape(expected.shape) - expected).abs().max().item()
    assert difference <= tolerance * scale, f"{what} differs by {difference}"
