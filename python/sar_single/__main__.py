"""``python -m sar_single libtorch`` fetches the libtorch that the program needs; other arguments go to the program."""

from __future__ import annotations

import sys

from . import _libtorch, _program

if sys.argv[1:] == ["libtorch"]:
    print(_libtorch.prepared(_libtorch.fill_cache))
else:
    _program.main()
