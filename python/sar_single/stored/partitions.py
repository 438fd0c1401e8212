"""The files of a partitioned graph, and the processes that work on it."""

from __future__ import annotations

from pathlib import Path
from typing import List, Protocol, Sequence

from torch import Tensor

from .._engine import Files
from .numbering import Numbering


class Group(Protocol):
    """Processes that work on a graph together."""

    index: int
    world_size: int

    def barrier(self) -> None:
        """Waits until every process is here."""

    def all_gather(self, x: Tensor) -> List[Tensor]:
        """The values of all processes, by rank."""

    def all_to_all(self, messages: Sequence[Tensor]) -> List[Tensor]:
        """Sends ``messages[p]`` to process p; returns what each has sent here."""


class Partitions:
    """The files of a graph, and files that a group's processes write into ``folder``, each for some ``parts``."""

    def __init__(self, files: Files, folder: Path, parts: Sequence[int], group: Group) -> None:
        self.files, self.folder, self.parts, self.group = files, folder, parts, group
        self.ntypes: List[str] = files.ntypes
        self.etypes: List[str] = files.etypes
        self.nodes, self.edges = Numbering.of(files, "node"), Numbering.of(files, "edge")
        self._written = 0

    def numbering(self, table: str) -> Numbering:
        """The ids of nodes or edges (``table``)."""
        return self.nodes if table == "node" else self.edges

    def new_name(self) -> str:
        """A name for files that all processes write, the same in each."""
        self._written += 1
        return f"column-{self._written}"
