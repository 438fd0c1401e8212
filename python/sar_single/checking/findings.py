"""The first difference between a program on three partitions and on one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .watch import Event, Seen

# Tolerances, in units of the largest value: in the watched steps, and in values that come after many steps.
_NEAR, _FAR = 1e-8, 1e-5
# For whole numbers after many steps, such as classes, the share of rows that may differ.
_FEW = 0.02

Key = Tuple[str, str, str, int]


@dataclass
class Finding:
    """The first event that differs, the difference, and its inputs."""

    event: Event
    by: float
    # The operation that gave every rank a value of only its own rows.
    cause: Optional[Event] = None
    after: str = ""
    # Whether all ranks have one value, whether their sum equals the value of one partition, and the factor by which all values are larger.
    alike: bool = False
    adds_up: bool = False
    factor: Optional[float] = None


class Comparison:
    """Events of one partition and of several ranks, compared by what the program does."""

    def __init__(self, whole: Seen, ranks: Sequence[Seen]) -> None:
        self._whole, self._ranks = whole, ranks
        self._events = [event for _, event in _numbered(whole.events)]
        parts = [dict(_numbered(seen.events)) for seen in ranks]
        self._parts: List[Optional[List[Event]]] = []
        for key, _ in _numbered(whole.events):
            found = [part[key] for part in parts if key in part]
            self._parts.append(found if len(found) == len(parts) else None)
        gradients = [value for event in self._events if event.kind == "gradient" for value in event.values if value.numel()]
        # A gradient that is zero except for rounding errors is small compared with others.
        self._gradients = max((value.abs().max().item() for value in gradients), default=0.0)

    @property
    def counts(self) -> "Counter[str]":
        """Number of compared events of each kind."""
        return Counter(event.kind for event, parts in zip(self._events, self._parts) if parts is not None)

    def first(self) -> Optional[Finding]:
        """The first event that is wrong."""
        after = ""
        for number, event in enumerate(self._events):
            by = self._difference(number)
            if by is not None:
                finding = Finding(event, by, self._cause(number), after)
                self._measure(finding, number)
                return finding
            if event.kind == "output":
                after = event.name
        return None

    def _difference(self, number: int) -> Optional[float]:
        """The difference of an event; None if there is none, or if ranks may differ there."""
        event, parts = self._events[number], self._parts[number]
        if parts is None:
            return None
        if event.kind == "draw":
            return float("inf") if _drawn_apart(event, parts) else None
        worst = 0.0
        for place, value in enumerate(event.values):
            others = [part.values[place] for part in parts if place < len(part.values)]
            if len(others) < len(parts):
                return None
            found = self._of_value(event, value, others)
            worst = max(worst, found or 0.0)
        if not event.values or worst <= (_FAR if event.late or event.kind == "result" else _NEAR):
            return None
        return worst

    def _of_value(self, event: Event, value: Tensor, parts: List[Tensor]) -> Optional[float]:
        if event.kind == "operation" and not value.is_floating_point():
            return None  # Numbers of own nodes have a meaning inside a rank.
        rows = [] if event.kind in ("parameter", "gradient") else self._rows(value, parts)
        if rows:
            in_order = [(value[_order([self._whole], name)], torch.cat(parts)[_order(self._ranks, name)]) for name in rows]
            return min(_apart(whole, joined, coarse=event.kind == "result") for whole, joined in in_order)
        if event.kind in ("operation", "output") or any(part.shape != value.shape for part in parts):
            return None
        if event.kind == "log":
            return _apart(value, parts[0])
        if event.kind == "result" and not value.is_floating_point():
            return None
        if event.kind in ("parameter", "gradient"):
            return max(_apart(value, part, least=self._gradients * 1e-4 if event.kind == "gradient" else 0.0) for part in parts)
        return min(max(_apart(value, part) for part in parts), _apart(value, torch.stack(parts).sum(0)))

    def _rows(self, value: Tensor, parts: List[Tensor]) -> List[str]:
        """Node types whose rows a value may have."""
        if value.dim() == 0 or any(part.dim() == 0 or part.shape[1:] != value.shape[1:] for part in parts):
            return []
        lengths = [len(value), *map(len, parts)]
        found = [*self._whole.node_ids, *([""] if len(self._whole.node_ids) > 1 else [])]
        return [name for name in found if [_count(seen, name) for seen in (self._whole, *self._ranks)] == lengths]

    def _cause(self, number: int) -> Optional[Event]:
        """The operation behind an event that gave each rank a different value of something that all nodes share."""
        for given in self._events[number].inputs:
            if self._is_own(given):
                return self._cause(given) or self._events[given]
        return None

    def _is_own(self, number: int) -> bool:
        """Whether ranks and one partition have different values of something without a row per node."""
        event, parts = self._events[number], self._parts[number]
        if parts is None:
            return False
        for place, value in enumerate(event.values):
            others = [part.values[place] for part in parts if place < len(part.values)]
            if not self._rows(value, others) and all(part.shape == value.shape for part in others):
                if max(_apart(value, part) for part in others) > _NEAR:
                    return True
        return False

    def _measure(self, finding: Finding, number: int) -> None:
        parts = self._parts[number]
        values = [(event.values[0]) for event in parts or [] if event.values]
        expected = finding.event.values[0]
        if not values or any(value.shape != expected.shape for value in values) or not expected.is_floating_point():
            return
        finding.alike = all(torch.equal(value, values[0]) for value in values)
        finding.adds_up = _apart(expected, torch.stack(values).sum(0)) <= _NEAR
        ratio = float((values[0] * expected).sum() / (expected * expected).sum().clamp(min=1e-300))
        if max(_apart(expected * ratio, value) for value in values) <= _NEAR:
            finding.factor = ratio


def _drawn_apart(event: Event, parts: Sequence[Event]) -> bool:
    """Whether ranks draw for rows of their own. Generators in different states, which a program has seeded by rank, may give different numbers."""
    state, *values = event.values
    same_state = all(torch.equal(state, part.values[0]) for part in parts)
    if not values:  # A dropout.
        return not same_state
    return same_state and not all(map(torch.equal, values * len(parts), [value for part in parts for value in part.values[1:]]))


def _numbered(events: Sequence[Event]) -> List[Tuple[Key, Event]]:
    seen: Dict[Tuple[str, str, str], int] = {}
    result: List[Tuple[Key, Event]] = []
    for event in events:
        seen[event.key] = seen.get(event.key, -1) + 1
        result.append(((*event.key, seen[event.key]), event))
    return result


def _count(seen: Seen, name: str) -> int:
    """Number of nodes of a type, or of all."""
    return len(seen.node_ids[name]) if name else sum(map(len, seen.node_ids.values()))


def _order(ranks: Sequence[Seen], name: str) -> Tensor:
    """Places of nodes among the rows of all ranks, in the order of the small graph."""
    if name:
        return torch.argsort(torch.cat([seen.node_ids[name] for seen in ranks]))
    types = list(ranks[0].node_ids)
    most = 1 + max(int(ids.max()) for seen in ranks for ids in seen.node_ids.values() if len(ids))
    return torch.argsort(torch.cat([seen.node_ids[ty] + i * most for seen in ranks for i, ty in enumerate(types)]))


def _apart(expected: Tensor, value: Tensor, coarse: bool = False, least: float = 1e-12) -> float:
    """The largest difference, in units of the largest expected value or of ``least``; for whole numbers 0 or 1."""
    if expected.shape != value.shape:
        return float("inf")
    if not expected.numel():
        return 0.0
    if not expected.is_floating_point():
        unequal = (expected != value).double().mean().item()
        return 0.0 if unequal == 0 or coarse and unequal <= _FEW else 1.0
    if not torch.equal(expected.isnan(), value.isnan()):
        return float("inf")
    expected, value = (part.double().nan_to_num() for part in (expected, value))
    return ((expected - value).abs().max() / max(least, 1e-12, expected.abs().max().item())).item()
