"""Test accuracy of the programs in examples/python beside DGL's own: the same graph, model, batches and epochs, and several seeds.

    python benches/ports_against_dgl.py [SEEDS]

Needs torch and DGL, and sar_single. DGL trains in one process on batches of twice the size: two ranks average (or add) the gradients of one each,
and Adam takes no notice of the difference.
"""

import importlib.util
import pathlib
import sys
import tempfile

import dgl
import dgl.nn as dglnn
import torch
import torch.nn.functional as F

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))

import communities  # noqa: E402
import sar_single as sar  # noqa: E402

#: Per program: fan-outs (None for the whole graph), epochs, batch size of two ranks, the mask of the accuracy, whether that is of samples.
PORTS = {
    "from_sar": (None, 30, None, "test_mask", False),
    "sampling_then_full_inference": ([15, 10, 5], 12, 128, "test_mask", False),
    "from_dgl_distributed": ([10, 25], 10, 128, "test_mask", False),
    "from_ddp": ([4, 4], 10, 128, "val_mask", True),
}


def graph():
    """The graph of the examples, as DGL has it."""
    given = {}
    sar.partition, kept = lambda folder, **arguments: given.update(arguments), sar.partition
    communities.partition("")
    sar.partition = kept
    source, target = given["edge_index"]
    g = dgl.graph((source, target), num_nodes=communities.NODES)
    g.ndata.update({name: torch.from_numpy(values) for name, values in given["node_data"].items()})
    return g


def theirs(g, fanouts, epochs, batch_size, mask, on_samples, seed):
    """The accuracy of DGL's modules."""
    torch.manual_seed(seed)
    dgl.seed(seed)
    widths = [communities.FEATURES, *[32] * (len(fanouts or [0, 0]) - 1), communities.CLASSES]
    convs = torch.nn.ModuleList([dglnn.SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:])])
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.01)

    def model(blocks, x):
        for i, (conv, block) in enumerate(zip(convs, blocks)):
            x = conv(block, x)
            x = F.relu(x) if i < len(convs) - 1 else x
        return x

    x, y = g.ndata["features"], g.ndata["labels"]
    train, asked = (torch.nonzero(g.ndata[name]).flatten() for name in ("train_mask", mask))

    def loader(seeds):
        sampler = dgl.dataloading.NeighborSampler(fanouts)
        return dgl.dataloading.DataLoader(g, seeds, sampler, batch_size=batch_size, shuffle=True)

    for _ in range(epochs):
        batches = [(g.nodes(), train, [g] * len(convs))]
        if fanouts:
            batches = loader(train)
        for inputs, outputs, blocks in batches:
            logits = model(blocks, x[inputs])
            loss = F.cross_entropy(logits if fanouts else logits[outputs], y[outputs])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        if on_samples:
            right = [model(blocks, x[inputs]).argmax(1) == y[outputs] for inputs, outputs, blocks in loader(asked)]
            return float(torch.cat(right).float().mean())
        return float((model([g] * len(convs), x).argmax(1) == y)[asked].float().mean())


def ours(name, seed, part_json):
    """The accuracy of an example."""
    source = (EXAMPLES / f"{name}.py").read_text().replace("manual_seed(0)", f"manual_seed({seed})")
    path = pathlib.Path(part_json).parent / f"{name}_{seed}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    result = sar.run(module.train if name == "from_ddp" else module.run, part_json, args=(part_json,))[0]
    return {"from_sar": lambda: result[1][1], "sampling_then_full_inference": lambda: result[0][-1]}.get(name, lambda: result[0])()


def main():
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    g = graph()
    print("| program | DGL | here |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        part_json = communities.partition(f"{folder}/parts")
        for name, settings in PORTS.items():
            rows = [[theirs(g, *settings, seed) for seed in seeds], [ours(name, seed, part_json) for seed in seeds]]
            cells = [f"{100 * sum(row) / len(row):.1f} % ({100 * min(row):.1f} to {100 * max(row):.1f})" for row in rows]
            print(f"| `{name}.py` | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
