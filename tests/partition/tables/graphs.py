"""Graphs in formats of other programs: by scipy and networkx, and those of KONECT, SNAP, METIS and neo4j.

They are read, or refused by name. An undirected graph has an edge in both directions, or one if the command says how to have both.
"""

import json

import networkx
import numpy as np
import scipy.io
import scipy.sparse

from case import EDGE, NODE, Edges, Nodes
from edges import numbered
from oracle import Values

BOTH = r"(?i)undirected"


def write_graph(case):
    forms = [matrix_market, matrix_market, sparse_archive, graphml, gml, gexf, pajek, edge_list, edge_list, adjacency_list,
             multiline_adjacency, in_json, in_json, graph6, metis, konect, snap, neo4j, dot]
    case.draw.choice(forms)(case)


def undirected(case, pairs, data=None):
    """The alternatives for edges that are written once."""
    data = data or {}
    back = [(target, source) for source, target in pairs if source != target]
    twice = {name: Values(values.values + [value for value, (s, t) in zip(values.values, pairs) if s != t]) for name, values in data.items()}
    case.edges[EDGE] = [Edges(pairs + back, twice, is_ordered=False), Edges(pairs, data, says=BOTH, is_ordered=False)]


def directed(case, pairs, data=None, is_ordered=False):
    case.edges[EDGE] = [Edges(pairs, data, is_ordered=is_ordered)]


def matrix_market(case):
    draw = case.draw
    count = draw.randint(2, 9)
    pairs = sorted({(draw.randrange(count), draw.randrange(count)) for _ in range(draw.randint(1, 12))})
    symmetric = draw.chance(0.4)
    if symmetric:
        pairs = sorted({tuple(sorted(pair)) for pair in pairs})
    case.is_unusual("Matrix Market")
    field = draw.one("pattern", "real", "integer")
    values = [draw.randint(1, 9) if field == "integer" else round(draw.uniform(0.1, 5), 2) for _ in pairs]
    rows, columns = zip(*pairs)
    full = (values, (rows, columns))
    if symmetric:
        off = [(at, pair) for at, pair in enumerate(pairs) if pair[0] != pair[1]]
        full = (values + [values[at] for at, _ in off], (list(rows) + [pair[1] for _, pair in off], list(columns) + [pair[0] for _, pair in off]))
    matrix = scipy.sparse.coo_array(full, shape=(count, count))
    name = "graph" + draw.one(".mtx", ".mtx", ".txt")
    with open(case.path(name), "wb") as file:
        scipy.io.mmwrite(file, matrix, field=field, symmetry="symmetric" if symmetric else "general", comment=draw.one("", "made by hand"))
    case.add("--edges", name)
    data = {}
    if field != "pattern" and draw.chance(0.4):
        case.add("--edge-columns", "weight")
        data = {"weight": Values(values)}
    # Rows are sources; a matrix is square, and has nodes without edges.
    case.nodes[NODE] = Nodes(range(count))
    undirected(case, pairs, data) if symmetric else directed(case, pairs, data)


def sparse_archive(case):
    draw = case.draw
    count = draw.randint(2, 9)
    dense = np.array([[draw.chance(0.3) for _ in range(count)] for _ in range(count)])
    dense[0, count - 1] = True
    case.is_unusual("sparse matrix of scipy")
    form = draw.one("csr", "coo", "csc", "bsr", "dia")
    scipy.sparse.save_npz(case.path("graph.npz"), getattr(scipy.sparse, form + "_matrix")(dense.astype(draw.one("f4", "i8", "f8"))),
                          compressed=draw.chance(0.5))
    case.add("--edges", "graph.npz")
    case.nodes[NODE] = Nodes(range(count))
    directed(case, [tuple(map(int, pair)) for pair in np.argwhere(dense)])


