"""The most that a folder takes on disk while something works in it."""
import contextlib
import os
import pathlib
import stat
import threading


def size(folder):
    """Bytes of all files in the folder, and of the unnamed ones that processes have open there."""
    files = {}
    for file in [*folder.rglob("*"), *pathlib.Path("/proc").glob("[0-9]*/fd/*")]:
        try:
            if file.is_relative_to(folder) or os.readlink(file).startswith(f"{folder}/"):
                status = file.stat()
                files[status.st_ino] = status.st_blocks * 512 * stat.S_ISREG(status.st_mode)
        except OSError:  # gone between listing and looking, or another user's
            continue
    return sum(files.values())


@contextlib.contextmanager
def most_on_disk(folder):
    """Gives a list whose one number is the most bytes that the folder, an absolute path, has taken so far; looks every two seconds."""
    most, done = [size(folder)], threading.Event()

    def watch():
        while not done.wait(2):
            most[0] = max(most[0], size(folder))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()
        most[0] = max(most[0], size(folder))
