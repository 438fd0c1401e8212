"""The commands as functions. They need the program: in the package or on PATH."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sar_single as sar
from sar_single._program import flags, program

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def installed():
    try:
        program()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def ring(nodes):
    source = np.arange(nodes)
    return np.concatenate([source, source]), np.concatenate([(source + 1) % nodes, (source - 1) % nodes])


def arrays(nodes):
    generator = np.random.default_rng(0)
    return {
        "feat": generator.standard_normal((nodes, 8)).astype("float32"),
        "label": torch.arange(nodes) % 3,
        "train_mask": np.arange(nodes) % 2 == 0,
    }


def test_from_arrays_to_predictions_in_original_ids(tmp_path):
    nodes = 60
    source, destination = ring(nodes)
    np.save(tmp_path / "source.npy", source)
    mapped = np.load(tmp_path / "source.npy", mmap_mode="r")
    edge_index = mapped, torch.from_numpy(destination)
    parts = sar.partition(tmp_path / "parts", edge_index=edge_index, node_data=arrays(nodes), num_parts=2)
    assert "nodes       60" in sar.inspect(parts)
    run = sar.train(parts, out=tmp_path / "run", hidden=8, epochs=3, spill_dir=tmp_path / "spill")
    assert [line["epoch"] for line in run.metrics] == [1, 2, 3]
    assert all(isinstance(value, torch.Tensor) for value in run.state_dict().values())
    assert run.predict().shape == (nodes,)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_run_shows_itself_and_its_page(tmp_path):
    parts = sar.partition(tmp_path / "parts", edge_index=ring(60), node_data=arrays(60), num_parts=1)
    run = sar.train(parts, out=tmp_path / "run", hidden=8, epochs=2, memory_budget="1GiB")
    shown = run._repr_html_()
    assert shown.count("<svg") == 3 and "budget 1024" in shown and "train_acc" in shown
    assert "</html>" in run.report().html and "<iframe" in run.report()._repr_html_()
    assert sar.Run(tmp_path / "missing")._repr_html_() is None


def test_graphs_are_prepared_where_there_is_no_libtorch(tmp_path):
    lines = ["import sys", "from sar_single import _program", "_program.libraries = lambda: None", "_program.main()"]
    generate = ["generate", "--nodes", "60", "--edges", "240", "--num-parts", "2", "--out", "graph"]

    def run(*words):
        command = [sys.executable, "-c", "\n".join(lines), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert run(*generate).stdout == "graph/g.json\n"
    again = run(*generate)
    assert again.returncode == 1 and "already holds graph g" in again.stderr
    refused = run("--part-json", "graph/g.json")
    assert refused.returncode == 1 and "python -m sar_single libtorch" in refused.stderr


def test_a_scipy_matrix_is_a_graph(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    source, destination = ring(20)
    matrix = sparse.csr_matrix((np.ones(len(source), "float32"), (source, destination)), shape=(20, 20))
    parts = sar.partition(tmp_path / "parts", matrix, num_parts=2)

    def worker(rank):
        return rank.graph.num_nodes(), rank.edata["weight"].sum().item()

    ranks = sar.run(worker, parts, memory_budget="min", spill_dir=tmp_path / "spill")
    assert sum(nodes for nodes, _ in ranks) == 20 and sum(weight for _, weight in ranks) == len(source)


def test_a_dgl_graph_keeps_its_data(tmp_path):
    dgl = pytest.importorskip("dgl")
    source, destination = ring(20)
    graph = dgl.graph((torch.from_numpy(source), torch.from_numpy(destination)))
    graph.ndata["feat"] = torch.arange(40.0).reshape(20, 2)
    parts = sar.partition(tmp_path / "parts", graph, num_parts=2)

    def worker(rank):
        return rank.orig_ids, rank.ndata["feat"]

    for ids, feat in sar.run(worker, parts, memory_budget="min", spill_dir=tmp_path / "spill"):
        assert torch.equal(feat, graph.ndata["feat"][ids])


def test_ids_that_partitions_lack_are_given_to_predictions(tmp_path):
    nodes, spill = 60, tmp_path / "spill"
    edges = torch.from_numpy(np.stack(ring(nodes)))
    parts = sar.partition(tmp_path / "parts", edge_index=edges, node_data=arrays(nodes), num_parts=2)
    run = sar.train(parts, out=tmp_path / "run", hidden=8, epochs=1, spill_dir=spill)
    original = run.predict(output="logits")
    ids = torch.cat(sar.run(lambda rank: rank.orig_ids, parts, memory_budget="min", spill_dir=spill))
    # As `partition_graph` of DGL leaves the partitions.
    for file in tmp_path.glob("parts/part*/orig_nids.dgl"):
        file.unlink()
    assert np.array_equal(run.predict(output="logits"), original[ids])
    assert not np.array_equal(original, original[ids])
    torch.save(ids, tmp_path / "ids.pt")
    for given in [ids, ids.numpy(), ids.tolist(), tmp_path / "ids.pt", str(tmp_path / "ids.pt"), {"_N": ids}]:
        assert np.array_equal(run.predict(output="logits", orig_ids=given), original), type(given)
    with pytest.raises(ValueError, match=r"has shape \[59\], but the graph has 60 nodes of type _N"):
        run.predict(orig_ids=ids[1:])
    with pytest.raises(ValueError, match="unknown node type"):
        run.predict(orig_ids={"paper": ids})

    def refusal(rank):
        try:
            return rank.orig_ids
        except ValueError as error:
            return str(error)

    for said in sar.run(refusal, parts, memory_budget="min", spill_dir=spill):
        assert said.startswith("no file holds the original ids of nodes of type _N\nhint: ")
        assert "partition_graph(return_mapping=True)" in said and "rank.first_node" in said


def test_errors_of_the_program_are_exceptions(tmp_path):
    with pytest.raises(ValueError, match="nowhere.json"):
        sar.train(tmp_path / "nowhere.json", out=tmp_path / "run")


def test_names_of_other_libraries_lead_to_those_of_this_one(tmp_path):
    with pytest.raises(ValueError, match="tip: use --lr RATE"):
        sar.train(tmp_path / "g.json", learning_rate=0.1)
    with pytest.raises(TypeError, match="sar.run trains modules of PyTorch"):
        sar.train(tmp_path / "g.json", model=torch.nn.Linear(1, 1))


def test_keyword_arguments_are_flags():
    assert flags({"memory_budget": "3GiB", "undirected": True, "dedup": False, "out": None, "split": ["a", "b"]}) == [
        "--memory-budget",
        "3GiB",
        "--undirected",
        "--split",
        "a",
        "--split",
        "b",
    ]
