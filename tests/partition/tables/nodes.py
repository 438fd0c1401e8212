"""Files of nodes: tables with a column of ids, and arrays with a row per node."""

import numpy as np
import scipy.io
import scipy.sparse

from arrays import element_type, write_array
from case import Nodes, stem_of
from columns import Column, Table, draw_column, draw_values, name_of_column, sets_of_words
from edges import write_table
from oracle import Classes, Line, OneHot, SetLabels, Sets, Values
from parquet import write_parquet
from text import write_text

IDS = ["id", "name", "ID", "node", "node_id", "user"]


def write_node_table(case, ntype, keys, prefix):
    """Writes a table with a row per node, and returns its nodes."""
    draw = case.draw
    nodes = Nodes(keys)
    taken = {"id"}
    ids = Column(draw.choice(IDS), "text" if isinstance(keys[0], str) else "int", keys)
    taken.add(ids.name.lower())
    kinds = [draw.one("int", "float", "bool", "text", "text", "date", "time", "float", "int") for _ in range(draw.randint(0, 4))]
    has_lists = draw.chance(0.1)
    kinds += ["list"] * has_lists
    columns = [draw_column(draw, kind, len(keys), taken) for kind in kinds]
    # All tables are filled alike.
    if not hasattr(case, "fill"):
        case.fill = draw.one("mean", "0") if draw.chance(0.3) else None
        if case.fill is not None:
            case.add("--fill-missing", case.fill)
    fill = case.fill
    if draw.chance(0.12):
        columns.append(sets_of_words(draw, len(keys), name_of_column(draw, taken)))
    for column in columns:
        spoil(case, column, fill)
    dropped = [column for column in columns if draw.chance(0.1)]
    for column in dropped:
        columns.remove(column)
        case.add("--drop", prefix + column.name)
    nodes.features = [alternatives(case, column, fill) for column in columns]
    columns += dropped
    flags = []
    if draw.chance(0.6):
        columns.append(label_column(case, nodes, len(keys), taken))
        flags = ["--label", prefix + columns[-1].name]
    if draw.chance(0.4):
        columns += mask_columns(case, nodes, len(keys), flags, prefix)
    columns.insert(0 if draw.chance(0.7) else draw.randint(0, len(columns)), ids)
    if len(columns) == 1 and not isinstance(keys[0], str):
        case.may_refuse("a table of ids alone")
    index = not has_lists and case.unusual("pandas' index", 0.06, refusable=False)
    write = write_parquet if has_lists else write_table
    name = write(case, stem_of(ntype) + "-nodes", Table(columns), index)
    case.add("--node-table", prefix + name, "--id", prefix + ids.name, *flags)
    if not nodes.features:
        nodes.features = None
    return nodes


def spoil(case, column, fill):
    """Takes values away, or makes them such as are refused."""
    draw = case.draw
    at = draw.randrange(len(column.values))
    if column.kind in ("int", "float", "bool", "text") and case.unusual("missing value", 0.08, refusable=fill is None):
        if len(column.values) == 1:
            case.may_refuse("a column without values")
        column.values[at] = None
        if column.kind == "bool":
            case.may_refuse("missing truth value")
        if all(value is None for value in column.values):
            case.may_refuse("a column without values")
    elif column.kind == "float" and case.unusual("a value that is not finite, or too large", 0.06):
        column.values[at] = draw.one(float("inf"), float("-inf"), 1e39, -1e300)
        column.refused = True
    elif column.kind in ("int", "float") and case.unusual("a word among numbers", 0.06):
        column.values = [str(value) for value in column.values]
        column.values[at] = draw.one("?", "n.a.", "12,5", "1 000", "~5", "3%", "$4", "1_000", "0x10", "five", "-", "1e", "++1", "١")
        column.kind = "mixed"


