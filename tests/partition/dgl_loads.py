"""Partitions graphs with `sar-single partition` and loads what it wrote with DGL.

    python tests/partition/dgl_loads.py target/release/sar-single

Needs dgl 2.1 with PyTorch, and numpy. For each of a dozen small graphs: `dgl.distributed.load_partition` loads every
partition, the union of inner edges is the input graph (after --undirected, --self-loops, --dedup), every table row is on
its node or edge, and what is halo in one partition is inner in another. Prints a line per graph; exits with 1 at the
first difference.
"""

import gzip
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("DGLBACKEND", "pytorch")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import dgl  # noqa: E402
from dgl.distributed import load_partition  # noqa: E402

BINARY = os.path.abspath(sys.argv[1])
HOMO = ("_N", "_E", "_N")


def run(folder, *arguments):
    command = [BINARY, "partition", "--memory", "1GiB", "--out", os.path.join(folder, "parts"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout.strip()


class Graph:
    """Edges by type as arrays (2, E), numbers of nodes, tables of nodes and edges."""

    def __init__(self, nodes, edges, node_data=None, edge_data=None):
        self.nodes, self.edges = nodes, edges
        self.node_data, self.edge_data = node_data or {}, edge_data or {}


def check(json, parts, graph):
    """The union of all partitions is `graph`."""
    ntypes, etypes = sorted(graph.nodes), sorted(graph.edges)
    first = np.cumsum([0] + [graph.nodes[ntype] for ntype in ntypes])
    found_edges = {etype: [] for etype in etypes}
    found_ids = {etype: [] for etype in etypes}
    originals, owners = {}, {}
    seen = {ntype: np.zeros(graph.nodes[ntype], bool) for ntype in ntypes}
    loaded = [load_partition(json, part) for part in range(parts)]
    book = loaded[0][3]
    assert sorted(book.ntypes) == ntypes and sorted(book.canonical_etypes) == etypes
    folder = os.path.dirname(json)
    homogeneous = np.zeros(first[-1], np.int64)  # new homogeneous id -> original homogeneous id
    for part in range(parts):
        nids = dgl.data.load_tensors(os.path.join(folder, f"part{part}/orig_nids.dgl"))
        for at, ntype in enumerate(ntypes):
            original = nids[ntype].numpy()
            typewise = book.partid2nids(part, ntype).numpy()
            assert len(original) == len(typewise)
            new = book.map_to_homo_nid(torch.from_numpy(typewise), ntype).numpy()
            homogeneous[new] = first[at] + original
            assert not seen[ntype][original].any()
            seen[ntype][original] = True
    assert all(mask.all() for mask in seen.values())
    assert sorted(homogeneous) == list(range(first[-1]))
    inner_by_eid = {}
    halo_edges = []
    for part, (local, node_feats, edge_feats, _, name, _, _) in enumerate(loaded):
        assert name == "g"
        nid, inner = local.ndata[dgl.NID].numpy(), local.ndata["inner_node"].bool().numpy()
        count = inner.sum()
        assert inner[:count].all() and np.array_equal(nid[:count], np.sort(nid[:count]))
        if "part_id" in local.ndata:
            assert np.array_equal(local.ndata["part_id"].numpy(), book.nid2partid(torch.from_numpy(nid)).numpy())
        assert (book.nid2partid(torch.from_numpy(nid[:count])) == part).all()
        assert (book.nid2partid(torch.from_numpy(nid[count:])) != part).all()
        src, dst = (end.numpy() for end in local.edges(order="eid"))
        eid, inner_edge = local.edata[dgl.EID].numpy(), local.edata["inner_edge"].bool().numpy()
        edges = inner_edge.sum()
        assert inner_edge[:edges].all() and np.array_equal(eid[:edges], np.sort(eid[:edges]))
        assert np.array_equal(eid[edges:], np.sort(eid[edges:]))
        assert inner[dst[:edges]].all() and inner[src[edges:]].all() and not inner[dst[edges:]].any()
        used = np.zeros(len(nid), bool)
        used[src], used[dst] = True, True
        assert used[count:].all(), "a halo node without an edge"
        for e, s, d in zip(eid[:edges], nid[src[:edges]], nid[dst[:edges]]):
            inner_by_eid[e] = (s, d)
        halo_edges += list(zip(eid[edges:], nid[src[edges:]], nid[dst[edges:]]))
        kind, typewise = book.map_to_per_etype(torch.from_numpy(eid[:edges]))
        if "_TYPE" in local.edata:
            assert np.array_equal(local.edata["_TYPE"].numpy()[:edges], kind.numpy())
        eids = dgl.data.load_tensors(os.path.join(folder, f"part{part}/orig_eids.dgl"))
        for at, etype in enumerate(book.canonical_etypes):
            mask = kind.numpy() == at
            ends = [homogeneous[nid[end[:edges][mask]]] for end in (src, dst)]
            ends = [end - first[ntypes.index(ntype)] for end, ntype in zip(ends, (etype[0], etype[2]))]
            assert all((0 <= end).all() for end in ends)
            found_edges[etype].append(np.stack(ends))
            original = eids[":".join(etype)].numpy()
            assert len(original) == mask.sum()
            found_ids[etype].append(original)
            for name in graph.edge_data.get(etype, {}):
                rows = edge_feats[f"{':'.join(etype)}/{name}"]
                assert len(rows) == mask.sum()
                originals.setdefault((etype, name), []).append(rows)
        for ntype in ntypes:
            nids = dgl.data.load_tensors(os.path.join(folder, f"part{part}/orig_nids.dgl"))[ntype]
            for name, table in graph.node_data.get(ntype, {}).items():
                rows = node_feats[f"{ntype}/{name}"]
                expected = torch.from_numpy(table)[nids]
                expected = expected.to(torch.uint8) if expected.dtype == torch.bool else expected
                assert rows.dtype == expected.dtype and torch.equal(rows, expected), (ntype, name)
    for e, s, d in halo_edges:
        assert inner_by_eid[e] == (s, d)
    # Every cut edge is a halo edge of its source's partition.
    owner = lambda node: book.nid2partid(torch.tensor([node])).item()  # noqa: E731
    cut = {e for e, (s, d) in inner_by_eid.items() if owner(s) != owner(d)}
    assert cut == {e for e, _, _ in halo_edges} and len(cut) == len(halo_edges)
    for etype in etypes:
        ends = np.concatenate(found_edges[etype], axis=1)
        ids = np.concatenate(found_ids[etype])
        expected, expected_ids, rows = graph.edges[etype]
        assert ends.shape == expected.shape, (etype, ends.shape, expected.shape)
        order, due = np.lexsort((ids, *ends)), np.lexsort((expected_ids, *expected))
        assert np.array_equal(ends[:, order], expected[:, due]), etype
        assert np.array_equal(ids[order], expected_ids[due]), etype
        for name, table in graph.edge_data.get(etype, {}).items():
            found = torch.cat(originals[etype, name]).numpy()[order]
            values = np.where((rows[due] >= 0).reshape(-1, *[1] * (table.ndim - 1)), table[rows[due]], 1)
            assert found.dtype == table.dtype and np.array_equal(found, values.astype(table.dtype)), name
    return len(cut)


def ruled(edges, nodes, undirected=False, self_loops="keep", dedup=False):
    """The edges that partition is to write: ends, original ids, and rows of edge data (-1: none)."""
    count = edges.shape[1]
    ids = rows = np.arange(count)
    keep = np.ones(count, bool) if self_loops == "keep" else edges[0] != edges[1]
    ends, ids, rows = edges[:, keep], ids[keep], rows[keep]
    if undirected:
        back = ends[0] != ends[1]
        ends = np.concatenate([ends, ends[::-1, back]], axis=1)
        ids, rows = np.concatenate([ids, count + ids[back]]), np.concatenate([rows, rows[back]])
    if self_loops == "add":
        loops = np.arange(nodes)
        ends = np.concatenate([ends, np.stack([loops, loops])], axis=1)
        ids = np.concatenate([ids, (2 if undirected else 1) * count + loops])
        rows = np.concatenate([rows, np.full(nodes, -1)])
    if dedup:
        order = np.lexsort((ids, *ends))
        ends, ids, rows = ends[:, order], ids[order], rows[order]
        fresh = np.ones(len(ids), bool)
        fresh[1:] = (ends[:, 1:] != ends[:, :-1]).any(axis=0)
        ends, ids, rows = ends[:, fresh], ids[fresh], rows[fresh]
    return ends, ids, rows


def random_edges(rng, nodes, edges):
    return rng.integers(0, nodes, (2, edges))


def tables(rng, rows):
    return {
        "feat": rng.standard_normal((rows, 5), dtype=np.float32),
        "half": rng.standard_normal((rows, 2, 3)).astype(np.float16),
        "label": rng.integers(0, 4, rows),
        "small": rng.integers(-9, 9, (rows, 1)).astype(np.int8),
        "train_mask": rng.random(rows) < 0.5,
        "empty": np.zeros((rows, 0), np.float32),
    }


CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def homogeneous(folder, rng):
    edges, data = random_edges(rng, 300, 2000), tables(rng, 300)
    np.save(f"{folder}/e.npy", edges)
    flags = []
    for name, table in data.items():
        np.save(f"{folder}/{name}.npy", table)
        flags += ["--node-data", f"{name}={name}.npy"]
    json = run(folder, "--edges", "e.npy", *flags, "--num-parts", "4")
    return check(json, 4, Graph({"_N": 300}, {HOMO: ruled(edges, 300)}, {"_N": data}))


@case
def one_partition_of_pairs(folder, rng):
    edges = random_edges(rng, 50, 200)
    np.save(f"{folder}/e.npy", np.ascontiguousarray(edges.T.astype(np.int32)))
    json = run(folder, "--edges", "e.npy", "--num-parts", "1", "--num-nodes", "50")
    return check(json, 1, Graph({"_N": 50}, {HOMO: ruled(edges, 50)}))


@case
def fortran_order_and_archives(folder, rng):
    edges = random_edges(rng, 80, 500)
    weights = rng.random(500)
    np.savez_compressed(f"{folder}/e.npz", edge_index=np.asfortranarray(edges.astype(np.uint16)), w=weights)
    json = run(folder, "--edges", "e.npz", "--edge-data", "w=e.npz", "--num-parts", "3", "--num-nodes", "80",
               "--method", "random")
    return check(json, 3, Graph({"_N": 80}, {HOMO: ruled(edges, 80)}, {}, {HOMO: {"w": weights}}))


@case
def undirected_weighted_text(folder, rng):
    edges = random_edges(rng, 120, 600)
    edges[1, :20] = edges[0, :20]
    weights = rng.random(600).astype(np.float32)
    with gzip.open(f"{folder}/e.csv.gz", "wt") as file:
        file.write("# made by hand\nsource,target,w\n")
        file.writelines(f"{s},{d},{w!r}\n" for s, d, w in zip(*edges.tolist(), weights.astype(float).tolist()))
    json = run(folder, "--edges", "e.csv.gz", "--edge-columns", "w", "--undirected", "--self-loops", "add",
               "--num-parts", "4", "--num-nodes", "120", "--method", "metis")
    expected = ruled(edges, 120, undirected=True, self_loops="add")
    cut = check(json, 4, Graph({"_N": 120}, {HOMO: expected}, {}, {HOMO: {"w": weights}}))
    # What DGL makes of the same graph.
    graph = dgl.graph(tuple(torch.from_numpy(edges)), num_nodes=120)
    graph = dgl.add_self_loop(dgl.add_reverse_edges(dgl.remove_self_loop(graph)))
    ours = sorted(zip(*expected[0].tolist()))
    assert ours == sorted(zip(*(end.tolist() for end in graph.edges())))
    return cut


@case
def duplicates_stay(folder, rng):
    edges = random_edges(rng, 20, 900)
    np.save(f"{folder}/e.npy", edges)
    json = run(folder, "--edges", "e.npy", "--num-parts", "3", "--num-nodes", "20")
    return check(json, 3, Graph({"_N": 20}, {HOMO: ruled(edges, 20)}))


@case
def duplicates_go(folder, rng):
    edges = random_edges(rng, 20, 900)
    values = rng.integers(0, 100, (900, 2))
    np.save(f"{folder}/e.npy", edges)
    np.save(f"{folder}/x.npy", values)
    json = run(folder, "--edges", "e.npy", "--edge-data", "x=x.npy", "--dedup", "--undirected", "--num-parts", "3",
               "--num-nodes", "20", "--self-loops", "remove")
    expected = ruled(edges, 20, undirected=True, self_loops="remove", dedup=True)
    return check(json, 3, Graph({"_N": 20}, {HOMO: expected}, {}, {HOMO: {"x": values}}))


@case
def isolated_nodes(folder, rng):
    edges = random_edges(rng, 40, 60)
    data = {"feat": rng.standard_normal((400, 3), dtype=np.float32)}
    np.save(f"{folder}/feat.npy", data["feat"])
    with open(f"{folder}/e.txt", "w") as file:
        file.writelines(f"{s} {d}\r\n" for s, d in zip(*edges.tolist()))
    json = run(folder, "--edges", "e.txt", "--node-data", "feat=feat.npy", "--num-parts", "4")
    return check(json, 4, Graph({"_N": 400}, {HOMO: ruled(edges, 400)}, {"_N": data}))


@case
def several_files_and_a_given_assignment(folder, rng):
    edges = random_edges(rng, 60, 300)
    data = {"feat": rng.standard_normal((60, 3), dtype=np.float32), "label": rng.integers(0, 3, 60)}
    np.save(f"{folder}/a.npy", edges[:, :100])
    np.savetxt(f"{folder}/b.tsv", edges[:, 100:].T, fmt="%d", delimiter="\t")
    np.save(f"{folder}/feat.npy", data["feat"])
    np.savetxt(f"{folder}/label.csv", data["label"], fmt="%d")
    parts = rng.integers(0, 3, 60)
    np.savetxt(f"{folder}/graph.part.3", parts, fmt="%d")
    json = run(folder, "--edges", "a.npy", "--edges", "b.tsv", "--node-data", "feat=feat.npy",
               "--node-data", "label=label.csv", "--method", "file", "--assignment", "graph.part.3", "--num-parts", "3")
    for part in range(3):
        nids = dgl.data.load_tensors(f"{os.path.dirname(json)}/part{part}/orig_nids.dgl")["_N"].numpy()
        assert np.array_equal(nids, np.flatnonzero(parts == part))
    return check(json, 3, Graph({"_N": 60}, {HOMO: ruled(edges, 60)}, {"_N": data}))


@case
def splits(folder, rng):
    edges = random_edges(rng, 60, 300)
    np.save(f"{folder}/e.npy", edges)
    order = rng.permutation(60)
    np.save(f"{folder}/train.npy", order[:30])
    np.savetxt(f"{folder}/valid.csv", order[30:40], fmt="%d")
    json = run(folder, "--edges", "e.npy", "--split", "train=train.npy", "--split", "valid=valid.csv", "--num-parts",
               "2", "--method", "range", "--num-nodes", "60")
    masks = {"train_mask": np.zeros(60, np.uint8), "val_mask": np.zeros(60, np.uint8)}
    masks["train_mask"][order[:30]] = 1
    masks["val_mask"][order[30:40]] = 1
    return check(json, 2, Graph({"_N": 60}, {HOMO: ruled(edges, 60)}, {"_N": masks}))


@case
def string_ids(folder, rng):
    edges = random_edges(rng, 50, 300)
    names = [f"city {at}, north" if at % 2 else f'the "{at}"' for at in range(50)]
    quote = lambda name: '"' + name.replace('"', '""') + '"'  # noqa: E731
    with open(f"{folder}/e.csv", "w") as file:
        file.write("from,to\n")
        file.writelines(f"{quote(names[s])},{quote(names[d])}\n" for s, d in zip(*edges.tolist()))
    json = run(folder, "--edges", "e.csv", "--node-ids", "string", "--header", "--num-parts", "3")
    saved = open(f"{os.path.dirname(json)}/node_names/_N.txt", encoding="utf-8").read().splitlines()
    firsts = list(dict.fromkeys(names[end] for pair in edges.T.tolist() for end in pair))
    assert saved == firsts
    number = {name: at for at, name in enumerate(saved)}
    mapped = np.array([[number[names[end]] for end in row] for row in edges.tolist()])
    return check(json, 3, Graph({"_N": len(saved)}, {HOMO: ruled(mapped, len(saved))}))


@case
def heterogeneous(folder, rng):
    nodes = {"author": 70, "paper": 130, "venue": 9}
    types = [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "rev_writes", "author"),
             ("paper", "in", "venue"), ("venue", "in", "paper")]
    edges = {}
    flags = []
    for at, etype in enumerate(types):
        ends = np.stack([rng.integers(0, nodes[etype[0]], 400), rng.integers(0, nodes[etype[2]], 400)])
        np.save(f"{folder}/{at}.npy", ends)
        flags += ["--edges", f"{':'.join(etype)}={at}.npy"]
        edges[etype] = ruled(ends, 0)
    node_data = {"paper": tables(rng, 130), "author": {"feat": rng.standard_normal((70, 5), dtype=np.float32)}}
    for ntype, data in node_data.items():
        for name, table in data.items():
            np.save(f"{folder}/{ntype}_{name}.npy", table)
            flags += ["--node-data", f"{ntype}/{name}={ntype}_{name}.npy"]
    weights = {types[1]: {"w": rng.random((400, 3), dtype=np.float32)}, types[4]: {"w": rng.integers(0, 9, 400)}}
    for etype, data in weights.items():
        np.save(f"{folder}/{'-'.join(etype)}.npy", data["w"])
        flags += ["--edge-data", f"{':'.join(etype)}/w={'-'.join(etype)}.npy"]
    json = run(folder, *flags, "--num-nodes", "venue=9", "--num-parts", "3")
    return check(json, 3, Graph(nodes, edges, node_data, weights))


@case
def heterogeneous_with_empty_cells(folder, rng):
    nodes = {"a": 6, "b": 2}
    ends = {("a", "r", "a"): np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), ("b", "s", "a"): np.array([[0, 1, 1], [0, 5, 4]])}
    flags = []
    for at, (etype, table) in enumerate(ends.items()):
        np.save(f"{folder}/{at}.npy", table)
        flags += ["--edges", f"{':'.join(etype)}={at}.npy"]
    for ntype, parts in {"a": "0\n0\n1\n1\n2\n2\n", "b": "0\n0\n"}.items():
        open(f"{folder}/{ntype}.txt", "w").write(parts)
        flags += ["--assignment", f"{ntype}={ntype}.txt"]
    json = run(folder, *flags, "--num-parts", "3", "--num-nodes", "a=6", "--num-nodes", "b=2", "--method", "file")
    return check(json, 3, Graph(nodes, {etype: ruled(table, 0) for etype, table in ends.items()}))


if __name__ == "__main__":
    for number, function in enumerate(CASES):
        with tempfile.TemporaryDirectory() as folder:
            cut = function(folder, np.random.default_rng(number))
        print(f"{function.__name__.replace('_', ' ')}: as it should be, {cut} edges cut", flush=True)
