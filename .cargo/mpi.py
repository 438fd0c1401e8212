#!/usr/bin/env python3
"""Checks that `make build-mpi` finds an MPI and libclang, and says what is missing; installs nothing.

  MPI        the compiler wrapper in MPICC, otherwise `mpicc` in PATH
  libclang   the folder LIBCLANG_PATH, otherwise the folders where systems install it
"""
import glob, os, shutil, sys

FOLDERS = ["/usr/lib/llvm*/lib", "/usr/lib64/llvm*/lib*", "/usr/lib64", "/usr/lib/*-linux-gnu", "/usr/lib", "/usr/local/lib"]

missing = []
compiler = os.environ.get("MPICC", "mpicc")
if not shutil.which(compiler):
    missing.append((f"an MPI: {compiler} is not in PATH", "pip install mpich==5.0.2, then set MPICC to its bin/mpicc",
                    "apt install libopenmpi-dev (or libmpich-dev)"))
folders = [os.environ["LIBCLANG_PATH"]] if "LIBCLANG_PATH" in os.environ else FOLDERS
# libclang-cpp.so is another library.
names = ["libclang.so*", "libclang-[0-9]*.so*"]
if not any(glob.glob(f"{folder}/{name}") for folder in folders for name in names):
    missing.append((f"libclang: no libclang.so in {', '.join(folders)}",
                    "pip install libclang, then set LIBCLANG_PATH to its site-packages/clang/native", "apt install libclang-dev"))
for what, pip, debian in missing:
    print(f"error: cannot find {what}\n  hint: {pip}; on Debian: {debian}", file=sys.stderr)
sys.exit(1 if missing else 0)
