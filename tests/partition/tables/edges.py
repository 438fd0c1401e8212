"""Files of edges: a row per edge."""

import os

import numpy as np

from arrays import element_type, write_array
from case import Edges, Nodes, stem_of
from columns import Column, Table, draw_column
from documents import write_document
from oracle import Values
from parquet import write_parquet
from text import write_text

USUAL = [("source", "target"), ("src", "dst"), ("from", "to"), ("head", "tail"), ("u", "v"), ("Source", "Target"), ("SRC", "DST"),
         ("From", "To"), (":START_ID", ":END_ID")]
OTHER = [("follower", "followed"), ("citing", "cited"), ("a", "b"), ("user id", "item_id"), ("userId", "movieId"), ("id1", "id2")]


def draw_pairs(draw, sources, targets, most=25):
    return [(draw.choice(sources), draw.choice(targets)) for _ in range(draw.one(1, 2, 3, len(sources), draw.randint(1, most)))]


def write_edges(case, etype, pairs, is_named, first=False):
    """Writes the edges of a type, and adds their flags; other flags say how nodes are called."""
    draw = case.draw
    prefix = "" if etype == "_N:_E:_N" else etype + "="
    stem = stem_of(etype) if prefix else "edges"
    if not is_named and draw.chance(0.2):
        name, edges = as_array(case, stem, pairs)
        case.add("--edges", prefix + name)
        return edges
    return as_table(case, stem, prefix, pairs, is_named)


def as_array(case, stem, pairs):
    draw = case.draw
    array = np.array(pairs).reshape(-1, 2)
    array = array.astype(element_type(case, array.reshape(-1).tolist(), "int"))
    is_wide = draw.chance(0.5)
    array_name = draw.one("edge_index", "edges", "edge_list")
    if len(pairs) == 2:
        # Only this name shows which are sources.
        is_wide = is_wide or array_name == "edge_index"
        case.may_refuse("two edges in an array")
    array = np.ascontiguousarray(array.T) if is_wide else array
    name = write_array(case, stem, array_name, array, ["weights"] if draw.chance(0.3) else [])
    return name, Edges(pairs)


def as_table(case, stem, prefix, pairs, is_named):
    draw = case.draw
    named = draw.chance(0.6)
    ends = draw.choice(USUAL)
    if named and case.unusual("ends with other names", 0.2, refusable=False):
        ends = draw.choice(OTHER)
    flagged = ends in OTHER or named and draw.chance(0.1)
    source, target = (Column(name, "text" if isinstance(pairs[0][at], str) else "int", [pair[at] for pair in pairs])
                      for at, name in enumerate(ends))
    taken = {name.lower() for name in ends} | {"id", "label"}
    kinds = [draw.one("int", "float", "bool", "int", "float", "text", "date") if named else draw.one("int", "float", "bool")
             for _ in range(draw.one(0, 0, 0, 1, 1, 2, 3))]
    extra = [draw_column(draw, kind, len(pairs), taken) for kind in kinds]
    columns = [source, target] + extra
    if named and case.unusual("another order of columns", 0.15, refusable=False):
        draw.shuffle(columns)
    numbers = [column for column in columns if column in extra and column.kind in ("int", "float", "bool")]
    chosen = draw.sample(numbers, draw.randint(0, len(numbers))) if flagged else numbers
    if not named:
        chosen = extra
    table = Table(columns, named)
    left_out = [column for column in extra if column not in chosen]
    if left_out and not flagged:
        # Without the names of ends, each further column has to be named.
        case.may_refuse("columns without a use")
    index = named and case.unusual("pandas' index", 0.08)
    missing_end(case, table, source, target)
    name = write_table(case, stem, table, index)
    if chosen and named and not flagged and not is_text(case, name):
        case.may_refuse("further columns in files other than text need the names of ends")
    case.add("--edges", prefix + name)
    if chosen:
        names = [column.name for column in chosen]
        if named and len(names) > 1 and case.unusual("--edge-columns in another order", 0.5, refusable=False):
            draw.shuffle(names)
        case.add("--edge-columns", ",".join(names))
    if flagged and named:
        case.add("--source-column", prefix + ends[0], "--target-column", prefix + ends[1])
    elif named and is_named:
        case.add("--header")
    return Edges(pairs, {column.name: Values([float(value) for value in column.values]) for column in chosen})


def missing_end(case, table, source, target):
    """Takes an end of an edge away, which is refused, or said."""
    if case.unusual("missing end", 0.03):
        draw = case.draw
        column = draw.one(source, target)
        column.values[draw.randrange(len(column.values))] = None
        case.says.append(r"missing|empty|skipped|left out")


def write_table(case, stem, table, index=False):
    """Writes a table in any format that has columns."""
    draw = case.draw
    if not table.named:
        return write_text(case, stem, table)
    if index:
        return draw.one(write_text, write_parquet)(case, stem, table, "range" if draw.chance(0.5) else True)
    if case.unusual("another format of tables"):
        return write_document(case, stem, table)
    return draw.one(write_text, write_text, write_parquet)(case, stem, table)


def is_text(case, name):
    return not os.path.isdir(case.path(name)) and open(case.path(name), "rb").read(4) != b"PAR1"


def numbered(pairs):
    """Nodes that are known by their numbers in edges alone."""
    return Nodes(range(1 + max(max(pair) for pair in pairs)))


def by_occurrence(pairs, source_first=True):
    """Nodes that are numbered in the order in which their names occur."""
    return Nodes(dict.fromkeys(end for pair in pairs for end in pair))
