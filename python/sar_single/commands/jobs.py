"""The commands of ``sar-single`` as functions. Flags are keyword arguments of the same name."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np

from .._program import call, flags
from . import arrays, charts, graphs, safetensors
from .results import Page

if TYPE_CHECKING:
    from . import pyg_weights

PathLike = Union[str, "os.PathLike[str]"]


def partition(
    out: PathLike,
    graph: Any = None,
    *,
    num_parts: int,
    edge_index: Optional[Tuple[Any, Any]] = None,
    node_data: Optional[Mapping[str, Any]] = None,
    edge_data: Optional[Mapping[str, Any]] = None,
    num_nodes: Optional[int] = None,
    **options: Any,
) -> str:
    """Cuts a graph into a partition directory; returns the path of its JSON file.

    ``graph`` is a DGL graph, a PyG ``Data`` or ``HeteroData``, a dataset of DGL, PyG or OGB with one graph, whose splits become masks, or a scipy
    sparse matrix (an entry (u, v) is an edge u -> v). Instead of a graph, ``edge_index`` may be (sources, destinations), each ``[edges]``, and
    ``node_data`` (``edge_data``) arrays with a row per node (edge). Arrays are numpy arrays, torch tensors or memory maps; they are written to files
    next to ``out`` in pieces. ``relation_column`` names an array of edges, such as ``"edge_type"``: each of its numbers becomes an edge type, which
    takes up to 17 bytes of memory per edge.
    """
    if (graph is None) == (edge_index is None):
        raise TypeError("pass either a graph or edge_index")
    described = graphs.describe(graph) if edge_index is None else graphs.Described({"": (edge_index[0], edge_index[1])})
    described.add(node_data or {}, edge_data or {}, num_nodes)
    column = options.pop("relation_column", None)
    if column is not None:
        described.divide(column)
    folder = Path(out)
    with _folder_for(folder) as temporary:
        given = described.write(temporary)
        part_json = call(["partition", *given, *flags({"num_parts": num_parts, "out": folder, **options})]).strip()
    described.note_order(part_json)
    return part_json


@contextmanager
def _folder_for(out: Path) -> Iterator[Path]:
    """A folder for arrays on the disk of ``out``."""
    parent = next(folder for folder in out.absolute().parents if folder.exists())
    with tempfile.TemporaryDirectory(prefix=".sar-single-arrays-", dir=parent) as folder:
        yield Path(folder)


def train(part_json: PathLike, *, out: Optional[PathLike] = None, init_params: Any = None, **options: Any) -> "Run":
    """Trains one of the built-in models. Results go to the new folder ``out``; without it, to a new temporary folder, ``run.folder``, which stays.

    ``init_params`` is a file of weights, or a module of DGL or PyG with the same layers, or its state dict.
    """
    model = options.get("model")
    if model is not None and not isinstance(model, str):
        raise TypeError(
            f"model is a {type(model).__name__}, but train takes the name of a built-in model, such as 'sage': sar.run trains modules of "
            "PyTorch, in a function that each worker calls"
        )
    folder = Path(tempfile.mkdtemp(prefix="sar-single-run-")) / "run" if out is None else Path(out)
    with tempfile.TemporaryDirectory(prefix="sar-single-weights-") as weights:
        given = _weights_file(init_params, Path(weights) / "weights.safetensors", part_json, options)
        call(flags({"part_json": part_json, "out": folder, "init_params": given, **options}))
    return Run(folder)


def _weights_file(weights: Any, path: Path, part_json: PathLike, options: Mapping[str, Any]) -> Optional[PathLike]:
    """The file of weights, given a file or a state dict. A state dict is written to ``path``."""
    if weights is None or isinstance(weights, (str, os.PathLike)):
        return weights
    from . import pyg_weights

    config = options.get("config")
    try:
        model = _model("" if config is None else Path(config).read_text(encoding="utf-8"), options)
    except OSError:
        return path  # The program names a configuration that it cannot read.
    pyg_weights.check_activation(weights, model.kind)
    state = dict(weights.state_dict() if hasattr(weights, "state_dict") else weights)
    if not pyg_weights.has_our_keys(state, model.kind):
        state = pyg_weights.to_built_in(state, model)
        pyg_weights.check_order_of_rows(state, part_json)
    safetensors.write(path, state)
    return path


def _model(config: str, options: Mapping[str, Any]) -> "pyg_weights.Model":
    """Settings of a model, from options or, without them, from the text of a configuration."""
    from . import pyg_weights

    def value(key: str, flag: str) -> str:
        given = options.get(flag)
        return _setting(config, key) if given is None else str(given).lower()

    residual, learns_eps = (value(key, key) == "true" for key in ("residual", "learn_eps"))
    return pyg_weights.Model(value("layer", "model") or "sage", residual, int(value("hops", "hops") or 0), learns_eps, value("merge", "hetero"))


def _setting(config: str, key: str) -> str:
    """A value in the text of a configuration; an empty text if unset."""
    found = re.search(rf"""^\s*{key}\s*=\s*("(?:[^"\\]|\\.)*"|'[^'\n]*'|[^\s#]+)""", config, re.M)
    if found is None:
        return ""
    return str(json.loads(found[1])) if found[1].startswith('"') else found[1].strip("'")


