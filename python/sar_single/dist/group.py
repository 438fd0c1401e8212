"""Processes that work together: a run's ranks, or a plain script's processes."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, List, Optional, Sequence, Union

import torch
from torch import Tensor

from .._engine import Files
from ..process.current import current
from ..stored.stored import StoredGraph
from ..worker.dgl import patch_dgl

PathLike = Union[str, "os.PathLike[str]"]


class Processes:
    """The single process of a plain script, or all of ``torch.distributed`` if that is initialised."""

    def __init__(self) -> None:
        several = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.index = torch.distributed.get_rank() if several else 0
        self.world_size = torch.distributed.get_world_size() if several else 1

    def barrier(self) -> None:
        """Waits until every process is here."""
        self._gathered(None)

    def all_gather(self, x: Tensor) -> List[Tensor]:
        """The values of all processes, by rank."""
        return self._gathered(x)

    def all_to_all(self, messages: Sequence[Tensor]) -> List[Tensor]:
        """Sends ``messages[p]`` to process p; returns what each has sent here."""
        return [sent[self.index] for sent in self._gathered(list(messages))]

    def folder(self) -> Path:
        """A folder for all processes, removed with the first one."""
        path: Optional[str] = None
        if self.index == 0:
            path = tempfile.mkdtemp(prefix="sar-single-")
            atexit.register(shutil.rmtree, path, ignore_errors=True)
        found: str = self._gathered(path)[0]
        return Path(found)

    def _gathered(self, value: Any) -> List[Any]:
        if self.world_size == 1:
            return [value]
        everyone: List[Any] = [None] * self.world_size
        torch.distributed.all_gather_object(everyone, value)
        return everyone


def initialize(ip_config: Any = None, **_: Any) -> None:
    """Does nothing: files replace servers, and processes come from the run or from ``torch.distributed``."""


def exit_client() -> None:
    """Does nothing: no server waits."""


def open_graph(part_config: Optional[PathLike]) -> StoredGraph:
    """The files of a graph for the present processes; in a worker, the run's."""
    rank = current()
    if rank is not None:
        found: StoredGraph = rank._stored
        if part_config is not None and os.path.realpath(part_config) != os.path.realpath(found.files.path):
            raise ValueError(f"part_config is {os.fspath(part_config)}, but sar_single.run was given {found.files.path}")
        return found
    if part_config is None:
        raise ValueError("part_config is missing: outside of workers it names the JSON file of the partitions")
    patch_dgl()
    processes, files = Processes(), Files.open(os.fspath(part_config))
    return StoredGraph(files, processes.folder(), parts_of(processes.index, processes.world_size, files.num_parts), processes)


def parts_of(index: int, world_size: int, num_parts: int) -> List[int]:
    """The partitions whose files a process writes. With several trainers per partition, the first writes."""
    check_trainers(world_size, num_parts)
    if world_size >= num_parts:
        each = world_size // num_parts
        return [index // each] if index % each == 0 else []
    each = num_parts // world_size
    return list(range(index * each, (index + 1) * each))


def check_trainers(world_size: int, num_parts: int) -> None:
    """Refuses a number of processes that the partitions cannot be divided among."""
    if world_size % num_parts and num_parts % world_size:
        raise ValueError(f"{world_size} processes for {num_parts} partitions: one number must be a multiple of the other")
