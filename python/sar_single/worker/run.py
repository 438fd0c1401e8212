"""``sar.run``: the user's own model, with a process per partition."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from .. import _engine, _program
from .._errors import WorkerError
from .._screen import Screen
from ..commands.results import Results
from ..process.imports import shared_by
from . import answers, pickled

# Seconds that workers have to stop after the first and after the second signal.
_PATIENCE = (0.7, 0.7)

_START = "import json, os, sys; sys.path[:] = json.loads(os.environ.pop('SAR_SINGLE_PATH')); from sar_single.worker.server import main; main()"


def run(
    worker: Callable[..., Any],
    part_json: Union[str, "os.PathLike[str]"],
    *,
    args: Sequence[Any] = (),
    memory_budget: Union[str, int, None] = None,
    spill_dir: Union[str, "os.PathLike[str]", None] = None,
    resident: Optional[int] = None,
    threads: int = 1,
    out: Union[str, "os.PathLike[str]", None] = None,
) -> Results:
    """Calls ``worker(rank, *args)`` in a process per partition; returns the list of results, by rank.

    ``memory_budget`` is a number of bytes, a text such as ``"3GiB"``, or ``"min"`` for as little as possible; the default is 70 % of the free
    memory. While a rank waits for the others, memory beyond the budget is on disk. The budget covers the workers' memory beyond that of the
    server process, which has imported torch.

    ``spill_dir`` is the folder for memory on disk, ``resident`` the number of ranks that may compute at a time, ``threads`` the number of threads
    of a rank's kernels, and ``out`` a folder for ``metrics.jsonl`` with the values of ``rank.log``.

    Raises ``WorkerError`` with rank and traceback if a worker fails; Ctrl-C ends all workers and raises KeyboardInterrupt.
    """
    if not callable(worker):
        raise TypeError(f"worker is a function of the rank, not {type(worker).__name__}")
    for name, value in (("threads", threads), ("resident", resident)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ValueError(f"{name} is {value!r}, but must be 1 or more")
    if _program.torch_folder() is None:
        raise ModuleNotFoundError("sar_single.run needs PyTorch 2.0 or newer: pip install torch", name="torch")
    budget = _budget(memory_budget)
    payload = pickled.dumps((worker, tuple(args)))
    request = {
        "payload": payload,
        "imports": shared_by(payload),
        "part_json": os.path.abspath(os.fspath(part_json)),
        "spill_dir": os.path.abspath(os.fspath(spill_dir)) if spill_dir else _engine.default_spill_dir(),
        "budget": budget,
        "resident": resident,
        "threads": threads,
        "argv": sys.argv,
        "torch": _of_torch(),
    }
    server, metrics = _start(), None
    try:
        metrics = _Metrics(out)
        assert server.stdin is not None and server.stdout is not None
        try:
            pickle.dump(request, server.stdin)
            server.stdin.close()
        except BrokenPipeError:
            pass  # The server's answer, read below, gives the reason.
        answer = _listen(answers.received(server.stdout, server), metrics)
        code = server.wait()
        return Results(_results(answer, code), metrics.lines, budget)
    except BaseException:
        _stop(server)
        raise
    finally:
        if metrics is not None:
            metrics.close()
        if server.stdout is not None:
            server.stdout.close()


def _of_torch() -> Optional[Tuple[int, str]]:
    """The seed and the default type of this process's torch, for the workers; None if nothing has imported it."""
    torch: Any = sys.modules.get("torch")
    return None if torch is None else (torch.initial_seed(), str(torch.get_default_dtype()).split(".")[1])


def _start() -> "subprocess.Popen[bytes]":
    """A process without this process's threads, which may be a notebook's, or CUDA's."""
    reader, writer = (_above_standard_streams(end) for end in os.pipe())
    # One thread per call: OpenMP's threads would keep spinning while a rank waits, and a process with threads cannot fork.
    single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
    paths = [os.path.abspath(path) for path in sys.path]
    environment = {**os.environ, **single, **_arrow(), "SAR_SINGLE_PATH": json.dumps(paths), "SAR_SINGLE_ANSWER": str(writer)}
    # Ctrl-C reaches this process alone, which decides what happens.
    group: Dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
    try:
        server: "subprocess.Popen[bytes]" = subprocess.Popen(
            [sys.executable, "-c", _START], stdin=subprocess.PIPE, pass_fds=(writer,), env=environment, **group
        )
    finally:
        os.close(writer)
    server.stdout = os.fdopen(reader, "rb")
    return server