def plan(part_json: PathLike, **options: Any) -> Dict[str, Any]:
    """Memory, disk and time of a training run with these flags, as ``sar-single plan --json`` reports them."""
    result: Dict[str, Any] = json.loads(call(["plan", *flags({"part_json": part_json, "json": True, **options})]))
    return result


def inspect(part_json: PathLike, **options: Any) -> str:
    """The content of a partition directory, as text."""
    return call(["inspect", *flags(options), os.fspath(part_json)])


def predict(run: PathLike, *, orig_ids: Any = None, **options: Any) -> "np.ndarray[Any, Any]":
    """Predictions for all nodes with the weights of a run's folder: a row per node, in the nodes' order before the cut if known, or in the
    partitions' order with ``order="partition"``.

    ``orig_ids`` are the original ids of the partitions' nodes, if the partitions do not hold them: the first mapping that DGL's
    ``partition_graph(return_mapping=True)`` returns, or a file of it; with several node types, by type.
    """
    with tempfile.TemporaryDirectory(prefix="sar-single-predict-") as folder:
        path = Path(folder) / "predictions.npy"
        given = [word for file in _files_of_ids(orig_ids, Path(folder)) for word in ("--orig-ids", file)]
        call(["predict", *given, *flags({"run": run, "out": path, **options})])
        result: "np.ndarray[Any, Any]" = np.load(path)
        return result


def _files_of_ids(orig_ids: Any, folder: Path) -> List[str]:
    """Files of original ids, each preceded by the node type if there is one."""
    if orig_ids is None:
        return []
    files: List[str] = []
    for ntype, ids in orig_ids.items() if isinstance(orig_ids, Mapping) else [("", orig_ids)]:
        if isinstance(ids, (str, os.PathLike)):
            path = Path(ids)
        else:
            path = folder / f"ids-{len(files)}.npy"
            arrays.write(path, [ids if hasattr(ids, "shape") else np.asarray(ids)])
        files.append(f"{ntype}={path}" if ntype else str(path))
    return files


class Run:
    """The folder of a training run."""

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    @property
    def metrics(self) -> List[Dict[str, Any]]:
        """One dict per epoch."""
        return [line for line in self._lines() if line["event"] == "epoch"]

    @property
    def evaluation(self) -> Optional[Dict[str, Any]]:
        """The evaluation at the end of the run; None before."""
        return next((line for line in reversed(self._lines()) if line["event"] == "evaluation"), None)

    def _lines(self) -> List[Dict[str, Any]]:
        *lines, _ = (self.folder / "metrics.jsonl").read_text().split("\n")
        # A killed run may leave half a line, without its end.
        return [json.loads(line) for line in lines]

    def state_dict(self, style: str = "dgl") -> Dict[str, Any]:
        """The weights: name -> torch.Tensor, under the keys of DGL's modules, or with ``style="pyg"`` of PyG's."""
        if style not in ("dgl", "pyg"):
            raise ValueError(f"unknown style {style!r}: use dgl or pyg")
        state = safetensors.read(self.folder / "model.safetensors")
        if style == "dgl":
            return state
        from . import pyg_weights

        return pyg_weights.to_pyg(state, _model(self._config(), {}), _setting(self._config(), "part_json"))

    def _config(self) -> str:
        return (self.folder / "config.toml").read_text(encoding="utf-8")

    def report(self, **options: Any) -> Page:
        """The page of ``sar-single report``, for notebooks; its text is ``.html``."""
        with tempfile.TemporaryDirectory(prefix="sar-single-report-") as folder:
            path = Path(folder) / "report.html"
            call(["report", *flags({"out": path, **options}), os.fspath(self.folder)], show=False)
            return Page(path.read_text(encoding="utf-8"))

    def _repr_html_(self) -> Optional[str]:
        if not (self.folder / "metrics.jsonl").exists():
            return None
        budget = _setting(self._config(), "memory_budget")
        end = (self.evaluation or {}).items()
        found = [f"{escape(key)} {value:.4g}" for key, value in end if isinstance(value, float) and re.match("train_|val_|test_|loss", key)]
        shown = charts.of_metrics(self.metrics, int(budget) if budget.isdigit() else 0)
        return f"<div><code>{escape(repr(self))}</code> {', '.join(found)}</div><div>{shown}</div>"

    def predict(self, **options: Any) -> "np.ndarray[Any, Any]":
        """Predictions for all nodes; see ``predict``."""
        return predict(self.folder, **options)


__all__ = ["Run", "inspect", "partition", "plan", "predict", "train"]
