"""Fixtures that tests share: the golden data next to the repository, and a folder for spilled memory that has to be empty at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"


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
