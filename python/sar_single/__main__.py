"""``python -m sar_single libtorch`` fetches the libtorch that the program needs; other arguments go to the program."""

from __future__ import annotations

import sys

from . import _libtorch, _program

if sys.argv[1:] == ["libtorch"]:
    try:
        print(_libtorch.fill_cache())
    except OSError as error:
        _libtorch.fail(f"cannot set libtorch up: {error}", "free disk space or set XDG_CACHE_HOME to a folder you may write to (1.2 GB)")
else:
    _program.main()
