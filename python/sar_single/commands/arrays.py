"""Arrays of other libraries, written as ``.npy`` files in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import numpy as np

# Bytes, about, of the pieces in which rows of arrays are copied.
_PIECE = 64 << 20


def write(path: Path, arrays: List[Any]) -> None:
    """Writes one array, or two columns of the same length as an array of two rows."""
    shapes = [tuple(array.shape) for array in arrays]
    first = as_numpy(arrays[0][:0])
    shape = shapes[0] if len(arrays) == 1 else (len(arrays), *shapes[0])
    if any(other != shapes[0] for other in shapes):
        raise ValueError(f"sources and destinations differ in shape: {shapes[0]} and {shapes[-1]}")
    if 0 in shape:
        np.save(path, np.empty(shape, first.dtype))
        return
    target = np.lib.format.open_memmap(path, mode="w+", dtype=first.dtype, shape=shape)
    rows = max(1, _PIECE // max(1, first.dtype.itemsize * int(np.prod(shapes[0][1:]))))
    for place, array in enumerate(arrays):
        part = target if len(arrays) == 1 else target[place]
        for start in range(0, shapes[0][0], rows):
            part[start : start + rows] = as_numpy(array[start : start + rows])
    target.flush()


def as_numpy(array: Any) -> "np.ndarray[Any, Any]":
    """An array of another library, or a piece of one, as numpy. bfloat16, which numpy lacks, becomes float32."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = array.float() if str(array.dtype) == "torch.bfloat16" else array
        array = array.numpy()
    result: "np.ndarray[Any, Any]" = np.asarray(array)
    return result
