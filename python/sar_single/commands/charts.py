"""Charts of a run as HTML with inline SVG, for notebooks."""

from __future__ import annotations

import math
import re
from html import escape
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

_WIDTH, _PLOT, _LEFT, _LINE = 260, 100, 8, 13
_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b")


class Limit(NamedTuple):
    """A value that a chart marks with a line."""

    name: str
    value: float


def of_metrics(metrics: Sequence[Mapping[str, Any]], memory_budget: int = 0) -> str:
    """Charts of loss, accuracy and memory by epoch, as far as the metrics have them. A budget of 0 bytes is not marked."""
    series: Dict[str, List[float]] = {}
    for line in metrics:
        for key, value in line.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                series.setdefault(key, []).append(float(value))
    losses = {key: values for key, values in series.items() if "loss" in key}
    scores = {key: values for key, values in series.items() if re.search(r"acc|f1|auc|r2|mae|mrr|hits", key) and key not in losses}
    memory = {"peak MiB": [value / (1 << 20) for value in series.get("peak_memory_bytes", [])]}
    budget = Limit("budget", memory_budget / (1 << 20)) if memory_budget else None
    accuracy = "accuracy" if any("acc" in key for key in scores) else "metrics"
    charts = [_chart("loss", losses), _chart(accuracy, scores), _chart("memory", memory, budget)]
    return "".join(charts)


def _chart(title: str, series: Mapping[str, Sequence[float]], limit: Optional[Limit] = None) -> str:
    """An SVG of lines over epochs; empty if no value is finite."""
    known = {name: values for name, values in series.items() if any(map(math.isfinite, values))}
    if not known:
        return ""
    finite = [value for values in known.values() for value in values if math.isfinite(value)] + ([limit.value] if limit else [])
    low, high = min([0.0, *finite]), max(finite)
    span = high - low or 1.0
    top = _LINE * (len(known) + (2 if limit else 1)) + 10

    def y(value: float) -> float:
        return top + _PLOT * (1 - (value - low) / span)

    lines: List[str] = []
    legend: List[str] = []
    for number, (name, values) in enumerate(known.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        step = (_WIDTH - 2 * _LEFT) / max(1, len(values) - 1)
        points = [(_LEFT + step * i, y(value)) for i, value in enumerate(values) if math.isfinite(value)]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        lines.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        lines.append(f'<circle cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="2" fill="{colour}"/>')
        legend.append(_text(len(legend) + 2, colour, f"{name} {values[-1]:.4g}"))
    if limit:
        at = y(limit.value)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _LEFT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#888" stroke-dasharray="4 3"/>')
        legend.append(_text(len(legend) + 2, "#888", f"{limit.name} {limit.value:.4g}"))
    size = f'width="{_WIDTH}" height="{top + _PLOT + 8}"'
    style = 'style="margin: 4px; vertical-align: bottom" font-family="sans-serif" font-size="11" role="img"'
    return f'<svg {size} {style}>{_text(1, "currentColor", title)}{"".join(legend)}{"".join(lines)}</svg>'


def _text(line: int, colour: str, text: str) -> str:
    """A line of the legend; the first is the title."""
    return f'<text x="{_LEFT}" y="{_LINE * line}" fill="{colour}">{escape(text)}</text>'
