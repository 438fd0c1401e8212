"""Fixtures that tests share: the golden data next to the repository, and a folder for spilled memory that has to be empty at the end."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Iterator

import pytest

from sar_single.process import imports

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"


@pytest.fixture(autouse=True)
def imports_of_this_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers import the packages that the file of the test names, not those of all files before it: up to 2.6 s of each run."""
    text = inspect.getsource(request.module)
    shared = {package: module for package, module in imports._SHARED.items() if package in text}
    monkeypatch.setattr(imports, "_SHARED", shared)


@pytest.fixture
def spill(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "spill"
    yield folder
    assert not folder.exists(), f"left behind: {list(folder.rglob('*'))}"


@pytest.fixture(scope="session")
def golden() -> Path:
    if not GOLDEN.exists():
        pytest.skip("there is no ../shared/golden next to the repository")
    return GOLDEN


@pytest.fixture(scope="session")
def karate() -> Path:
    """The karate club in two partitions, from the repository."""
    return Path(__file__).resolve().parents[2] / "data" / "karate" / "karate.json"
