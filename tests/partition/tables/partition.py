"""A reader of partition directories that shares nothing with the program: DGL's files, byte by byte."""

import json
import os
import struct

import numpy as np

TENSORS, NDARRAY, HETERO, META, UNIT, COO, CSR = (
    0xDD5A9FBE3FA2443F, 0xDD5E40F096B4A13F, 0xDD589FBE35224ABF, 0xDD3C5FFE20046ABF, 0xDD2E60F0F6B4A127,
    0xDD61FFD305DFF127, 0xDD6CD31205DFF127,
)
KINDS = {0: "i", 1: "u", 2: "f"}


class Bytes:
    """A file that is read from its start to its end."""

    def __init__(self, path, at=0):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.at = at

    def take(self, form):
        value, = struct.unpack_from("<" + form, self.bytes, self.at)
        self.at += struct.calcsize(form)
        return value

    def expect(self, magic):
        found = self.take("Q")
        assert found == magic, f"{found:x} instead of {magic:x} before byte {self.at}"

    def text(self):
        length = self.take("Q")
        self.at += length
        return self.bytes[self.at - length:self.at].decode()

    def array(self):
        self.expect(NDARRAY)
        self.at += 16
        sides, kind, bits = self.take("i"), self.take("B"), self.take("B")
        self.at += 2
        shape = [self.take("q") for _ in range(sides)]
        size = self.take("q")
        found = np.frombuffer(self.bytes, np.dtype(f"<{KINDS[kind]}{bits // 8}"), size * 8 // bits, self.at)
        self.at += size
        return found.reshape(shape)

    def arrays(self):
        return {self.text(): self.array() for _ in range(self.take("Q"))}

    def csr(self):
        self.expect(CSR)
        self.at += 16
        pointers, indices, ids = self.array(), self.array(), self.array()
        self.at += 1
        return pointers, indices, ids

    def meta(self):
        self.expect(META)
        return self.csr()

    def relation(self):
        """Sources and destinations of one relation; edge ids are those of the order."""
        self.expect(UNIT)
        code = self.take("Q")
        self.take("Q")
        assert code >> 32 == 1 and code & 0xFF == 1, f"save code {code:x}: not a COO matrix"
        self.meta()
        self.expect(COO)
        self.at += 16
        ends, ids = [self.array(), self.array()], self.array()
        self.at += 2
        assert len(ids) == 0, "edges are not in order"
        return ends


def tensors(path):
    file = Bytes(path)
    file.expect(TENSORS)
    file.take("Q")
    found = file.arrays()
    assert file.at == len(file.bytes), f"{path}: more bytes than tensors"
    return found


def structure(path):
    """Ends of all local edges in homogenised local ids, and the columns of nodes and of edges."""
    file = Bytes(path, 4096)
    file.at = file.take("Q")
    file.expect(HETERO)
    file.meta()
    relations = [file.relation() for _ in range(file.take("Q"))]
    assert len(relations) == 1, "a partition's graph is homogenised"
    for _ in range(file.take("Q")):
        file.take("q")
    nodes = [file.arrays() for _ in range(file.take("Q"))]
    edges = [file.arrays() for _ in range(file.take("Q"))]
    return relations[0], nodes[0], edges[0]


class Found:
    """A graph as its partitions hold it, by the ids of the input.

    `count` has the number of nodes by type; `node_data` an array of rows in the order of ids by type and name; `edges`
    sources, destinations and original ids by type, sorted by the last; `edge_data` rows in that order; `names` the names of
    nodes by type, if they have any; `classes` those of classes, a list for each type that has them.
    """

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "g.json")) as file:
            self.book = json.load(file)
        self.count = {ntype: self._size("node_map", ntype) for ntype in self.book["ntypes"]}
        self.originals = {ntype: np.full(count, -1) for ntype, count in self.count.items()}
        self.node_data, self.edge_data, self.edges = {}, {}, {}
        self.parts = range(self.book["num_parts"])
        for part in self.parts:
            for ntype, ids in tensors(self._path(part, "orig_nids.dgl")).items():
                start, end = self._typewise("node_map", ntype, part)
                assert len(ids) == end - start
                self.originals[ntype][start:end] = ids
        for ntype, ids in self.originals.items():
            assert np.array_equal(np.sort(ids), np.arange(self.count[ntype])), f"ids of {ntype}: {ids}"
        for part in self.parts:
            self._nodes(part)
        collected = {etype: [] for etype in self.book["etypes"]}
        for part in self.parts:
            self._edges(part, collected)
        for etype, pieces in collected.items():
            self._join(etype, pieces)
        self.names = {ntype: self._names(os.path.join("node_names", ntype.replace("/", "_") + ".txt")) for ntype in self.count}
        # Of one node type, or of each.
        files = ["class_names.txt"] + [os.path.join("class_names", ntype.replace("/", "_") + ".txt") for ntype in self.count]
        self.classes = [names for names in map(self._names, files) if names is not None]

    def _path(self, part, name):
        return os.path.join(self.folder, f"part{part}", name)

    def _size(self, map_name, ty):
        return sum(end - start for start, end in self.book[map_name][ty])

    def _typewise(self, map_name, ty, part):
        before = sum(end - start for start, end in self.book[map_name][ty][:part])
        start, end = self.book[map_name][ty][part]
        return before, before + end - start

    def _nodes(self, part):
        for key, rows in tensors(self._path(part, "node_feat.dgl")).items():
            ntype = max((ntype for ntype in self.count if key.startswith(ntype + "/")), key=len)
            start, end = self._typewise("node_map", ntype, part)
            assert len(rows) == end - start, f"{key} has {len(rows)} rows for {end - start} nodes"
            data = self.node_data.setdefault(ntype, {})
            name = key[len(ntype) + 1:]
            if name not in data:
                data[name] = np.zeros((self.count[ntype], *rows.shape[1:]), rows.dtype)
            assert data[name].dtype == rows.dtype
            data[name][self.originals[ntype][start:end]] = rows

    def _original(self, nodes):
        """Types and original ids of nodes with homogenised global ids."""
        ids = np.full(len(nodes), -1)
        types = np.full(len(nodes), "", object)
        for ntype, ranges in self.book["node_map"].items():
            for part, (start, end) in enumerate(ranges):
                here = (nodes >= start) & (nodes < end)
                first, _ = self._typewise("node_map", ntype, part)
                ids[here] = self.originals[ntype][first + nodes[here] - start]
                types[here] = ntype
        assert (ids >= 0).all()
        return types, ids

    def _edges(self, part, collected):
        ends, nodes, edges = structure(self._path(part, "graph.dgl"))
        inner = edges["inner_edge"].astype(bool)
        ids = edges["_ID"][inner]
        (source_types, sources), (target_types, targets) = (
            self._original(nodes["_ID"][end[inner]]) for end in ends)
        originals = tensors(self._path(part, "orig_eids.dgl"))
        data = tensors(self._path(part, "edge_feat.dgl"))
        for etype in collected:
            start, end = self.book["edge_map"][etype][part]
            here = np.flatnonzero((ids >= start) & (ids < end))
            here = here[np.argsort(ids[here])]
            assert np.array_equal(ids[here], np.arange(start, end)), f"edge ids of {etype} in partition {part}"
            source, _, target = etype.split(":")
            assert (source_types[here] == source).all() and (target_types[here] == target).all()
            rows = {key[len(etype) + 1:]: table for key, table in data.items() if key.startswith(etype + "/")}
            collected[etype].append((sources[here], targets[here], originals[etype], rows))

    def _join(self, etype, pieces):
        sources, targets, ids = (np.concatenate([piece[at] for piece in pieces]) for at in range(3))
        order = np.argsort(ids, kind="stable")
        self.edges[etype] = (sources[order], targets[order], ids[order])
        names = set().union(*(piece[3] for piece in pieces))
        tables = {name: np.concatenate([piece[3][name] for piece in pieces])[order] for name in names}
        self.edge_data[etype] = tables

    def _names(self, path):
        path = os.path.join(self.folder, path)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8", newline="\n") as file:
            return file.read().split("\n")[:-1]
