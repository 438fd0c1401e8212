"""The process that workers are forked from: it has imported torch, and has no second thread."""

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

from . import _engine


def main() -> None:
    """Reads a request from standard input, runs it, and answers on the pipe that the environment names."""
    answer = os.fdopen(int(os.environ.pop("SAR_SINGLE_ANSWER")), "wb", buffering=0)
    # Where the parent has closed its standard streams, files of the run must not get their numbers: what is printed would go there.
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


def _answer_last(answer: BinaryIO, kind: str, value: Any) -> None:
    with contextlib.suppress(BrokenPipeError):  # The process that asked may have ended.
        _send(answer, kind, value)


def _serve(request: Dict[str, Any], answer: BinaryIO) -> None:
    _engine.end_with_parent()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.set_inheritable(answer.fileno(), False)
    import torch

    from ._rank import Rank

    torch.set_num_threads(1)
    # The first optimizer imports torch's compiler: 700 modules and 60 MB, which each worker would otherwise have for itself.
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    worker, args = pickle.loads(request.pop("payload"))
    if "dgl" in sys.modules:
        from ._dgl import patch_dgl

        patch_dgl()
    folder: Optional[Path] = None

    def on_event(kind: str, text: str, peak: int) -> None:
        nonlocal folder
        if kind == "folder":
            folder = Path(text)
            _send(answer, "note", f"the server process takes {peak >> 20} MiB; the budget counts what workers take beyond it")
        elif kind == "end" and folder is not None:
            _collect(folder, answer)
        else:
            _send(answer, kind, text, *([peak] if kind == "log" else []))

    def work(engine: _engine.Rank) -> Optional[str]:
        return _work(lambda: worker(Rank(engine), *args), engine)

    # Collections of garbage would touch what the workers share with this process, and so copy it.
    gc.collect()
    gc.freeze()
    _engine.serve(
        request["part_json"],
        request["spill_dir"],
        request["budget"],
        request["resident"],
        request["threads"],
        work,
        on_event,
    )
    _send(answer, "done", True)


def _work(call: Callable[[], Any], engine: _engine.Rank) -> Optional[str]:
    """The life of a worker: None, or why it cannot go on; an empty text if another one is to blame."""
    folder, rank = Path(engine.folder), engine.index
    try:
        _write(folder / f"result-{rank}", pickle_result(call()))
        _flush()
        engine.end()
        return None
    except _engine.Stopped:
        return ""
    except BaseException as error:
        failure = _failure(error, rank)
        _write(folder / f"failure-{rank}", pickle.dumps(failure))
        return str(failure["problem"])
    finally:
        # If this fails, the failure is reported already.
        with contextlib.suppress(OSError):
            _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # A closed one is None.
            stream.flush()


def pickle_result(result: Any) -> bytes:
    """What a worker returns, for the parent."""
    import cloudpickle

    return bytes(cloudpickle.dumps(result))


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
        return pickle.dumps(error)
    except Exception:  # Its text is in the traceback.
        return None


def _collect(folder: Path, answer: BinaryIO) -> None:
    """Hands results over, and the failure that came first."""
    failures = sorted(folder.glob("failure-*"), key=lambda path: path.stat().st_mtime_ns)
    if failures:
        _send(answer, "worker_failed", pickle.loads(failures[0].read_bytes()))
        return
    for path in folder.glob("result-*"):
        _send(answer, "result", int(path.name.split("-")[1]), path.read_bytes())


def _send(answer: BinaryIO, *message: Any) -> None:
    answer.write(pickle.dumps(message))
