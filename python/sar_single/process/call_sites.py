"""Places in the user's program that call this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Optional

# Packages that call this one on behalf of the user's code.
_BETWEEN = ("sar_single", "torch", "torch_geometric", "dgl", "contextlib", "functools", "threading", "cloudpickle")


def call_site() -> str:
    """File, line and function of the innermost running user code: ``model.py:12 in forward``."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and is_between(frame):
        frame = frame.f_back
    return "the package itself" if frame is None else described(frame)


def is_between(frame: FrameType) -> bool:
    """Whether a frame runs code of a library between this package and the user's code."""
    name = str(frame.f_globals.get("__name__", ""))
    # Generated code has no file, and neither has the code of a user's `python -c`.
    return name.partition(".")[0] in _BETWEEN or name != "__main__" and frame.f_code.co_filename.startswith("<")


def is_of_library(file: str) -> bool:
    """Whether a file belongs to a library of this kind."""
    return file.startswith("<") or any(part in _BETWEEN for part in Path(file).with_suffix("").parts)


def described(frame: FrameType) -> str:
    """A frame in words."""
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    # The file name that a notebook gives to a cell's code says nothing to a reader.
    name = "a notebook's cell, line " if "ipykernel_" in file else f"{os.path.basename(file)}:"
    return f"{name}{frame.f_lineno}" + ("" if function == "<module>" else f" in {function}")


def called_by_user() -> bool:
    """Whether the user's code called the running function of torch, rather than another library's code."""
    frame: Optional[FrameType] = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "torch":
        frame = frame.f_back
    return frame is not None and not is_between(frame)


def called_by_package() -> bool:
    """Whether this package called the running function of torch."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).partition(".")[0] == "sar_single"
