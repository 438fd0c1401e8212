"""Nodes that the numbers of an index refer to: sources or destinations of edges."""

from __future__ import annotations

import torch
from torch import Tensor

from .errors import Refused, refused
from .topology import Topology, sum_to_sources


class Sources:
    """Nodes at which edges begin, which may belong to any rank."""

    what = "sources of edges"

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def gather(self, x: Tensor, dim: int, numbers: Tensor) -> Tensor:
        """Values of the nodes, one per edge. One pause."""
        self.check("indexing", x.shape[dim])
        if dim % x.dim() == 0:
            return self.topology.halo(x)[numbers]
        return self.topology.halo(x.transpose(0, dim).contiguous())[numbers].transpose(0, dim)

    def add(self, name: str, out: Tensor, dim: int, numbers: Tensor, values: Tensor) -> Tensor:
        """``out`` plus the sums of edge values. One pause."""
        self.check(name, out.shape[dim])
        return out + sum_to_sources(self.topology, numbers, values.transpose(0, dim)).transpose(0, dim)

    def check(self, name: str, rows: int) -> None:
        """Refuses a tensor without a row per own node."""
        if rows != self.topology.num_sources:
            raise _other_rows(name, self.what, rows, self.topology.num_sources)

    def own(self, numbers: Tensor) -> bool:
        """Whether all numbers are own nodes."""
        return bool((numbers < self.topology.num_sources).all())


class Destinations:
    """Own nodes at which edges end: all of the rank's, or ``count`` from ``first`` on, numbered from 0; or nodes that are ``made_up``."""

    what = "destinations of edges"

    def __init__(self, total: int, first: int, count: int, made_up: bool = False) -> None:
        self.total, self.first, self.count, self.made_up = total, first, count, made_up

    def gather(self, x: Tensor, dim: int, numbers: Tensor) -> Tensor:
        """Values of the nodes, one per edge."""
        return x.index_select(dim, self.numbers("indexing", x.shape[dim], numbers))

    def numbers(self, name: str, rows: int, numbers: Tensor) -> Tensor:
        """The numbers as indices into a tensor with a row per node of the block, or per own node."""
        if rows == self.count:
            return numbers
        if rows == self.total:
            # A node before the first is padding.
            return (numbers + self.first).clamp(min=0)
        if self.made_up:  # The rows may be those of the rank's nodes.
            raise ValueError(f"{name} of {self.what}: the tensor has {rows} rows, which are not those of made-up nodes; dim_size and size_i are")
        raise _other_rows(name, self.what, rows, self.total)

    def own(self, numbers: Tensor) -> bool:
        """Whether all numbers are own nodes."""
        return True


def _other_rows(name: str, what: str, rows: int, nodes: int) -> Refused:
    return refused(
        name,
        what,
        f"the tensor has {rows} rows, but this rank has {nodes} nodes there",
        "use values with a row per own node, as rank.x has them; a table of all nodes of the graph belongs in the partition, as node data",
    )


def distinct(numbers: Tensor) -> bool:
    """Whether no number occurs twice."""
    return len(torch.unique(numbers)) == len(numbers)
