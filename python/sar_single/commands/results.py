"""Results of a run, shown with charts in a notebook."""

from __future__ import annotations

import reprlib
from html import escape
from typing import Any, Dict, Iterable, List, Optional

from . import charts

# Characters of a rank's result that a notebook shows.
_SHOWN = 100


class Results(List[Any]):
    """A list of the workers' results, by rank; ``metrics`` has a dict per call of ``rank.log``, ``memory_budget`` is in bytes."""

    def __init__(self, results: Iterable[Any], metrics: List[Dict[str, Any]], memory_budget: int) -> None:
        super().__init__(results)
        self.metrics = metrics
        self.memory_budget = memory_budget

    def _repr_html_(self) -> Optional[str]:
        shown = charts.of_metrics(self.metrics, self.memory_budget)
        if not shown:
            return None
        short = reprlib.Repr()
        short.maxother = short.maxstring = _SHOWN
        rows = "".join(f"<tr><th>rank {rank}</th><td><code>{escape(short.repr(result))}</code></td></tr>" for rank, result in enumerate(self))
        return f"<div>{shown}</div><table>{rows}</table>"


class Page:
    """An HTML page, shown in a frame in a notebook."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="800" style="border: 0"></iframe>'
