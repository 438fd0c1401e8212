"""Edge values for the engine's sums and attention, without a row per edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from ..graph.scope import Scope
from .columns import Columns
from .stand_in import Deferred, StandIn


@dataclass(frozen=True)
class Factors:
    """A value per edge: the product of those that exist of a value of its source, a value of its destination, ``[nodes]``, and its own value,
    ``[edges]``.

    Values of sources are ``[sources]``, or ``[halo rows]`` where other ranks' are ``shared``.
    """

    source: Optional[Tensor] = None
    destination: Optional[Tensor] = None
    own: Optional[Tensor] = None
    shared: bool = True

    def times(self, other: "Factors") -> "Factors":
        """The product with other factors of the same edges."""
        source = _product(self.source, other.source)
        return Factors(source, _product(self.destination, other.destination), _product(self.own, other.own), self.shared and other.shared)


def _product(a: Optional[Tensor], b: Optional[Tensor]) -> Optional[Tensor]:
    if a is None or b is None:
        return b if a is None else a
    rows = min(len(a), len(b))
    return a[:rows] * b[:rows]


# Whether reading source values postpones their exchange until something reads the product.
EXCHANGED_LATER = Scope(False)


class EdgeProduct(Deferred):
    """A product of ``Factors``, such as the weights of ``gcn_norm``."""

    what = "weights of edges"
    columns: Columns
    _factors: Factors

    def __new__(cls, columns: Columns, factors: Factors, dtype: torch.dtype) -> "EdgeProduct":
        result: "EdgeProduct" = StandIn.made(cls, (len(columns),), dtype)
        result.columns, result._factors = columns, factors
        return result

    @staticmethod
    def of_ends(columns: Columns, x: Tensor, sources: bool) -> "Optional[EdgeProduct]":
        """``x`` of each edge's source (or destination). None for values that need a gradient, which anything other than a tensor could lose."""
        rows = columns.topology.num_sources if sources else columns.topology.num_nodes
        if x.dim() != 1 or len(x) != rows or x.requires_grad or x.dtype not in (torch.float32, torch.float64):
            return None
        # ``x`` may be changed in place later.
        x = x.clone()
        if not sources:
            return EdgeProduct(columns, Factors(destination=x), x.dtype)
        if EXCHANGED_LATER.value:
            return EdgeProduct(columns, Factors(source=x, shared=False), x.dtype)
        return EdgeProduct(columns, Factors(source=columns.topology.halo(x)), x.dtype)

    @property
    def factors(self) -> Factors:
        """The factors of the values; once the values have been read, the values alone, because they may have been changed in place."""
        return self._factors if self._known is None else Factors(own=self._known)

    def computed(self) -> Tensor:
        """The values. One pause, if the sources' values are not shared."""
        factors, columns = self._factors, self.columns
        result = factors.own
        if factors.source is not None:
            rows = factors.source if factors.shared else columns.topology.halo(factors.source)
            result = _product(rows[columns.source], result)
        if factors.destination is not None:
            result = _product(result, factors.destination[columns.destination])
        assert result is not None
        return result


def _times(func: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    a, b = (b, a) if not isinstance(a, EdgeProduct) else (a, b)
    if kwargs or not isinstance(b, Tensor) or b.dtype != a.dtype or b.shape != a.shape:
        return NotImplemented
    if isinstance(b, EdgeProduct):
        return EdgeProduct(a.columns, a.factors.times(b.factors), a.dtype) if a.columns is b.columns else NotImplemented
    if isinstance(b, StandIn) or b.requires_grad:
        return NotImplemented
    own = None if bool((b == 1).all()) else b
    return EdgeProduct(a.columns, a.factors.times(Factors(own=own)), a.dtype)


# Products stay deferred.
EdgeProduct.operations = dict.fromkeys("mul __mul__ __rmul__ multiply".split(), _times)


@dataclass(frozen=True)
class Scores:
    """Scores of edges before a softmax: ``leaky_relu(source + destination)`` as in GAT, or with a ``vector`` as in GATv2."""

    source: Tensor
    destination: Optional[Tensor]
    vector: Optional[Tensor]
    slope: float


class AttentionWeights(Deferred):
    """Result of ``edge_updater`` where it is a softmax of ``Scores``. Any operation that changes the values reads them."""

    what = "attention of edges"
    columns: Columns
    scores: Scores
    _compute: Callable[[], Tensor]

    def __new__(cls, columns: Columns, scores: Scores, compute: Callable[[], Tensor]) -> "AttentionWeights":
        heads = scores.source.shape[1]
        result: "AttentionWeights" = StandIn.made(cls, (len(columns), heads), scores.source.dtype)
        result.columns, result.scores, result._compute = columns, scores, compute
        return result

    def computed(self) -> Tensor:
        """The values."""
        result: Tensor = self._compute()
        return result
