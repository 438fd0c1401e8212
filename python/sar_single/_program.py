"""The ``sar-single`` program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Type

from ._errors import WorkerError

_ERRORS: Dict[int, Type[Exception]] = {1: ValueError, 2: ValueError, 3: WorkerError, 4: MemoryError}

# Lines of the program's messages that an exception repeats.
_LINES = 20


def program() -> str:
    """The path of the program: in the package, or on PATH."""
    packaged = Path(__file__).parent / "bin" / "sar-single"
    found = str(packaged) if packaged.exists() else shutil.which("sar-single")
    if found is None:
        raise FileNotFoundError(
            "the program sar-single is neither in this package nor on PATH: build it with `make build` in the sar-single "
            "repository and add target/release to PATH"
        )
    return found


def flags(values: Dict[str, Any]) -> List[str]:
    """Keyword arguments as flags: ``memory_budget="3GiB"`` is ``--memory-budget 3GiB``, True a flag alone, a list repeats it."""
    result: List[str] = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is None or item is False:
                continue
            result += [flag] if item is True else [flag, os.fspath(item) if isinstance(item, os.PathLike) else str(item)]
    return result


def call(arguments: List[str], show: bool = True) -> str:
    """Runs the program and gives what it prints. Its messages go to standard error.

    Ctrl-C stops it as on the command line, twice at once, and raises KeyboardInterrupt.
    """
    process = subprocess.Popen(
        [program(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    last: List[str] = []
    try:
        for line in process.stderr:
            last = [*last[1 - _LINES :], line]
            if show:
                sys.stderr.write(line)
        printed = process.stdout.read()
        code = process.wait()
    except BaseException:
        _stop(process)
        raise
    finally:
        process.stdout.close()
        process.stderr.close()
    if code == 130:
        raise KeyboardInterrupt
    if code != 0:
        raise _ERRORS.get(code, RuntimeError)("".join(last).strip() or f"sar-single ended with exit code {code}")
    return printed


def _stop(process: "subprocess.Popen[str]") -> None:
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                continue
    if process.poll() is None:
        process.kill()
        process.wait()