def _above_standard_streams(end: int) -> int:
    """The same file under a number above the standard streams, which this process may have closed."""
    if end > 2:
        return end
    higher = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(end)
    return higher


def _arrow() -> Dict[str, str]:
    """Settings for Arrow, which pandas and PyG import: memory from the C library's heap, and no clean-up thread."""
    names = {"ARROW_DEFAULT_MEMORY_POOL": "system", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    return {name: value for name, value in names.items() if name not in os.environ}


def _listen(messages: Iterable[Tuple[Any, ...]], metrics: "_Metrics") -> Dict[str, Any]:
    """Receives the server's reports until it ends."""
    answer: Dict[str, Any] = {"results": {}, "waits": []}
    for kind, *values in messages:
        if kind == "log":
            metrics.add(*values)
        elif kind == "note":
            print(f"sar_single: {values[0]}", file=sys.stderr)
        elif kind == "result":
            answer["results"][values[0]] = values[1]
        elif kind == "waits":
            answer["waits"].append(values[0])
        else:
            answer[kind] = values[0]
    return answer


def _results(answer: Dict[str, Any], code: int) -> List[Any]:
    if "interrupted" in answer:
        raise KeyboardInterrupt
    failure = answer.get("worker_failed")
    if failure is not None:
        error = WorkerError(failure["problem"], failure["rank"], failure["traceback"])
        raise error from _loaded(failure["exception"])
    failure = answer.get("failed")
    if failure is not None:
        raise _of_engine(failure["problem"], _loaded(failure["exception"]), answer["waits"])
    if "done" not in answer:
        raise WorkerError(f"the server process of the run ended with exit code {code} without a message")
    results: Dict[int, bytes] = answer["results"]
    return [pickle.loads(results[rank]) for rank in sorted(results)]


def _of_engine(problem: str, exception: Optional[BaseException], waits: Sequence[str]) -> BaseException:
    """The exception of a run that failed without an exception of a worker."""
    text = problem if exception is None else str(exception)
    rank = re.match(r"rank (\d+) ", text)
    if rank is None and isinstance(exception, Exception):
        return exception
    return WorkerError("\n".join([text, *waits]), int(rank[1]) if rank else None)


def _loaded(exception: Optional[bytes]) -> Optional[BaseException]:
    try:
        loaded = pickle.loads(exception) if exception else None
    except Exception:  # An exception that cannot be brought over: its text is in the traceback.
        return None
    return loaded if isinstance(loaded, BaseException) else None


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Ends the server, which ends the workers and removes their files."""
    for patience in _PATIENCE:
        if server.poll() is not None:
            return
        server.send_signal(signal.SIGINT)
        end = time.monotonic() + patience
        while server.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
    if server.poll() is None:
        server.kill()  # The kernel ends the workers with it; the next run removes what they left.
        server.wait()


def _budget(budget: Union[str, int, None]) -> int:
    if budget is None:
        return int(_engine.free_memory() * 0.7)
    if budget == "min":
        return 0
    if isinstance(budget, str):
        try:
            budget = _engine.parse_size(budget)
        except ValueError as error:
            raise ValueError(f"memory_budget {budget!r} {error}") from None
    if isinstance(budget, (int, float)) and not isinstance(budget, bool) and 1 <= budget < 1 << 62:
        return int(budget)
    raise ValueError(f'memory_budget is {budget!r}, but must be bytes, a text such as "3GiB", or "min"')


class _Metrics:
    """Values from ``rank.log``: shown, and written to ``metrics.jsonl``."""

    def __init__(self, out: Union[str, "os.PathLike[str]", None]) -> None:
        self.lines: List[Dict[str, Any]] = []
        self._screen = Screen()
        self._path = None if out is None else Path(out) / "metrics.jsonl"
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text("")

    def add(self, text: str, peak: int) -> None:
        values = {**json.loads(text), "peak_memory_bytes": peak}
        self.lines.append(values)
        text = "  ".join(f"{key} {_shown(value)}" for key, value in values.items()) + "\n"
        self._screen.epoch(len(self.lines), None, text)
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")

    def close(self) -> None:
        """Shows the last line."""
        self._screen.close()


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