def alternatives(case, column, fill):
    """Possible results of a column of features."""
    values = column.values
    known = [value for value in values if value is not None]
    if column.kind in ("int", "float", "bool"):
        if getattr(column, "refused", False):
            return []
        if not known:
            return [Values([0.0] * len(values))]
        stand_in = sum(map(float, known)) / len(known) if fill == "mean" else 0.0
        if column.kind == "int" and len({float(np.float32(value)) for value in known}) < len(set(known)):
            case.says.append(r"(?i)precision|round|lossy|loss")
            case.may_refuse("whole numbers that single precision cannot tell apart")
        return [Values([stand_in if value is None else float(value) for value in values])]
    if hasattr(column, "sets"):
        if not any(value and column.sets[value] for value in values):
            case.may_refuse("a column without values")
        return [Sets([value and column.sets[value] for value in values], fill)]
    if column.kind == "text":
        return [OneHot(values, fill)]
    if column.kind == "list":
        return [Values(values)]
    if column.kind == "mixed":
        words = [value for value in values if not is_number(value)]
        if words in (["?"], ["-"]) and fill is not None:
            numbers = [float(value) for value in values if is_number(value)]
            mean = sum(numbers) / len(numbers) if fill == "mean" and numbers else 0.0
            return [Values([float(value) if is_number(value) else mean for value in values])]
        if len(values) > 2:
            return []
        return [OneHot(values, fill)]
    case.may_refuse("times")
    return [Line([as_seconds(value) for value in values])]


def is_number(text):
    try:
        return np.isfinite(np.float32(text))
    except ValueError:
        return False


def as_seconds(value):
    return value.timestamp() if hasattr(value, "timestamp") else value.toordinal() * 86400.0


def label_column(case, nodes, rows, taken):
    draw = case.draw
    name = draw.one("label", "y", "class", "topic")
    taken.add(name)
    sets = None
    if draw.chance(0.15):
        column = sets_of_words(draw, rows, name)
        sets, values, kind = column.sets, column.values, "text"
    elif draw.chance(0.5):
        values = draw_values(draw, "text", rows)
        kind = "text"
    else:
        values, kind = [draw.randint(0, 4) for _ in range(rows)], "int"
    if rows > 1 and case.unusual("missing label", 0.15, refusable=False):
        values[draw.randrange(rows)] = None
    if sets and any(value is not None and ("|" in value or value.startswith("[")) for value in values):
        lists = [value and sets[value] for value in values]
        if not any(lists):
            case.may_refuse("a column without values")
        nodes.arrays["label"] = SetLabels(lists)
    elif kind == "text":
        nodes.arrays["label"] = Classes(values)
    else:
        nodes.arrays["label"] = Values([-1 if value is None else value for value in values])
    return Column(name, kind, values)


def mask_columns(case, nodes, rows, flags, prefix):
    """Masks of 0 and 1 or truth values, or a column that says which mask a node is in."""
    draw = case.draw
    names = ["train_mask", "val_mask", "test_mask"]
    place = [draw.randrange(4) for _ in range(rows)]
    if draw.chance(0.5):
        words = draw.one(["train", "val", "test"], ["train", "valid", "test"], ["Train", "Validation", "Test"], ["training", "dev", "testing"])
        flags += ["--split", prefix + "split"]
        for at in sorted(set(place) - {3}):
            nodes.arrays[names[at]] = Values([int(node == at) for node in place])
        if set(place) == {3}:
            case.may_refuse("a split without values")
        return [Column("split", "text", [words[node] if node < 3 else None for node in place])]
    kind = draw.one("int", "bool")
    columns = []
    for at, name in enumerate(names[:draw.randint(1, 3)]):
        values = [node == at for node in place]
        if kind == "int" and case.unusual("mask with other values", 0.06):
            value = draw.one(-1, 2, 255)
            values[draw.randrange(rows)] = value
            case.says.append("no reading of this mask is right")
        nodes.arrays[name] = Values([int(value) for value in values])
        columns.append(Column(name, kind, [int(value) for value in values] if kind == "int" else values))
    return columns


