"""Comparison of what was found with what was written."""

import re

import numpy as np


class Difference(Exception):
    """A graph that differs from the files."""


def compare(case, found, said):
    """Raises a `Difference` unless the graph is the one that was written. `said` is what the command said."""
    require(set(found.count) == set(case.nodes), f"node types {sorted(found.count)}, written {sorted(case.nodes)}")
    require(set(found.edges) == set(case.edges), f"edge types {sorted(found.edges)}, written {sorted(case.edges)}")
    for pattern in case.says:
        require(re.search(pattern, said), f"the command does not say {pattern!r}")
    keys = {ntype: compare_nodes(ntype, nodes, found) for ntype, nodes in case.nodes.items()}
    for ntype, nodes in case.nodes.items():
        compare_arrays(ntype, nodes, found, keys[ntype])
    for etype, alternatives in case.edges.items():
        compare_edges(etype, alternatives, found, keys, said)


def require(holds, problem):
    if not holds:
        raise Difference(problem)


def compare_nodes(ntype, nodes, found):
    """The key of each node by its number."""
    count, names, due = found.count[ntype], found.names[ntype], nodes.keys
    # Names that are the numbers of rows need not be kept, and numbers may be kept as names.
    keys = [type(due[0])(name) for name in names or range(count)] if due else []
    require(len(set(keys)) == len(keys), f"names of {ntype} occur twice: {keys}")
    require(sorted(keys, key=str) == sorted(due, key=str), f"nodes of {ntype}: {keys}, written {due}")
    if nodes.is_ordered:
        require(keys == due, f"nodes of {ntype} in the order {keys}, written {due}")
    return keys


def compare_arrays(ntype, nodes, found, keys):
    data = dict(found.node_data.get(ntype, {}))
    row = {key: at for at, key in enumerate(keys)}
    order = [row[key] for key in nodes.keys]
    if nodes.features is not None:
        rows = data.pop("feat", np.zeros((len(keys), 0), np.float32))[order]
        require(fits(nodes.features, rows), f"feat of {ntype}:\n{rows}\nwritten {nodes.features}")
    for name, due in nodes.arrays.items():
        require(name in data, f"{ntype} has no {name}, only {sorted(data)}")
        rows = data.pop(name)[order]
        require(due.is_like(rows, found), f"{name} of {ntype}: {rows.tolist()}, written {due.values}")
    require(not data, f"{ntype} has {sorted(data)}, which were not written")


def fits(columns, rows):
    """Whether the rows are made of one alternative of each column."""
    if not columns:
        return rows.shape[1] == 0
    return any(rows.shape[1] >= option.width and option.is_like(rows[:, :option.width]) and fits(columns[1:], rows[:, option.width:])
               for option in columns[0])


class Values:
    """Rows of numbers; those of a floating type are compared in single precision at least."""

    def __init__(self, values):
        self.values = values
        array = np.array(values, dtype=object)
        self.width = array.shape[1] if array.ndim > 1 else 1

    def is_like(self, rows, _=None):
        due = np.array(self.values, dtype=float)
        found = np.asarray(rows, dtype=float)
        if due.shape != found.shape and due.size == found.size:
            due = due.reshape(found.shape)
        if due.shape != found.shape:
            return False
        exact = rows.dtype == np.float64 or rows.dtype.kind in "iu"
        if not exact:
            due = due.astype(rows.dtype).astype(float)
        return np.array_equal(due, found, equal_nan=True)

    def at(self, order):
        return type(self)([self.values[at] for at in order])

    def __repr__(self):
        return repr(self.values)


class Line(Values):
    """Times as any numbers that keep their distances and tell them apart."""

    def is_like(self, rows, _=None):
        due = np.array(self.values, dtype=float)
        found = np.asarray(rows, dtype=float).reshape(-1)
        if len(found) != len(due) or len(set(found)) != len(set(due)):
            return False
        if len(set(due)) < 2:
            return True
        slope = (found.max() - found.min()) / (due.max() - due.min())
        error = np.abs((found - found.min()) - slope * (due - due.min()))
        # What single precision rounds away at the largest value, but less than half of the smallest step.
        steps = np.diff(np.unique(due)).min() * slope
        return slope > 0 and error.max() < steps / 2


