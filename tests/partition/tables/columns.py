"""Tables: columns with values of known kinds."""

import datetime
import json
import string

import numpy as np

WORDS = ["red", "green", "blue", "Oslo", "Rome", "Ulm", "north", "x", "yes", "no", "A+", "été", "日本"]
ODD = ["Smith, Ann", 'the "one"', "a;b", "#7", "%x", "50%", "two words", "it's", "a|b", "007", "1.0", "1e5", "0x1F", "O'Hara",
       "inf", "True", "null-ish", "a\tb", "=1+1", "@x", "naïve", "a,b", "//", "e#1", "a\\b"]


class Column:
    """A column: `kind` is int, float, bool, text, date, time or list; a missing value is None."""

    def __init__(self, name, kind, values):
        self.name, self.kind, self.values = name, kind, list(values)

    def has_missing(self):
        return any(value is None for value in self.values)


class Table:
    """Columns of one length. Without `named`, the file is to hold no names."""

    def __init__(self, columns, named=True):
        self.columns, self.named = columns, named

    def __len__(self):
        return len(self.columns[0].values)

    def names(self):
        return [column.name for column in self.columns]

    def rows(self):
        return zip(*(column.values for column in self.columns))

    def is_numeric(self):
        return all(column.kind in ("int", "float", "bool") and not column.has_missing() for column in self.columns)


def name_of_column(draw, taken):
    """A name that no other column has."""
    while True:
        name = draw.one("weight", "time", "age", "w", "score", "kind", "city", "x1", "Größe", "a b", "n", "f0", "year", "rank",
                        "".join(draw.choices(string.ascii_lowercase, k=4)))
        if name.lower() not in taken:
            taken.add(name.lower())
            return name


def int_values(draw, rows):
    low, high = draw.one((0, 5), (-9, 9), (0, 1000), (2**24, 2**24 + 9), (-(2**31), 2**31 - 1), (0, 1), (1, 1))
    return [draw.randint(low, high) for _ in range(rows)]


def float_values(draw, rows):
    form = draw.one("plain", "single", "small", "whole", "large")
    if form == "plain":
        return [round(draw.uniform(-9, 9), 3) for _ in range(rows)]
    if form == "single":
        return [float(np.float32(draw.gauss(0, 1))) for _ in range(rows)]
    if form == "small":
        return [draw.uniform(1, 9) * 10.0 ** draw.randint(-30, -5) for _ in range(rows)]
    if form == "large":
        return [draw.uniform(1, 9) * 10.0 ** draw.randint(5, 37) for _ in range(rows)]
    return [float(draw.randint(-5, 5)) for _ in range(rows)]


def draw_values(draw, kind, rows):
    if kind == "int":
        return int_values(draw, rows)
    if kind == "float":
        return float_values(draw, rows)
    if kind == "bool":
        return [draw.chance(0.5) for _ in range(rows)]
    if kind == "text":
        words = draw.sample(WORDS, draw.randint(1, 5))
        return [draw.choice(words) for _ in range(rows)]
    if kind == "date":
        first = datetime.date(draw.randint(1950, 2024), 1, 1)
        return [first + datetime.timedelta(days=draw.randint(0, 3000)) for _ in range(rows)]
    if kind == "time":
        first = datetime.datetime(draw.randint(1970, 2024), 5, 1)
        step = draw.one(1, 60, 3600)
        return [first + datetime.timedelta(seconds=step * draw.randint(0, 500)) for _ in range(rows)]
    width = draw.randint(1, 4)
    return [[round(draw.uniform(-2, 2), 2) for _ in range(width)] for _ in range(rows)]


def sets_of_words(draw, rows, name):
    """A column of text whose fields are lists of words, as JSON, as Python writes them, or between bars."""
    words = draw.sample(WORDS, draw.randint(1, 6))
    form = draw.one(json.dumps, str, "|".join, lambda words: "[" + ", ".join(words) + "]")
    column = Column(name, "text", [])
    column.sets = {}
    for _ in range(rows):
        least = 0 if form(["a"]).startswith("[") and column.sets else 1
        chosen = draw.sample(words, draw.randint(least, len(words)))
        column.values.append(form(chosen))
        column.sets[form(chosen)] = chosen
    return column


def draw_column(draw, kind, rows, taken):
    return Column(name_of_column(draw, taken), kind, draw_values(draw, kind, rows))


def draw_names(case, count):
    """Names of nodes, all different."""
    draw = case.draw
    form = draw.one("words", "sparse", "codes", "uuid", "letters")
    if case.unusual("odd names", 0.12, refusable=False):
        form = "odd"
    names = set()
    while len(names) < count:
        names.add({
            "words": lambda: draw.choice(WORDS) + draw.choice(string.ascii_lowercase) + str(draw.randint(0, 9)),
            "sparse": lambda: str(draw.randint(10**3, 10**12)),
            "codes": lambda: f"/m/{draw.randint(0, 10**6):x}_{draw.choice('abc')}",
            "uuid": lambda: f"{draw.getrandbits(64):016x}-{draw.randint(0, 99)}",
            "letters": lambda: "".join(draw.choices("abcdefgh", k=3)),
            "odd": lambda: draw.choice(ODD) + draw.one("", str(draw.randint(0, 9))),
        }[form]())
    return draw.sample(sorted(names), count)
