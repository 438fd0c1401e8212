"""A terminal of a given number of columns: runs a command in it, and draws what it shows as an SVG."""

import fcntl
import os
import pty
import re
import struct
import termios
from xml.sax.saxutils import escape

ROWS = 40
ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Screen:
    """Cells, and the cursor. It knows the controls that the program's progress bar uses."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [""], 0, 0

    def put(self, letter):
        if self.column == self.columns:
            self.down()
            self.column = 0
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + letter + line[self.column + 1 :]
        self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def feed(self, text):
        at = 0
        while at < len(text):
            control = ESCAPE.match(text, at)
            if control:
                self.control(*control.groups())
                at = control.end()
                continue
            letter = text[at]
            at += 1
            if letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.down()
            elif letter >= " ":
                self.put(letter)

    def control(self, number, kind):
        count = int(number) if number.isdigit() else 1
        if kind == "K":
            whole = number == "2"
            self.lines[self.row] = "" if whole else self.lines[self.row][: self.column]
        elif kind == "A":
            self.row = max(self.row - count, 0)
        elif kind == "B":
            self.row += count
        elif kind not in "hlm":
            raise ValueError(f"unknown control {kind}")


def show(columns, command, folder, until=None):
    """The lines of a terminal after a command, or at the moment when `until` matches them."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns))
        # The size is set before the program asks for it.
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        os.execvp(command[0], command)
    screen, seen, rest = Screen(columns), None, b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        rest += data
        # A letter, or a control, may be cut in two.
        text = rest.decode(errors="ignore")
        if len(text.encode()) != len(rest) or re.search(r"\x1b(\[[0-9;?]*)?$", text):
            continue
        rest = b""
        screen.feed(text)
        if until and seen is None and re.search(until, "\n".join(screen.lines)):
            seen = list(screen.lines)
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit("\n".join(screen.lines))
    if until and seen is None:
        raise SystemExit(f"never shown: {until}\n" + "\n".join(screen.lines))
    lines = seen or screen.lines
    return lines[:-1] if lines and not lines[-1] else lines


def svg(columns, lines):
    """The terminal as a picture."""
    width, height = 8.4 * columns + 24, 19 * len(lines) + 22
    rows = [
        f'<text x="12" y="{19 * i + 26}" xml:space="preserve">{escape(line)}</text>'
        for i, line in enumerate(lines)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" role="img"'
        ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">\n'
        f'<rect width="100%" height="100%" rx="6" fill="#1d2026"/>\n<g fill="#e6e6e6">\n'
        + "\n".join(rows)
        + "\n</g>\n</svg>\n"
    )
