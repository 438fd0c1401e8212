"""Optimizers of embeddings, which update the rows that batches have used, by DGL's rules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Sequence, Tuple

import torch
from torch import Tensor

from ..stored.partitions import Group
from .embedding import DistEmbedding
from .group import PathLike
from .tensor import DistTensor


class SparseOptimizer:
    """Sends gradients of rows to the processes that own the rows, which update rows and state in place."""

    #: Parts of an embedding's state, by DGL's names: per row of the embedding, true for a row, false for a number.
    _kinds: Dict[str, bool] = {}
    #: Attributes saved with the state.
    _settings: Tuple[str, ...] = ("_lr", "_eps")

    def __init__(self, params: Sequence[DistEmbedding], lr: float, eps: float) -> None:
        self._params, self._lr, self._eps = list(params), lr, eps
        if not self._params or not all(isinstance(param, DistEmbedding) for param in self._params):
            raise TypeError("params must be a list of DistEmbedding")
        names = [param.name for param in self._params]
        if len(set(names)) < len(names):
            raise ValueError(f"params has embeddings named {', '.join(names)}, whose states are saved by name: give each a name of its own")
        self._states = [self._new_state(param) for param in self._params]

    def step(self) -> None:
        """Updates the rows of all processes' batches. Two collectives per embedding."""
        with torch.no_grad():
            for param, state in zip(self._params, self._states):
                ids, gradients = self._gathered(param)
                if len(ids):
                    # Mean over a row's occurrences, as in DGL.
                    rows, places, counts = torch.unique(ids, return_inverse=True, return_counts=True)
                    total = torch.zeros((len(rows), param.embedding_dim), dtype=torch.float64).index_add_(0, places, gradients.double())
                    self._update(param, state, rows, (total / counts[:, None]).float())
                param.reset_trace()
                param.part_policy.partition_book._graph.group.barrier()

    def zero_grad(self) -> None:
        """Forgets the gradients since the last step; keeps rows read for the next ``backward``."""
        for param in self._params:
            param.forget_gradients()

    def local_state_dict(self) -> Dict[str, Any]:
        """The state of the rows that this process owns, and the settings, in DGL's form."""
        states = {}
        for param, state in zip(self._params, self._states):
            ids = _own_rows(param)
            states[param.name] = {"ids": ids, "states": {f"{param.name}_{kind}": rows[ids] for kind, rows in state.items()}}
        settings = {name: getattr(self, name) for name in self._settings}
        return {"params": {"world_size": self._group().world_size, **settings}, "emb_states": states}

    def load_local_state_dict(self, local_state_dict: Dict[str, Any]) -> None:
        """Loads the rows and settings of a ``local_state_dict``."""
        self._load(local_state_dict, "local_state_dict")

    def save(self, f: PathLike) -> None:
        """Writes a file per process, ``f`` with ``_RANK`` at the end, in DGL's form. All processes call this."""
        group = self._group()
        group.barrier()
        path = _of_process(f, group.index)
        unfinished = path.with_name(f".{path.name}")
        try:
            with open(unfinished, "wb") as file:
                torch.save(self.local_state_dict(), file)
            unfinished.rename(path)
        finally:
            unfinished.unlink(missing_ok=True)
        group.barrier()

    def load(self, f: PathLike) -> None:
        """Loads what any number of processes have saved, with this package or DGL. All processes call this."""
        group = self._group()
        group.barrier()
        saved_by = self._load_file(_of_process(f, 0))["params"]["world_size"]
        for process in range(max(group.index, 1), saved_by, group.world_size):
            self._load_file(_of_process(f, process))
        group.barrier()

    def _load_file(self, path: Path) -> Dict[str, Any]:
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: each process saves a file, and all of them are loaded")
        found: Dict[str, Any] = torch.load(path, map_location="cpu")
        self._load(found, path)
        return found

    def _load(self, saved: Dict[str, Any], source: object) -> None:
        known = {param.name: (param, state) for param, state in zip(self._params, self._states)}
        for name, found in saved["emb_states"].items():
            if name not in known:
                raise ValueError(f"{source}: the state of an embedding {name!r}, but the optimizer has {', '.join(known)}")
            param, state = known[name]
            expected = {f"{name}_{kind}": rows for kind, rows in state.items()}
            if found["states"].keys() != expected.keys():
                raise ValueError(f"{source}: {', '.join(found['states'])} do not belong to {type(self).__name__}, whose state has {', '.join(expected)}")
            for kind, values in found["states"].items():
                rows = expected[kind]
                if tuple(values.shape[1:]) != rows.shape[1:] or (len(found["ids"]) and int(found["ids"].max()) >= len(rows)):
                    raise ValueError(f"{source}: {kind} has rows of shape {list(values.shape[1:])} that do not fit an embedding of shape {list(rows.shape)}")
                rows[found["ids"]] = values
        for name in self._settings:
            setattr(self, name, saved["params"][name])

    def _update(self, param: DistEmbedding, state: Dict[str, DistTensor], rows: Tensor, gradients: Tensor) -> None:
        raise NotImplementedError

    def _group(self) -> Group:
        return self._params[0].part_policy.partition_book._graph.group

    def _gathered(self, param: DistEmbedding) -> Tuple[Tensor, Tensor]:
        """The rows that batches have used and this process owns, with their gradients."""
        used = [(ids, rows.grad) for ids, rows in param._trace if rows.grad is not None]
        ids = torch.cat([ids for ids, _ in used]) if used else torch.empty(0, dtype=torch.int64)
        gradients = torch.cat([gradient for _, gradient in used]) if used else torch.empty((0, param.embedding_dim))
        graph = param.part_policy.partition_book._graph
        group = graph.group
        owners = param.part_policy.to_partid(ids) * group.world_size // graph.files.num_parts
        # The bits of ids go in front of the gradients, to make one message.
        packed = torch.cat([ids.view(torch.float32).reshape(-1, 2), gradients.float()], 1)
        arrived = torch.cat(group.all_to_all([packed[owners == owner] for owner in range(group.world_size)]))
        return arrived[:, :2].contiguous().view(torch.int64).flatten(), arrived[:, 2:]

    def _new_state(self, param: DistEmbedding) -> Dict[str, DistTensor]:
        def zeros(*width: int) -> DistTensor:
            return DistTensor((param.num_embeddings, *width), torch.float32, part_policy=param.part_policy, is_gdata=False)

        return {kind: zeros(param.embedding_dim) if is_row else zeros() for kind, is_row in self._kinds.items()}


