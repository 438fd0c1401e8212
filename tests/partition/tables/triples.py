"""Triples of knowledge graphs: an edge type for each relation, with files of splits, a split by time, or bad rows."""

import math

from case import NODE, Edges, Nodes
from oracle import Values

RELATIONS = ["_hypernym", "/film/genre", "born in", "P31", "wdt:P31", "7"]


def triples(case):
    draw = case.draw
    keys = draw.sample(["ann", "bob", "eve", "dan", "Zoe", "x1", "Oslo", "00260881", "77"], draw.randint(2, 9))
    relations = draw.sample(RELATIONS, draw.randint(1, 4))
    every = [(head, relation, tail) for head in keys for relation in relations for tail in keys]
    rows = draw.sample(every, min(len(every), draw.randint(3, 20)))
    form = draw.one(plain, by_file, by_time)
    parts = form(case, rows)
    names = [end for part in parts.values() for head, _, tail in part for end in (head, tail)]
    case.add("--node-ids", "string")
    case.nodes[NODE] = Nodes(dict.fromkeys(names))


def plain(case, rows):
    data = {}
    if case.draw.chance(0.4):
        data["weight"] = [case.draw.randint(0, 9) for _ in rows]
        case.add("--edge-columns", "weight")
    case.add("--edges", write(case, "triples", rows, data), *relation_flags(case))
    expect(case, rows, data)
    return {"train": rows}


def by_file(case, rows):
    """Rows for training, and files of the rows for validation and test."""
    first, second = sorted(case.draw.sample(range(1, len(rows)), 2))
    parts = {"train": rows[:first], "val": rows[first:second], "test": rows[second:]}
    case.add("--edges", write(case, "train", parts["train"], {}), *relation_flags(case))
    for name in ("val", "test"):
        case.add("--split", f"{case.draw.one(name, name + '_mask')}={write(case, name, parts[name], {})}")
    part_of = [name for name, part in parts.items() for _ in part]
    expect(case, rows, {f"{name}_mask": [int(name == part) for part in part_of] for name in parts})
    return parts


def by_time(case, rows):
    """Rows with a time, which are split by it over all relations."""
    times = case.draw.sample(range(1000), len(rows))
    case.add("--edges", write(case, "triples", rows, {"time": times}), *relation_flags(case), "--split-by", "time:0.5,0.25,0.25")
    ends = [math.floor(len(rows) * share + 0.5) for share in (0.5, 0.75, 1)]
    if len(set([0, *ends])) < 4:
        case.may_refuse("a mask without edges")
    places = [sorted(times).index(time) for time in times]
    starts = [0, *ends]
    masks = {f"{name}_mask": [int(starts[at] <= place < ends[at]) for place in places] for at, name in enumerate(("train", "val", "test"))}
    expect(case, rows, {"time": times, **masks})
    return {"train": rows}


def expect(case, rows, data):
    """The edges of each relation, in the order of the rows."""
    for relation in dict.fromkeys(relation for _, relation, _ in rows):
        own = [at for at, row in enumerate(rows) if row[1] == relation]
        pairs = [(rows[at][0], rows[at][2]) for at in own]
        etype = f"{NODE}:{relation.replace(':', '%3A')}:{NODE}"
        case.edges[etype] = [Edges(pairs, {name: Values([values[at] for at in own]) for name, values in data.items()})]


def relation_flags(case):
    return ["--relation-column", "relation" if case.named else "2"]


def write(case, stem, rows, data):
    """Writes text, with or without names, in one form for all files of a case."""
    draw = case.draw
    if not hasattr(case, "named"):
        case.named, case.separator = draw.chance(0.5), draw.one("\t", ",", ";")
        case.order = draw.sample(range(3), 3) if case.named else [0, 1, 2]
    lines = []
    if case.named:
        names = ["head", "relation", "tail"]
        lines.append([names[at] for at in case.order] + list(data))
    for at, row in enumerate(rows):
        lines.append([row[place] for place in case.order] + [str(values[at]) for values in data.values()])
        if stem != "val" and draw.chance(0.05) and "--split" not in case.arguments:
            bad = list(row)
            bad[draw.one(0, 2)] = ""
            lines.append([bad[place] for place in case.order] + ["1"] * len(data))
            if "--bad-rows" not in case.arguments:
                case.is_unusual("bad rows")
                case.add("--bad-rows", draw.one("skip", "skip", "error"))
                case.says.append("bad rows")
    name = stem + draw.one(".txt", ".tsv", ".csv")
    with open(case.path(name), "w") as file:
        file.writelines(case.separator.join(line) + "\n" for line in lines)
    return name
