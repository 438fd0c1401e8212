"""Progress of a run: lines on standard error, or one bar in a notebook."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Optional

# Time between two pictures of a bar, in seconds.
_INTERVAL = 0.1


class Screen:
    """The progress of one run."""

    def __init__(self) -> None:
        self._bar = _Bar() if _in_notebook() else None

    def line(self, text: str) -> None:
        """Shows a line, which must end in a newline."""
        print(text, end="", file=sys.stderr)

    def epoch(self, number: int, total: Optional[int], text: str) -> None:
        """Shows the line of an epoch, or moves the bar there."""
        if self._bar is None:
            self.line(text)
        else:
            self._bar.move(number, total, text)

    def close(self) -> None:
        """Shows how far the run has come."""
        if self._bar is not None:
            self._bar.draw()


class _Bar:
    """A bar that is redrawn in place. Without a total, it is only a text."""

    def __init__(self) -> None:
        self._display: Any = None
        self._content = ""
        self._next = 0.0

    def move(self, number: int, total: Optional[int], text: str) -> None:
        bar = "" if total is None else f'<progress max="{total}" value="{number}" style="width: 20em"></progress> '
        self._content = f"<div>{bar}<code>{html.escape(text.strip())}</code></div>"
        if time.monotonic() >= self._next:
            self.draw()

    def draw(self) -> None:
        if not self._content:
            return
        from IPython.display import HTML, display

        if self._display is None:
            self._display = display(HTML(self._content), display_id=True)
        else:
            self._display.update(HTML(self._content))
        self._content = ""
        self._next = time.monotonic() + _INTERVAL


def _in_notebook() -> bool:
    """Whether this process is a notebook's kernel, which has imported IPython already."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
