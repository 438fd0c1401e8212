"""A case: files, the command that reads them, and the graph that they hold."""

import os
import struct

NODE, EDGE = "_N", "_N:_E:_N"


class Nodes:
    """Nodes of a type: `keys` in the order of their numbers, or in none if `is_ordered` is false; numbers or names."""

    def __init__(self, keys, is_ordered=True):
        self.keys, self.is_ordered = list(keys), is_ordered
        self.arrays = {}  # name -> Expected
        self.features = None  # a list of columns of `feat`, each a list of alternatives
        self.classes = None


class Edges:
    """Edges of a type: pairs of keys, in the order of the rows unless `is_ordered` is false, and data by name.

    If only one of several readings is right, `says` is what the command has to say about it.
    """

    def __init__(self, pairs, data=None, says=None, is_ordered=True):
        self.pairs, self.data, self.says, self.is_ordered = list(pairs), data or {}, says, is_ordered

    def sort_value(self, at):
        """A key that sorts parallel edges by their data."""
        return [struct.unpack("f", struct.pack("f", self.data[name].values[at]))[0] for name in sorted(self.data)]


class Case:
    """The files that are written, and their possible results."""

    def __init__(self, draw, folder):
        self.draw, self.folder = draw, folder
        self.arguments = []
        self.nodes = {}  # type -> Nodes
        self.edges = {}  # type -> alternatives, each Edges
        self.traits = []  # what is unusual about the case
        self.refusable = []  # those for which a refusal is right
        self.says = []  # patterns that standard error must match if the files are read
        self.most = 1 if draw.chance(0.75) else 2

    def unusual(self, trait, probability=0.06, refusable=True):
        """Whether the case has a trait; few have more than one."""
        has = len(self.traits) < self.most and self.draw.chance(probability)
        if has:
            self.is_unusual(trait, refusable)
        return has

    def is_unusual(self, trait, refusable=True):
        self.traits.append(trait)
        if refusable:
            self.refusable.append(trait)

    def may_refuse(self, reason):
        self.refusable.append(reason)

    def path(self, name):
        return os.path.join(self.folder, name)

    def add(self, *arguments):
        self.arguments += arguments


def stem_of(name):
    """Names of the files of a type."""
    return name.strip("_").replace(":", "-").replace("/", "-") or "edges"
