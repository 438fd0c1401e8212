"""The largest of a number, such as the bytes of a folder, while something runs."""
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
def largest(measure):
    """Gives a list whose one number is the largest that `measure` has returned so far; calls it every two seconds."""
    found, done = [measure()], threading.Event()

    def watch():
        while not done.wait(2):
            found[0] = max(found[0], measure())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()
        found[0] = max(found[0], measure())


def most_on_disk(folder):
    """The most bytes that the folder, an absolute path, takes."""
    return largest(lambda: size(folder))
