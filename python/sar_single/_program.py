"""The ``sar-single`` program."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Type

from . import _engine, _libtorch
from ._errors import WorkerError
from ._screen import Screen

_ERRORS: Dict[int, Type[Exception]] = {1: ValueError, 2: ValueError, 3: WorkerError, 4: MemoryError}

# The line of an epoch, with its number and the number of all epochs.
_EPOCH = re.compile(r"epoch (\d+)/(\d+): ")

# Lines of the program's messages that an exception repeats.
_LINES = 20


# Commands that run without libtorch; this package's engine carries them out where libtorch is missing.
_PREPARE = ("clean", "completions", "export", "generate", "inspect", "partition")

_ENGINE = [sys.executable, "-m", "sar_single"]


def program(command: str = "train") -> List[str]:
    """The words that call the program, which is in the package or on PATH. ``environment`` adds the libraries."""
    folder = Path(__file__).parent / "bin"
    if (folder / "sar-single").exists():
        if libraries() is None and command in _PREPARE:
            return _ENGINE
        return [str(folder / "sar-single")]
    found = _on_path()
    if found is None:
        raise FileNotFoundError(
            "the program sar-single is neither in this package nor on PATH: install the wheel of `make wheel`, or build the "
            "program with `make build` in the sar-single repository and add target/release to PATH"
        )
    return [found]


def _on_path() -> Optional[str]:
    """The program on PATH, skipping the script that this package installs."""
    for folder in os.get_exec_path():
        path = shutil.which("sar-single", path=folder)
        if path is not None:
            with open(path, "rb") as file:
                if file.read(2) != b"#!":
                    return path
    return None


def libraries() -> Optional[List[Path]]:
    """Folders with libtorch of the version that the program is built for: LIBTORCH's, the environment's torch, or the cache that `make libtorch` and
    `python -m sar_single libtorch` fill. None if there is none.
    """
    named = os.environ.get("LIBTORCH")
    if named:
        return [Path(named) / "lib"]
    torch = torch_folder()
    if torch is not None and _version(torch) == _libtorch.VERSION:
        return [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))]
    cached = Path(_libtorch.cached())
    return [cached / "lib"] if cached.exists() else None


def torch_folder() -> Optional[Path]:
    """The folder of the environment's torch, found without importing it; None if there is none."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # Another object stands in sys.modules under that name.
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _version(torch: Path) -> str:
    """The version of a torch, without importing it."""
    found = re.search(r"__version__ = ['\"]([0-9.]+)", (torch / "version.py").read_text())
    return found[1] if found else "unknown"


def environment(program: List[str]) -> Dict[str, str]:
    """The environment of a program of the package.

    Raises FileNotFoundError if the program needs libtorch and there is none.
    """
    values = dict(os.environ)
    if Path(program[0]).parent != Path(__file__).parent / "bin":
        return values
    folders = libraries()
    if folders is None:
        torch = torch_folder()
        here = "this environment has no torch" if torch is None else f"the torch of this environment is {_version(torch)}"
        raise FileNotFoundError(
            f"sar-single needs libtorch {_libtorch.VERSION}: {here}, and there is none in {_libtorch.cached()}; run "
            "`python -m sar_single libtorch` (about 550 MB, once per user)"
        )
    values["LD_LIBRARY_PATH"] = os.pathsep.join([*map(str, folders), *filter(None, [values.get("LD_LIBRARY_PATH")])])
    return values


def main() -> None:
    """The script `sar-single`: the program of the package."""
    arguments = sys.argv[1:]
    try:
        command = program(arguments[0] if arguments else "train")
        if command is _ENGINE:
            _engine.command(["sar-single", *arguments])
        os.execve(command[0], [*command, *arguments], environment(command))
    except OSError as error:
        sys.exit(f"error: {error}")


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
    """Runs the program and returns what it prints. Its messages go to standard error.

    Ctrl-C stops the program as on the command line, twice at once, and raises KeyboardInterrupt.
    """
    command = program(arguments[0])
    process = subprocess.Popen(
        [*command, *arguments],
        env=environment(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    last: List[str] = []
    screen = Screen()
    try:
        for line in process.stderr:
            last = [*last[1 - _LINES :], line]
            epoch = _EPOCH.match(line)
            if show and epoch:
                screen.epoch(int(epoch[1]), int(epoch[2]), line)
            elif show:
                screen.line(line)
        printed = process.stdout.read()
        code = process.wait()
    except BaseException:
        _stop(process)
        raise
    finally:
        screen.close()
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
