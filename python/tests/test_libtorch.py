"""``python -m sar_single libtorch``, with a cache that needs no download."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sar_single import _libtorch


def command(cache):
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", "sar_single", "libtorch"], env=environment, capture_output=True, text=True)


@pytest.fixture
def filled(tmp_path, monkeypatch):
    """A cache of files that have the names and the recorded sizes of libtorch's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = _libtorch.cached()
    header = folder / "include" / "torch" / "csrc" / "api" / "include" / "torch" / "torch.h"
    libraries = [folder / "lib" / name for name in ("libtorch_cpu.so", "libc10.so")]
    for path in (header, *libraries):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content")
    (folder / "lib-sizes.json").write_text(json.dumps({path.name: path.stat().st_size for path in libraries}))
    (folder / "build-version").write_text(_libtorch.VERSION)
    return folder


def test_a_filled_cache_is_named(filled, tmp_path):
    done = command(tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, str(filled)), done.stderr


def test_a_library_that_lost_bytes_is_named(filled, tmp_path):
    library = filled / "lib" / "libc10.so"
    library.write_text("half")
    done = command(tmp_path)
    assert done.returncode == 1 and f"{library} is not the file that was unpacked" in done.stderr
    assert "hint: remove" in done.stderr


def test_a_cache_that_cannot_be_made_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    done = command(tmp_path / "file")
    assert done.returncode == 1 and "cannot set libtorch up" in done.stderr
    assert "XDG_CACHE_HOME" in done.stderr and "Traceback" not in done.stderr