def drawn(case, directed_only=False, isolated=True, with_weights=True):
    """A graph of networkx with names, its pairs, and whether it is directed."""
    draw = case.draw
    is_directed = directed_only or draw.chance(0.5)
    kind = networkx.DiGraph if is_directed else networkx.Graph
    graph = kind()
    named = draw.chance(0.5)
    keys = draw.sample(["ann", "bob", "eve", "dan", "Zoe", "x1", "Oslo", "77"], draw.randint(2, 8)) if named else list(range(draw.randint(2, 8)))
    if isolated and draw.chance(0.4):
        graph.add_nodes_from(keys)
    for _ in range(draw.randint(1, 12)):
        source, target = draw.choice(keys), draw.choice(keys)
        if with_weights:
            graph.add_edge(source, target, weight=round(draw.uniform(0, 4), 2))
        else:
            graph.add_edge(source, target)
    return graph, is_directed


def finish(case, graph, is_directed, is_named=True):
    if is_named:
        case.add("--node-ids", "string")
        graph = networkx.relabel_nodes(graph, {key: str(key) for key in graph.nodes})
    pairs = list(graph.edges)
    case.nodes[NODE] = Nodes(list(graph.nodes), is_ordered=False)
    directed(case, pairs) if is_directed else undirected(case, pairs)


def by_networkx(case, name, write, **options):
    case.is_unusual(name)
    graph, is_directed = drawn(case, **options)
    file = "graph" + case.draw.one("." + name, ".txt")
    write(graph, case.path(file))
    case.add("--edges", file)
    finish(case, graph, is_directed)


def graphml(case):
    by_networkx(case, "graphml", case.draw.one(networkx.write_graphml_xml, networkx.write_graphml_lxml))


def gml(case):
    by_networkx(case, "gml", lambda graph, path: networkx.write_gml(graph, path, stringizer=str))


def gexf(case):
    by_networkx(case, "gexf", networkx.write_gexf)


def pajek(case):
    by_networkx(case, "net", networkx.write_pajek)


def dot(case):
    def write(graph, path):
        arrow = "->" if graph.is_directed() else "--"
        with open(path, "w") as file:
            file.write(("digraph" if graph.is_directed() else "graph") + " {\n")
            file.writelines(f'  "{node}";\n' for node in graph.nodes)
            file.writelines(f'  "{source}" {arrow} "{target}";\n' for source, target in graph.edges)
            file.write("}\n")
    by_networkx(case, "dot", write)


def in_json(case):
    """networkx's graphs in JSON: lists of nodes and edges, adjacencies, or Cytoscape's elements."""
    def node_link(graph):
        return networkx.node_link_data(graph, edges=case.draw.one("links", "edges"))

    def write(graph, path):
        data = case.draw.one(node_link, networkx.adjacency_data, networkx.cytoscape_data)(graph)
        with open(path, "w") as file:
            json.dump(data, file, indent=case.draw.one(None, 1))
    by_networkx(case, "json", write)


def graph6(case):
    def write(graph, path):
        graph = networkx.convert_node_labels_to_integers(graph.to_undirected())
        graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
        case.draw.one(networkx.write_graph6, networkx.write_sparse6)(graph, path, header=case.draw.one(True, False))
    by_networkx(case, "g6", write)


def edge_list(case):
    """networkx's edge lists: without data, with values, or with dictionaries; the direction is not written."""
    draw = case.draw
    case.is_unusual("edge list of networkx")
    graph, _ = drawn(case, directed_only=True, isolated=False)
    graph = networkx.relabel_nodes(graph, {key: str(key) for key in graph.nodes})
    data = draw.one(False, True, ["weight"])
    networkx.write_edgelist(graph, case.path("graph.edgelist"), data=data, comments="#", delimiter=draw.one(" ", "\t", ","))
    case.add("--edges", "graph.edgelist", "--node-ids", "string")
    weights = {}
    if data == ["weight"]:
        case.add("--edge-columns", "weight")
        weights = {"weight": Values([value for _, _, value in graph.edges(data="weight")])}
    case.nodes[NODE] = Nodes(dict.fromkeys(end for pair in graph.edges for end in pair))
    directed(case, list(graph.edges), weights, is_ordered=True)


def adjacency_list(case):
    case.is_unusual("adjacency list of networkx")
    graph, is_directed = drawn(case, isolated=True, with_weights=False)
    networkx.write_adjlist(graph, case.path("graph.adjlist"))
    case.add("--edges", "graph.adjlist")
    finish(case, graph, is_directed)
    # The file says nothing of directions.
    case.edges[EDGE] = [*case.edges[EDGE], Edges(list(networkx.relabel_nodes(graph, str).edges), is_ordered=False)]


