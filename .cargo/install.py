#!/usr/bin/env python3
"""Installs the program below a folder, or packs what it would install; run by `make install` and `make dist`.

  bin/sar-single                    looks for libtorch in ../lib/sar-single first
  lib/sar-single/                   libtorch, as `make libtorch` or LIBTORCH has it
  share/man/man1/                   a manual page per command
  share/bash-completion/..., share/zsh/..., share/fish/...
"""
import argparse, os, pathlib, platform, shutil, subprocess, sys, tarfile, tempfile

import libtorch

COMPLETIONS = {
    "bash": "share/bash-completion/completions/sar-single",
    "zsh": "share/zsh/site-functions/_sar-single",
    "fish": "share/fish/vendor_completions.d/sar-single.fish",
}


def copy(source, target, mode):
    """Writes beside the target and renames, as a program that runs cannot be overwritten."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        shutil.copyfile(source, fresh)
        fresh.chmod(mode)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def install(program, prefix):
    if os.environ.get("LIBTORCH_USE_PYTORCH"):
        libtorch.fail("the libtorch of a PyTorch cannot be moved", "unset LIBTORCH_USE_PYTORCH and run make again")
    for source in sorted((libtorch.folder() / "lib").iterdir()):
        if source.is_file() and not source.is_symlink():
            copy(source, prefix / "lib/sar-single" / source.name, 0o644)
    installed = prefix / "bin/sar-single"
    copy(program, installed, 0o755)
    if strip := shutil.which("strip"):
        subprocess.run([strip, "--strip-debug", installed], check=True)
    for shell, place in COMPLETIONS.items():
        (prefix / place).parent.mkdir(parents=True, exist_ok=True)
        (prefix / place).write_bytes(output(installed, "completions", shell))
    manual = prefix / "share/man/man1"
    manual.mkdir(parents=True, exist_ok=True)
    output(installed, "manual", manual)


def pack(program, folder):
    version = output(program, "--version").decode().split()[1]
    name = f"sar-single-{version}-{platform.system().lower()}-{platform.machine()}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        install(program, pathlib.Path(work, name))
        for document in ("README.md", "CHANGELOG.md", "LICENSE"):
            if pathlib.Path(document).exists():
                copy(pathlib.Path(document), pathlib.Path(work, name, "share/doc/sar-single", document), 0o644)
        tarball = folder / f"{name}.tar.gz"
        unfinished = pathlib.Path(work, "unfinished")
        with tarfile.open(unfinished, "w:gz", compresslevel=6) as archive:
            archive.add(pathlib.Path(work, name), name, filter=anonymous)
        unfinished.replace(tarball)
    print(f"{tarball} ({tarball.stat().st_size >> 20} MiB)")


def anonymous(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--tarball", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    if arguments.tarball:
        pack(program, arguments.folder)
    else:
        install(program, arguments.folder)
        print(f"installed {arguments.folder / 'bin/sar-single'}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"error: cannot install: {error}\n  hint: free disk space (600 MB), or choose a folder you may write to: make install PREFIX=~/.local")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error}")
