"""Builds the wheel for pip: as maturin does, with the program `sar-single` inside."""
import os, pathlib, shutil, subprocess, sys

import maturin
from maturin import build_sdist, get_requires_for_build_sdist, get_requires_for_build_wheel, prepare_metadata_for_build_wheel

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "python/sar_single/bin/sar-single"

get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build_program()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build_program()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_program():
    if not (ROOT / ".cargo/libtorch.py").exists():
        sys.exit("error: the package is built inside the repository of sar-single\n  hint: use pip 21.3 or newer")
    subprocess.run([sys.executable, ROOT / ".cargo/libtorch.py"], check=True)
    subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT, check=True)
    PROGRAM.parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release/sar-single", PROGRAM)
    if strip := shutil.which("strip"):
        subprocess.run([strip, PROGRAM], check=True)
