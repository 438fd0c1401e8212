"""The kinds of cases."""

from case import EDGE, NODE, Nodes
from columns import Column, Table, draw_names, draw_values
from edges import by_occurrence, draw_pairs, numbered, write_edges
from graphs import write_graph
from nodes import node_array, write_node_data, write_node_table, write_split
from oracle import Values
from text import write_text
from triples import triples

import numpy as np


def scene(case):
    """Draws a case."""
    case.draw.choice([only_edges, only_edges, node_table, node_table, node_table, node_data, node_data, several_types, names, graph, triples])(case)


def keys_of(case, least=2):
    is_named = case.draw.chance(0.4)
    count = case.draw.randint(least, 12)
    return draw_names(case, count) if is_named else list(range(count))


def string_ids(case, keys):
    if isinstance(keys[0], str):
        case.add("--node-ids", "string")


def only_edges(case):
    keys = keys_of(case)
    pairs = draw_pairs(case.draw, keys, keys)
    is_named = isinstance(keys[0], str)
    edges = write_edges(case, EDGE, pairs, is_named)
    case.edges[EDGE] = [edges]
    case.nodes[NODE] = by_occurrence(pairs) if is_named else numbered(pairs)
    string_ids(case, keys)
    edge_data(case, edges)


def edge_data(case, edges):
    """Data of edges in a separate file."""
    draw = case.draw
    if not draw.chance(0.2):
        return
    kind = draw.one("int", "float", "bool")
    values = draw_values(draw, kind, len(edges.pairs))
    edges.data["extra"] = Values([float(value) for value in values])
    file = node_array(case, "extra", "extra", kind, [Column("extra", kind, values)], np.array(values, dtype=float))
    case.add("--edge-data", f"extra={file}")


def node_table(case):
    """A table of nodes, and edges that call nodes by its ids."""
    keys = keys_of(case, 1)
    if not isinstance(keys[0], str) and case.draw.chance(0.3):
        case.draw.shuffle(keys)
    nodes = write_node_table(case, NODE, keys, "")
    pairs = draw_pairs(case.draw, keys, keys)
    case.nodes[NODE] = nodes
    case.edges[EDGE] = [write_edges(case, EDGE, pairs, isinstance(keys[0], str))]
    write_split(case, NODE, nodes, "") if case.draw.chance(0.2) else None


def node_data(case):
    """Arrays with a row per node."""
    keys = list(range(case.draw.randint(1, 12)))
    pairs = draw_pairs(case.draw, keys, keys)
    nodes = case.nodes[NODE] = Nodes(keys)
    case.edges[EDGE] = [write_edges(case, EDGE, pairs, False)]
    write_node_data(case, NODE, nodes, "")
    if case.draw.chance(0.5):
        write_split(case, NODE, nodes, "")
    if "--node-data" not in case.arguments:
        case.add("--num-nodes", str(len(keys)))


def names(case):
    """A list of the names of all nodes."""
    keys = draw_names(case, case.draw.randint(1, 12))
    pairs = draw_pairs(case.draw, keys, keys)
    nodes = case.nodes[NODE] = Nodes(keys)
    case.edges[EDGE] = [write_edges(case, EDGE, pairs, True)]
    case.add("--node-names", write_text(case, "names", Table([Column("name", "text", keys)], named=False)))
    if any(key.strip() != key or "\t" in key for key in keys):
        case.may_refuse("names with white space")
    write_node_data(case, NODE, nodes, "")


def several_types(case):
    """Two node types and two or three edge types, with tables or arrays."""
    draw = case.draw
    types = draw.sample(["user", "item", "author", "paper", "a/b"], 2)
    keys = {ntype: [f"{ntype[0]}{at}" for at in range(draw.randint(1, 8))] if draw.chance(0.4) else list(range(draw.randint(1, 8)))
            for ntype in types}
    for ntype in types:
        if isinstance(keys[ntype][0], str) or draw.chance(0.4):
            case.nodes[ntype] = write_node_table(case, ntype, keys[ntype], ntype + "=")
        else:
            case.nodes[ntype] = Nodes(keys[ntype])
            case.add("--num-nodes", f"{ntype}={len(keys[ntype])}")
            if draw.chance(0.4):
                write_node_data(case, ntype, case.nodes[ntype], ntype + "/")
        if draw.chance(0.15):
            write_split(case, ntype, case.nodes[ntype], ntype + "/")
    relations = draw.sample([(types[0], "to", types[1]), (types[1], "back", types[0]), (types[0], "of", types[0])], draw.randint(2, 3))
    relations[0] = (types[0], "to", types[1]) if relations[0][0] == relations[0][2] else relations[0]
    for source, relation, target in dict.fromkeys(relations):
        etype = f"{source}:{relation}:{target}"
        pairs = draw_pairs(draw, keys[source], keys[target], 9)
        before = len(case.arguments)
        named = isinstance(keys[source][0], str) or isinstance(keys[target][0], str)
        case.edges[etype] = [write_edges(case, etype, pairs, named)]
        # Names of columns of edge data, and the header, are those of all types.
        added = case.arguments[before:]
        if "--edge-columns" in added:
            at = before + added.index("--edge-columns")
            del case.arguments[at:at + 2]
            case.edges[etype][0].data = {}
            case.may_refuse("columns without a use")
        if "--header" in case.arguments:
            case.may_refuse("a header in files of one type")


def graph(case):
    """A graph in a format of other programs."""
    write_graph(case)
