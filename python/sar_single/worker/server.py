"""The process from which workers are forked: it has imported torch, and none of its other threads works."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO, Callable, Dict, Optional

from .. import _engine
from ..process import current
from . import answers, collectives, pickled, threads


def main() -> None:
    """Reads a request from standard input, runs it, and answers on the pipe that the environment names."""
    answer = os.fdopen(int(os.environ.pop("SAR_SINGLE_ANSWER")), "wb", buffering=0)
    # If the parent has closed its standard streams, files of the run must not get their numbers: printed text would go there.
    while True:
        unused = os.open(os.devnull, os.O_RDWR)
        if unused > 2:
            os.close(unused)
            break
    # The engine takes over; until then a signal ends this process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        _serve(pickle.load(sys.stdin.buffer), answer)
    except KeyboardInterrupt:
        _answer_last(answer, "interrupted", True)
    except BaseException as error:
        _answer_last(answer, "failed", _failure(error, None))
    _flush()
    # Threads and processes started by imports must not keep this process from ending.
    os._exit(0)


def _answer_last(answer: BinaryIO, kind: str, value: Any) -> None:
    with contextlib.suppress(BrokenPipeError):  # The process that asked may have ended.
        answers.send(answer, kind, value)


def _serve(request: Dict[str, Any], answer: BinaryIO) -> None:
    _engine.end_with_parent()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.set_inheritable(answer.fileno(), False)
    import torch

    from ..graph.dropout import patch_dropout
    from ..process.imports import import_shared
    from ..pyg.norms import patch_torch
    from ..pyg.patch import patch_pyg
    from .dgl import patch_dgl
    from .process_group import patch_distributed
    from .rank import Rank

    torch.set_num_threads(1)
    # The first optimizer imports torch's compiler: 700 modules and 60 MB, which each worker would otherwise hold separately.
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    watched = threads.watch()
    # Before anything of the user's is imported, and so before modules of other packages that take graphs of this one.
    patch_dgl()
    patch_pyg()
    patch_torch()
    patch_dropout()
    patch_distributed()
    import_shared(request["imports"])
    sys.argv[:] = request["argv"]
    worker, args = pickle.loads(request.pop("payload"))
    if request["torch"] is not None:
        seed, dtype = request["torch"]
        torch.set_default_dtype(getattr(torch, dtype))
        if seed != torch.initial_seed():
            torch.manual_seed(seed)
    folder: Optional[Path] = None

    def on_event(kind: str, text: str, peak: int) -> None:
        nonlocal folder
        if kind == "folder":
            folder = Path(text)
            answers.send(answer, "note", f"the server process takes {peak >> 20} MiB; the budget counts what workers take beyond it")
        elif kind == "end" and folder is not None:
            _collect(folder, answer)
        else:
            answers.send(answer, kind, text, *([peak] if kind == "log" else []))

    def work(engine: _engine.Rank) -> Optional[str]:
        answer.close()

        def call() -> Any:
            rank = Rank(engine)
            current.begin(rank)
            return worker(rank, *args)

        return _work(call, engine)

    watched.check()
    # Garbage collections would touch, and so copy, what workers share with this process.
    gc.collect()
    gc.freeze()
    _engine.serve(request, work, on_event)
    answers.send(answer, "done", True)


def _work(call: Callable[[], Any], engine: _engine.Rank) -> Optional[str]:
    """A worker's life. Returns None, or why it cannot go on; an empty text if another worker is to blame."""
    folder, rank, process = Path(engine.folder), engine.index, os.getpid()
    os.register_at_fork(after_in_parent=_engine.note_fork)
    try:
        result = call()
        if os.getpid() != process:
            os._exit(0)
        _write(folder / f"result-{rank}", pickled.dumps(result))
        _flush()
        current.worker()._collectives.end(engine.end)
        return None
    except _engine.Stopped:
        return ""
    except BaseException as error:
        failure = _failure(error, rank)
        if os.getpid() != process:  # A process that the worker has forked.
            print(failure["traceback"], file=sys.stderr, flush=True)
            os._exit(1)
        try:
            _write(folder / f"failure-{rank}", pickle.dumps(failure))
        except OSError:  # The disk may be full: the engine's message has the problem, without the traceback.
            print(failure["traceback"], file=sys.stderr, flush=True)
        return str(failure["problem"])
    finally:
        _end_children()
        # If this fails, the failure is reported already.
        with contextlib.suppress(OSError):
            _flush()


def _end_children() -> None:
    """Ends what ``multiprocessing`` has started, as an interpreter does at its end, but does not wait for processes that keep running."""
    util: Any = sys.modules.get("multiprocessing.util")
    if util is None:
        return
    # Users' finalizers may fail in any way; the worker's work is done, or its failure reported.
    with contextlib.suppress(Exception):
        util._run_finalizers(0)
    for child in sys.modules["multiprocessing"].active_children():
        child.terminate()
        child.join(0.2)
        if child.is_alive():
            child.kill()
    with contextlib.suppress(Exception):
        util._run_finalizers()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # A closed one is None.
            stream.flush()


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(content)
    unfinished.rename(path)


def _failure(error: BaseException, rank: Optional[int]) -> Dict[str, Any]:
    kind = type(error).__name__
    if isinstance(error, SystemExit):
        problem = f"called sys.exit({error.code!r})"
    else:
        problem = f"{kind}: {error}" if str(error) else kind
    return {
        "rank": rank,
        "problem": problem if rank is None else f"rank {rank}: {problem}",
        "traceback": "" if rank is None else "".join(traceback.format_exception(type(error), error, error.__traceback__)),
        "exception": _dumped(error),
    }


def _dumped(error: BaseException) -> Optional[bytes]:
    try:
        return pickled.dumps(error)
    except Exception:  # Its text is in the traceback.
        return None


def _collect(folder: Path, answer: BinaryIO) -> None:
    """Passes on results, and the failure that came first."""
    failures = sorted(folder.glob("failure-*"), key=lambda path: path.stat().st_mtime_ns)
    if failures:
        answers.send(answer, "worker_failed", pickle.loads(failures[0].read_bytes()))
        return
    for text in collectives.waiting(folder):
        answers.send(answer, "waits", text)
    for path in folder.glob("result-*"):
        answers.send(answer, "result", int(path.name.split("-")[1]), path.read_bytes())