class SparseAdagrad(SparseOptimizer):
    """Adagrad."""

    _kinds = {"sum": True}

    def __init__(self, params: Sequence[DistEmbedding], lr: float, eps: float = 1e-10) -> None:
        super().__init__(params, lr, eps)

    def _update(self, param: DistEmbedding, state: Dict[str, DistTensor], rows: Tensor, gradients: Tensor) -> None:
        total = state["sum"][rows] + gradients * gradients
        state["sum"][rows] = total
        param.weight[rows] = param.weight[rows] - self._lr * gradients / (total.sqrt() + self._eps)


class SparseAdam(SparseOptimizer):
    """Adam, with a count of steps per row: those in which the row was used."""

    _kinds = {"step": False, "mem": True, "power": True}
    _settings = ("_lr", "_eps", "_beta1", "_beta2")

    def __init__(self, params: Sequence[DistEmbedding], lr: float, betas: Tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        super().__init__(params, lr, eps)
        self._beta1, self._beta2 = betas

    def _update(self, param: DistEmbedding, state: Dict[str, DistTensor], rows: Tensor, gradients: Tensor) -> None:
        step = state["step"][rows] + 1
        mean = self._beta1 * state["mem"][rows] + (1 - self._beta1) * gradients
        square = self._beta2 * state["power"][rows] + (1 - self._beta2) * gradients * gradients
        state["step"][rows], state["mem"][rows], state["power"][rows] = step, mean, square
        corrected = mean / (1 - self._beta1**step)[:, None], square / (1 - self._beta2**step)[:, None]
        param.weight[rows] = param.weight[rows] - self._lr * corrected[0] / (corrected[1].sqrt() + self._eps)


def _own_rows(param: DistEmbedding) -> Tensor:
    """The numbers of the rows that this process updates."""
    policy = param.part_policy
    firsts = policy.firsts.tolist()
    rows = [torch.arange(firsts[part], firsts[part + 1]) for part in policy.partition_book._graph.parts]
    return torch.cat(rows) if rows else torch.empty(0, dtype=torch.int64)


def _of_process(f: PathLike, process: int) -> Path:
    return Path(f"{os.fspath(f)}_{process}")
