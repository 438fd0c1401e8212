"""The commands of ``sar-single`` as functions. Flags are keyword arguments of the same name."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _graphs
from ._program import call, flags

PathLike = Union[str, "os.PathLike[str]"]

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}


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
    """Cuts a graph into a partition directory; gives the path of its JSON file.

    ``graph`` is a DGL graph, a PyG ``Data`` or ``HeteroData``, or a scipy sparse matrix (an entry (u, v) is an edge u -> v). Or else
    ``edge_index`` is (sources, destinations), each ``[edges]``, and ``node_data`` (``edge_data``) has arrays with a row per node
    (edge). Arrays are numpy arrays, torch tensors or memory maps; they are written to files next to ``out`` in pieces.
    """
    if (graph is None) == (edge_index is None):
        raise TypeError("pass either a graph or edge_index")
    described = _graphs.describe(graph) if edge_index is None else _graphs.plain(edge_index)
    described.add(node_data or {}, edge_data or {}, num_nodes)
    folder = Path(out)
    with _folder_for(folder) as arrays:
        given = described.write(arrays)
        return call(["partition", *given, *flags({"num_parts": num_parts, "out": folder, **options})]).strip()


@contextmanager
def _folder_for(out: Path) -> Iterator[Path]:
    """A folder for arrays on the disk that ``out`` is to lie on."""
    parent = next(folder for folder in out.absolute().parents if folder.exists())
    with tempfile.TemporaryDirectory(prefix=".sar-single-arrays-", dir=parent) as folder:
        yield Path(folder)


def train(part_json: PathLike, *, out: Optional[PathLike] = None, **options: Any) -> "Run":
    """Trains one of the built-in models. Results go to the folder ``out``, which is made."""
    folder = Path(tempfile.mkdtemp(prefix="sar-single-run-")) / "run" if out is None else Path(out)
    call(flags({"part_json": part_json, "out": folder, **options}))
    return Run(folder)


def plan(part_json: PathLike, **options: Any) -> Dict[str, Any]:
    """What a training run with these flags takes, as ``sar-single plan --json`` reports it."""
    result: Dict[str, Any] = json.loads(call(["plan", *flags({"part_json": part_json, "json": True, **options})]))
    return result


def inspect(part_json: PathLike, **options: Any) -> str:
    """What is in a partition directory, as text."""
    return call(["inspect", *flags(options), os.fspath(part_json)])


def predict(run: PathLike, **options: Any) -> "np.ndarray[Any, Any]":
    """Predictions for all nodes with the weights of a run's folder, in the user's original ids unless ``order="partition"``."""
    with tempfile.TemporaryDirectory(prefix="sar-single-predict-") as folder:
        path = Path(folder) / "predictions.npy"
        call(["predict", *flags({"run": run, "out": path, "order": "original", **options})])
        result: "np.ndarray[Any, Any]" = np.load(path)
        return result


class Run:
    """The folder of a training run."""

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    @property
    def metrics(self) -> List[Dict[str, Any]]:
        """One dict per epoch."""
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["event"] == "epoch"]

    @property
    def evaluation(self) -> Optional[Dict[str, Any]]:
        """The last evaluation, if the run has come to its end."""
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return next((line for line in map(json.loads, lines) if line["event"] == "evaluation"), None)

    def state_dict(self) -> Dict[str, Any]:
        """The weights: name -> torch.Tensor, under the keys of the DGL module."""
        import torch

        content = (self.folder / "model.safetensors").read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = (8 + length + offset for offset in entry["data_offsets"])
                array = np.frombuffer(content[begin:end], dtype=_DTYPES[entry["dtype"]])
                tensors[name] = torch.from_numpy(array.reshape(entry["shape"]).copy())
        return tensors

    def predict(self, **options: Any) -> "np.ndarray[Any, Any]":
        """Predictions for all nodes, in the user's original ids; see ``predict``."""
        return predict(self.folder, **options)


__all__ = ["Run", "inspect", "partition", "plan", "predict", "train"]
