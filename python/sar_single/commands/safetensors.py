"""Files of weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Mapping

import numpy as np

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}


def read(path: Path) -> Dict[str, Any]:
    """The tensors of a file by name."""
    import torch

    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            array = np.frombuffer(content[begin:end], dtype=_DTYPES[entry["dtype"]])
            tensors[name] = torch.from_numpy(array.reshape(entry["shape"]).copy())
    return tensors


def write(path: Path, tensors: Mapping[str, Any]) -> None:
    """Writes tensors; types that numpy lacks are converted to single precision."""
    arrays = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu()
        arrays[name] = np.ascontiguousarray((plain.float() if "bfloat16" in str(plain.dtype) else plain).numpy())
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(tensors[name].shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.tobytes())
