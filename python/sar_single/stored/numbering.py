"""Numbering of the nodes (edges) of partitions and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

import torch
from torch import Tensor

from .._engine import Files

EdgeType = Tuple[str, str, str]


def as_edge_type(name: str) -> EdgeType:
    """An edge type by its name in the partitions."""
    begin, relation, end = name.split(":")
    return begin, relation, end


@dataclass
class Numbering:
    """Ranges of ids, ascending, each with one partition and type. ``firsts`` has one more element, the end."""

    what: str
    firsts: Tensor
    parts: Tensor
    types: Tensor
    #: For each range, the number of its first node (edge) inside the type.
    inside: Tensor
    #: First id of each partition, and the end.
    part_firsts: Tensor
    num_types: int

    @classmethod
    def of(cls, files: Files, table: str) -> "Numbering":
        """The numbering of the nodes or edges of partitions."""
        ranges, end = files.ranges(table)
        firsts = torch.tensor([*(first for first, _, _ in ranges), end], dtype=torch.int64)
        types = torch.tensor([ty for _, _, ty in ranges], dtype=torch.int64)
        counts = [0] * len(files.ntypes if table == "node" else files.etypes)
        inside = []
        for (_, _, ty), length in zip(ranges, firsts.diff().tolist()):
            inside.append(counts[ty])
            counts[ty] += length
        part_firsts = torch.tensor(files.firsts(table), dtype=torch.int64)
        parts = torch.tensor([part for _, part, _ in ranges], dtype=torch.int64)
        return cls(table, firsts, parts, types, torch.tensor(inside, dtype=torch.int64), part_firsts, len(counts))

    @property
    def count(self) -> int:
        """Number of nodes (edges)."""
        return int(self.firsts[-1])

    def count_of(self, ty: int) -> int:
        """Number of nodes (edges) of a type."""
        return int(self.firsts.diff()[self.types == ty].sum())

    def check(self, ids: Tensor) -> None:
        """Refuses ids that do not exist."""
        if len(ids) and not (0 <= int(ids.min()) and int(ids.max()) < self.count):
            raise IndexError(f"ids of {self.what}s are from 0 to {self.count - 1}, but here are {int(ids.min())} to {int(ids.max())}")

    def part_of(self, ids: Tensor) -> Tensor:
        """The partitions of ids."""
        self.check(ids)
        return torch.searchsorted(self.part_firsts, ids.contiguous(), right=True) - 1

    def type_of(self, ids: Tensor) -> Tensor:
        """The types of ids."""
        return self.types[self._range(ids)]

    def inside_type(self, ids: Tensor) -> Tensor:
        """The numbers of ids inside their types."""
        place = self._range(ids)
        return ids - self.firsts[place] + self.inside[place]

    def of_type(self, ty: int, numbers: Tensor) -> Tensor:
        """The ids of numbers inside a type."""
        chosen = torch.nonzero(self.types == ty).flatten()
        order = torch.argsort(self.inside[chosen])
        chosen = chosen[order]
        total = self.count_of(ty)
        if len(numbers) and not (0 <= int(numbers.min()) and int(numbers.max()) < total):
            raise IndexError(f"numbers of {self.what}s of this type are from 0 to {total - 1}, but here are {int(numbers.min())} to {int(numbers.max())}")
        if not len(numbers):
            return numbers
        place = chosen[torch.searchsorted(self.inside[chosen], numbers, right=True) - 1]
        return numbers - self.inside[place] + self.firsts[place]

    def part_range(self, part: int, ty: int) -> Tuple[int, int]:
        """The ids of a type in a partition."""
        found = torch.nonzero((self.parts == part) & (self.types == ty)).flatten().tolist()
        if not found:
            return int(self.part_firsts[part]), int(self.part_firsts[part])
        return int(self.firsts[found[0]]), int(self.firsts[found[0] + 1])

    def divided(self, ascending: Tensor) -> List[Tuple[int, int, int, int, int]]:
        """The ranges that contain any of the ascending ids: first id, partition and type of each, and the places at which its ids begin and end."""
        ends = torch.searchsorted(ascending, self.firsts[:-1]).tolist() + [len(ascending)]
        ranges = zip(self.firsts.tolist(), self.parts.tolist(), self.types.tolist(), ends, ends[1:])
        return [(first, part, ty, begin, end) for first, part, ty, begin, end in ranges if begin < end]

    def _range(self, ids: Tensor) -> Tensor:
        self.check(ids)
        return torch.searchsorted(self.firsts[:-1].contiguous(), ids.contiguous(), right=True) - 1
