"""Messages from the server process of a run. A message is its length, int64, and a pickle."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
from typing import IO, Any, Iterator, List, Tuple

# Interval of looking at a silent server, in seconds: another process may keep its end of the pipe open.
_INTERVAL = 0.1

_PIECE = 1 << 20


def send(pipe: IO[bytes], *message: Any) -> None:
    """Writes a message."""
    content = pickle.dumps(message)
    rest = memoryview(len(content).to_bytes(8, "little") + content)
    while rest:
        rest = rest[pipe.write(rest) :]


def received(pipe: IO[bytes], server: "subprocess.Popen[bytes]") -> Iterator[Tuple[Any, ...]]:
    """Messages until the server has ended or the pipe is closed."""
    pieces: List[bytes] = []
    size, needed = 0, 8
    for piece in _pieces(pipe, server):
        pieces.append(piece)
        size += len(piece)
        if size < needed:
            continue
        content = memoryview(b"".join(pieces))
        while len(content) >= 8:
            needed = 8 + int.from_bytes(content[:8], "little")
            if len(content) < needed:
                break
            yield pickle.loads(content[8:needed])
            content, needed = content[needed:], 8
        pieces, size = [bytes(content)], len(content)


def _pieces(pipe: IO[bytes], server: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    ended = False
    while True:
        readable, _, _ = select.select([pipe], [], [], 0 if ended else _INTERVAL)
        if readable:
            piece = os.read(pipe.fileno(), _PIECE)
            if not piece:
                return
            yield piece
        elif ended:
            return
        else:
            ended = server.poll() is not None
