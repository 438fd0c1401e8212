#!/usr/bin/env python3
"""Makes libtorch ready for the build; run by `make libtorch` and by every target that builds. The Python package contains this
file, too: `python -m sar_single libtorch` fills the same cache.

  LIBTORCH set               that folder is checked and used
  LIBTORCH_USE_PYTORCH set   the PyTorch of python3 is checked and used, as tch documents
  neither                    a per-user cache ($XDG_CACHE_HOME or ~/.cache, sar-single/) is filled through pip from
                             the torch wheel (hashes in libtorch-requirements.txt), and `.libtorch` links to it

The cache is filled next to its final place and renamed when complete, under a lock: two builds may run at once.
"""
import fcntl, json, os, pathlib, platform, shutil, subprocess, sys, tempfile, zipfile

VERSION = "2.11.0"
HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "python" if "VIRTUAL_ENV" in os.environ else "python3"
LINK = HERE.parent / ".libtorch"
PLATFORMS = {
    ("Linux", "x86_64"): ["manylinux_2_28_x86_64", "manylinux_2_25_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
    ("Linux", "aarch64"): ["manylinux_2_28_aarch64", "manylinux_2_25_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
}
# Libraries of the wheel that a CPU-only, Python-free libtorch does without. libtorch.so itself asks for CUDA.
UNWANTED = ("cuda", "python", "nvrtc", "nvshmem", "libshm", "global_deps", "libtorch.so")


def fail(problem, remedy):
    sys.exit(f"error: {problem}\n  hint: {remedy}")


def check_folder(folder, remedy):
    """Checks a libtorch folder, and ends with a message if it is unusable."""
    for part in ("include/torch/csrc/api/include/torch/torch.h", "lib/libtorch_cpu.so", "lib/libc10.so"):
        if not (folder / part).exists():
            fail(f"{folder} holds no libtorch: {part} is missing", remedy)
    stamp = folder / "build-version"
    found = stamp.read_text().strip().split("+")[0] if stamp.exists() else VERSION
    if found != VERSION:
        fail(f"{folder} holds libtorch {found}; this build needs {VERSION}", remedy)


def check_pytorch():
    ask = [PYTHON, "-c", "import torch; print(torch.__version__.split('+')[0])"]
    answer = subprocess.run(ask, capture_output=True, text=True)
    found = answer.stdout.strip()
    if answer.returncode != 0 or found != VERSION:
        fail(f"LIBTORCH_USE_PYTORCH is set, but {PYTHON} has {'torch ' + found if found else 'no torch'}; this build needs {VERSION}",
             f"{PYTHON} -m pip install torch=={VERSION}, or unset LIBTORCH_USE_PYTORCH")


def pip_download(folder):
    tags = PLATFORMS.get((platform.system(), platform.machine()))
    if tags is None:
        fail(f"PyPI has no torch {VERSION} wheel for {platform.system()} on {platform.machine()}",
             f"set LIBTORCH to a folder with libtorch {VERSION} (lib/ and include/)")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
               "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "none", "--dest", str(folder)]
    command += [word for tag in tags for word in ("--platform", tag)]
    command += ["--requirement", str(HERE / "libtorch-requirements.txt")]
    print(f"fetching libtorch {VERSION} through pip (about 550 MB, once per user)", flush=True)
    if subprocess.run(command).returncode != 0:
        fail(f"pip could not fetch torch {VERSION}",
             f"check that `{sys.executable} -m pip` works and reaches PyPI, or set LIBTORCH to a libtorch {VERSION} folder")


def wanted(member):
    """The path of a wheel's file below the libtorch folder; None if it is not needed."""
    path = pathlib.PurePosixPath(member)
    if member.endswith("/"):
        return None
    if path.parts[:2] == ("torch", "include"):
        return pathlib.Path(*path.parts[1:])
    if path.parts[:2] == ("torch", "lib") and len(path.parts) == 3:
        return None if any(word in path.name for word in UNWANTED) else pathlib.Path("lib", path.name)
    if path.parts[0] == "nvidia" and path.name.split(".so")[0] in ("libcudart", "libcupti"):
        return pathlib.Path("lib", path.name)
    return None


def unpack(wheels, folder):
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                place = wanted(info.filename)
                if place is None:
                    continue
                target = folder / place
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as source, open(target, "wb") as sink:  # zipfile checks each CRC at the end
                    shutil.copyfileobj(source, sink, 1 << 20)
                target.chmod(0o644)
    (folder / "lib" / "libtorch.so").symlink_to("libtorch_cpu.so")
    sizes = {path.name: path.stat().st_size for path in (folder / "lib").iterdir()}
    (folder / "lib-sizes.json").write_text(json.dumps(sizes))
    (folder / "build-version").write_text(VERSION + "\n")


def check_sizes(folder, remedy):
    """A cached library that lost bytes since (a full disk, a killed copy) is named here, not by the linker."""
    for name, size in json.loads((folder / "lib-sizes.json").read_text()).items():
        path = folder / "lib" / name
        if not path.exists() or path.stat().st_size != size:
            fail(f"{path} is not the file that was unpacked", remedy)


def cached():
    """The folder that `fill_cache` fills."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sar-single"
    return cache / f"libtorch-{VERSION}-{platform.system().lower()}-{platform.machine()}"


def fill_cache():
    final = cached()
    cache = final.parent
    remedy = f"remove {final} and run this again"
    if not final.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with open(cache / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not final.exists():
                with tempfile.TemporaryDirectory(dir=cache, prefix=".filling-") as work:
                    wheels, tree = pathlib.Path(work, "wheels"), pathlib.Path(work, "libtorch")
                    pip_download(wheels)
                    unpack(sorted(wheels.iterdir()), tree)
                    check_folder(tree, "the wheel is not laid out as expected; set LIBTORCH instead")
                    tree.rename(final)
    check_folder(final, remedy)
    check_sizes(final, remedy)
    return final


def link_to(folder):
    if LINK.is_symlink() and LINK.readlink() == folder:
        return
    fresh = LINK.with_name(f".libtorch-{os.getpid()}")
    fresh.symlink_to(folder)
    fresh.replace(LINK)


def folder():
    """The libtorch that the build uses."""
    if os.environ.get("LIBTORCH_USE_PYTORCH"):
        check_pytorch()
        program = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent)"
        return pathlib.Path(subprocess.run([PYTHON, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    if os.environ.get("LIBTORCH"):
        folder = pathlib.Path(os.environ["LIBTORCH"])
        check_folder(folder, f"set LIBTORCH to a libtorch {VERSION} folder, or unset it to have one fetched")
        return folder
    folder = fill_cache()
    link_to(folder)
    return folder


def prepared(make):
    """The folder that `make` returns. An error of the file system ends the program with a message."""
    try:
        return make()
    except OSError as error:
        fail(f"cannot set libtorch up: {error}", "free disk space or set XDG_CACHE_HOME to a folder you may write to (1.2 GB)")


if __name__ == "__main__":
    print(f"LIBTORCH={prepared(folder)}")