class OneHot(Values):
    """A column for each of the sorted words, with the shares where a value is missing."""

    def __init__(self, words, fill):
        kinds = sorted({word for word in words if word is not None}, key=lambda word: word.encode())
        known = [word for word in words if word is not None]
        shares = [known.count(kind) / len(known) if fill == "mean" else 0.0 for kind in kinds]
        rows = [shares if word is None else [float(word == kind) for kind in kinds] for word in words]
        super().__init__(rows)


class Sets(Values):
    """A column for each of the sorted words of lists, with the shares where a list is missing."""

    def __init__(self, lists, fill):
        known = [words for words in lists if words is not None]
        kinds = sorted({word for words in known for word in words}, key=lambda word: word.encode())
        shares = [sum(kind in words for words in known) / len(known) if fill == "mean" else 0.0 for kind in kinds]
        super().__init__([shares if words is None else [float(kind in words) for kind in kinds] for words in lists])


class Classes(Values):
    """Names of classes, sorted and numbered; -1 for none."""

    def is_like(self, rows, found):
        kinds = sorted({name for name in self.values if name is not None}, key=lambda name: name.encode())
        due = [-1 if name is None else kinds.index(name) for name in self.values]
        return kinds in found.classes and rows.tolist() == due


class SetLabels(Values):
    """Several classes per node, or none; NaN for a node without labels. Where no node has several, they are numbers of classes."""

    def __init__(self, values):
        self.values, self.width = values, None

    def is_like(self, rows, found):
        kinds = sorted({word for words in self.values for word in words or []}, key=lambda word: word.encode())
        if kinds not in found.classes:
            return False
        if len(kinds) > 1 and all(words is not None and len(words) < 2 for words in self.values):
            return rows.tolist() == [kinds.index(words[0]) if words else -1 for words in self.values]
        due = [[float("nan") if words is None else float(kind in words) for kind in kinds] for words in self.values]
        return np.array_equal(np.array(due), rows, equal_nan=True)


def compare_edges(etype, alternatives, found, keys, said):
    source_type, _, target_type = etype.split(":")
    sources, targets, ids = found.edges[etype]
    pairs = [(keys[source_type][source], keys[target_type][target]) for source, target in zip(sources, targets)]
    problems = []
    for due in alternatives:
        if due.says is not None and not re.search(due.says, said):
            problems.append(f"not said: {due.says}")
            continue
        problem = difference(due, pairs, ids, found.edge_data[etype])
        if problem is None:
            return
        problems.append(problem)
    raise Difference(f"edges of {etype}: " + "; or ".join(problems))


def difference(due, pairs, ids, data):
    if len(pairs) != len(due.pairs):
        return f"{len(pairs)} edges, written {len(due.pairs)}: {pairs[:12]}, written {due.pairs[:12]}"
    if due.is_ordered and ids.tolist() != list(range(len(pairs))):
        return f"original ids are {ids.tolist()}"
    order, found_order = list(range(len(pairs))), list(range(len(pairs)))
    if not due.is_ordered:
        order.sort(key=lambda at: (str(due.pairs[at]), due.sort_value(at)))
        found_order.sort(key=lambda at: (str(pairs[at]), sort_value(data, at)))
    for at, found_at in zip(order, found_order):
        if pairs[found_at] != due.pairs[at]:
            return f"edge {at} is {pairs[found_at]}, written {due.pairs[at]}; all: {pairs[:12]}, written {due.pairs[:12]}"
    if set(data) != set(due.data):
        return f"edge data {sorted(data)}, written {sorted(due.data)}"
    for name, values in due.data.items():
        if not values.at(order).is_like(data[name][found_order]):
            return f"{name}: {data[name].tolist()}, written {values}"
    return None


def sort_value(data, at):
    """A key that sorts parallel edges by their data."""
    return [float(np.float32(data[name][at])) for name in sorted(data)]