def write_node_data(case, ntype, nodes, prefix):
    """Arrays with a row per node: features, labels and masks."""
    draw = case.draw
    rows = len(nodes.keys)
    for name in draw.sample(["feat", "x", "label", "train_mask", "year"], draw.randint(1, 3)):
        if name in nodes.arrays or name == "feat" and nodes.features is not None:
            continue
        width = draw.randint(1, 4) if name in ("feat", "x") else 1
        kind = {"feat": "float", "x": "int", "label": "int", "train_mask": "bool", "year": "int"}[name]
        if name == "label":
            columns = [Column("c", kind, [draw.randint(0, 3) for _ in range(rows)])]
        else:
            columns = [Column(f"c{at}", kind, draw_values(draw, kind, rows)) for at in range(width)]
        due = [[float(value) for value in row] for row in zip(*(column.values for column in columns))]
        if width == 1 and draw.chance(0.7):
            due = [row[0] for row in due]
        nodes.arrays[name] = Values(due)
        file = node_array(case, f"{stem_of(ntype)}-{name}", name, kind, columns, np.array(due))
        case.add("--node-data", f"{prefix}{name}={file}")


def node_array(case, stem, name, kind, columns, due):
    draw = case.draw
    if case.unusual("a matrix as node data", 0.08):
        return write_matrix(case, stem, due)
    if draw.chance(0.4):
        dtype = element_type(case, due.reshape(-1).tolist() if kind == "float" else [int(v) for v in due.reshape(-1)], kind)
        return write_array(case, stem, name, due.astype(dtype), ["other"] if draw.chance(0.3) else [])
    table = Table(columns, named=draw.chance(0.5))
    if table.named and case.unusual("a column of ids in node data", 0.08):
        # Only the order of ids tells which row is whose.
        name = draw.one("id", "index", "paper_id") if len(table) > 1 else "id"
        first = draw.one(0, 0, 1)
        table.columns.insert(0, Column(name, "int", range(first, first + len(table))))
    elif table.named and case.unusual("pandas' index", 0.06):
        return write_table(case, stem, table, True)
    return write_text(case, stem, table) if not table.named else write_table(case, stem, table)


def write_matrix(case, stem, due):
    """Writes an array by SciPy, with or without its zeros."""
    draw = case.draw
    array = due.reshape(len(due), -1)
    if draw.chance(0.5):
        with open(case.path(stem + ".mtx"), "wb") as file:
            scipy.io.mmwrite(file, draw.one(array, scipy.sparse.coo_array(array)), symmetry="general", precision=17)
        return stem + ".mtx"
    form = draw.one(scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array)
    scipy.sparse.save_npz(case.path(stem + ".npz"), form(array))
    return stem + ".npz"


def write_split(case, ntype, nodes, prefix):
    """A list of nodes for each mask, or a mask where a list is due."""
    draw = case.draw
    for split in draw.sample(["train", "val", "test"], draw.randint(1, 3)):
        mask = f"{split}_mask"
        if mask in nodes.arrays or "--split" in case.arguments and (prefix + "split") in case.arguments:
            continue
        chosen = [key for key in nodes.keys if draw.chance(0.4)] or [draw.choice(nodes.keys)]
        draw.shuffle(chosen)
        nodes.arrays[mask] = Values([int(key in chosen) for key in nodes.keys])
        stem = f"{stem_of(ntype)}-{split}"
        if len(chosen) == len(nodes.keys) <= 2:
            case.may_refuse("a list that may be a mask")
        if isinstance(chosen[0], int) and draw.chance(0.4):
            array = np.array(chosen)
            if case.unusual("mask where a list is due", 0.15):
                array = np.array([key in chosen for key in nodes.keys])
                array = array.astype(draw.one("bool", "u1", "i8"))
                if array.dtype != bool:
                    case.says.append("mask")
            elif case.unusual("split of a repeated node", 0.1):
                array = np.array([*chosen, chosen[0]])
            file = write_array(case, stem, split, array)
        else:
            column = Column(draw.one("id", "node"), "int" if isinstance(chosen[0], int) else "text", chosen)
            table = Table([column], named=False)
            if case.unusual("split with a header or in Parquet", 0.1):
                table.named = True
                file = write_table(case, stem, table)
            else:
                file = write_text(case, stem, table)
        valid = "valid" if split == "val" and draw.chance(0.5) else split
        case.add("--split", f"{prefix}{valid}={file}")
