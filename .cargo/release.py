#!/usr/bin/env python3
"""Checks the tarball and the wheel of a release, and writes SHA256SUMS and NOTES.md beside them; run by `make release`.

The tarball runs in a root folder with nothing but it and the C and C++ libraries that it asks for, where this user may make one. The wheel is
checked by auditwheel, and runs in a fresh environment whose PATH has no Rust.
"""
import hashlib, os, pathlib, shutil, subprocess, sys, tarfile, tempfile, venv

# A session of a new user.
SESSION = (
    ("--version",),
    ("generate", "--nodes", "400", "--edges", "2400", "--classes", "3", "--num-parts", "2", "--out", "graph"),
    ("--part-json", "graph/g.json", "--layers", "2", "--hidden", "8", "--epochs", "2", "--spill-dir", ".", "--out", "run"),
    ("predict", "--run", "run", "--out", "classes.csv"),
)


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run(command, check=True, **options)


def libraries(program):
    """The paths of the libraries that a program asks for and that are not below its own folder."""
    lines = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    paths = [word for line in lines for word in line.split() if word.startswith("/")]
    return sorted({path for path in paths if program.parents[1] not in pathlib.Path(path).resolve().parents})


def check_tarball(tarball):
    with tempfile.TemporaryDirectory() as root:
        with tarfile.open(tarball) as archive:
            archive.extractall(root)
        program = next(pathlib.Path(root).glob("*/bin/sar-single"))
        for path in libraries(program):
            target = pathlib.Path(root, path.lstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        for folder in ("proc", "dev", "tmp"):
            pathlib.Path(root, folder).mkdir()
        script = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"'
        # A user without privileges is root of the namespace.
        inside = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
        inside += ["sh", "-c", script, root, root, f"/{program.relative_to(root)}"]
        if subprocess.run([*inside, "--version"], stdout=subprocess.DEVNULL).returncode != 0:
            print("SKIPPED: a root folder for the tarball alone, which this user may not make; it runs here, without an environment")
            inside = [program]
        for words in SESSION:
            run(*inside, *words, env={"TMPDIR": "/tmp"}, cwd=root, stdin=subprocess.DEVNULL)
        count(pathlib.Path(root, "classes.csv"))


def check_wheel(wheel):
    with tempfile.TemporaryDirectory() as work:
        venv.create(pathlib.Path(work, "checks"), with_pip=True)
        run(f"{work}/checks/bin/pip", "install", "--quiet", "auditwheel<7")
        run(f"{work}/checks/bin/auditwheel", "show", wheel)
        venv.create(pathlib.Path(work, "user"), with_pip=True)
        run(f"{work}/user/bin/pip", "install", "--quiet", wheel)
        user = {"HOME": os.environ["HOME"], "PATH": f"{work}/user/bin:/usr/bin:/bin"}
        run(f"{work}/user/bin/python", "-m", "sar_single", "libtorch", env=user, cwd=work)
        for words in SESSION:
            run(f"{work}/user/bin/sar-single", *words, env=user, cwd=work, stdin=subprocess.DEVNULL)
        count(pathlib.Path(work, "classes.csv"))


def count(table):
    lines = len(table.read_text().splitlines())
    if lines != 401:
        sys.exit(f"error: {table} has {lines} lines instead of 401")


def main():
    folder, notes = pathlib.Path(sys.argv[1]), sys.argv[2]
    tarball, wheel = (next(folder.glob(f"*{end}")) for end in (".tar.gz", ".whl"))
    if "manylinux" not in wheel.name:
        sys.exit(f"error: {wheel} is for this machine only\n  hint: build it with `make wheel`")
    check_tarball(tarball)
    check_wheel(wheel.resolve())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (tarball, wheel)]
    (folder / "SHA256SUMS").write_text("".join(sums))
    (folder / "NOTES.md").write_text(notes + "\n")
    print("".join(sums), end="")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error}")