def multiline_adjacency(case):
    case.is_unusual("multi-line adjacency list")
    graph, is_directed = drawn(case, isolated=True, with_weights=False)
    networkx.write_multiline_adjlist(graph, case.path("graph.adjlist"))
    case.add("--edges", "graph.adjlist")
    finish(case, graph, is_directed)


def metis(case):
    """METIS's graphs: both directions of each edge are written."""
    draw = case.draw
    graph, _ = drawn(case, isolated=False)
    graph = networkx.convert_node_labels_to_integers(graph.to_undirected())
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    if graph.number_of_edges() == 0:
        graph.add_edge(0, 1)
    lines = [f"{graph.number_of_nodes()} {graph.number_of_edges()}"]
    lines += [" ".join(str(other + 1) for other in graph[node]) for node in sorted(graph.nodes)]
    with open(case.path("g.graph"), "w") as file:
        file.write(draw.one("", "% a comment\n") + "\n".join(lines) + "\n")
    case.add("--edges", "g.graph")
    both = draw.chance(0.2)
    if both:
        case.is_unusual("METIS's graph with --undirected")
        case.add("--undirected")
    case.nodes[NODE] = Nodes(range(graph.number_of_nodes()))
    directed(case, [(source, target) for source in graph for target in graph[source]])


def konect(case):
    draw = case.draw
    keys = range(1, draw.randint(3, 9))
    pairs = [(draw.choice(keys), draw.choice(keys)) for _ in range(draw.randint(1, 9))]
    kind = draw.one("sym", "asym", "bip")
    case.is_unusual("KONECT " + kind)
    with open(case.path("out.graph"), "w") as file:
        file.write(f"% {kind} unweighted\n% {len(pairs)} {max(keys)} {max(keys)}\n")
        file.writelines(f"{source} {target}\n" for source, target in pairs)
    case.add("--edges", "out.graph")
    if kind == "bip":
        case.add("--node-ids", "string")
        case.nodes = {"never": Nodes([])}
        case.edges = {"this file needs two node types": []}
        return
    case.nodes[NODE] = numbered(pairs)
    undirected(case, pairs) if kind == "sym" else directed(case, pairs)


def snap(case):
    draw = case.draw
    pairs = [(draw.randrange(9), draw.randrange(9)) for _ in range(draw.randint(1, 9))]
    is_directed = draw.chance(0.5)
    if not is_directed:
        case.is_unusual("undirected graph of SNAP")
    with open(case.path("snap.txt"), "w") as file:
        file.write(f"# {'Directed' if is_directed else 'Undirected'} graph (each unordered pair of nodes is saved once): snap.txt \n")
        file.write(f"# Nodes: 9 Edges: {len(pairs)}\n# FromNodeId\tToNodeId\n")
        file.writelines(f"{source}\t{target}\n" for source, target in pairs)
    case.add("--edges", "snap.txt")
    case.nodes[NODE] = numbered(pairs)
    directed(case, pairs, is_ordered=True) if is_directed else undirected(case, pairs)


def neo4j(case):
    """Relationships of neo4j-admin: the kind of a relation stands between the ends, or after them."""
    draw = case.draw
    case.is_unusual("neo4j's relationships")
    keys = ["keanu", "carrie", "laurence"]
    pairs = [(draw.choice(keys), draw.choice(keys)) for _ in range(draw.randint(1, 9))]
    space = draw.one("", "(Person)")
    names = [f":START_ID{space}", ":END_ID" + space, ":TYPE"]
    order = draw.one([0, 1, 2], [0, 2, 1], [2, 1, 0])
    with open(case.path("acted.csv"), "w") as file:
        file.write(",".join(names[at] for at in order) + "\n")
        file.writelines(",".join([*pair, "KNOWS"][at] for at in order) + "\n" for pair in pairs)
    case.add("--edges", "acted.csv", "--node-ids", "string")
    if draw.chance(0.5):
        case.add("--header")
    case.nodes[NODE] = Nodes(dict.fromkeys(end for pair in pairs for end in pair))
    case.edges[EDGE] = [Edges(pairs)]
    case.may_refuse("a column of types")
