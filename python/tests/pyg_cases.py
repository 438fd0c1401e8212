"""Every convolution, aggregation, norm and model of ``torch_geometric.nn`` on one graph, and how each is called."""

from __future__ import annotations

import inspect

import torch
from torch import nn as tnn
from torch_geometric.data import Data as Graph
from torch_geometric.utils import to_dense_adj

WIDTH, OUT = 6, 4


def mlp(width=WIDTH, out=OUT):
    return tnn.Sequential(tnn.Linear(width, 8), tnn.ELU(), tnn.Linear(8, out))


def plain(m, d):
    return m(d.x, d.edge_index)


def weighted(m, d):
    return m(d.x, d.edge_index, d.w)


def attributed(m, d):
    return m(d.x, d.edge_index, edge_attr=d.attr)


def typed(m, d):
    return m(d.x, d.edge_index, d.kind)


def initial(m, d):
    return m(d.x, d.start, d.edge_index)


def positioned(m, d):
    return m(d.x, d.pos, d.edge_index)


def only_nodes(m, d):
    return m(d.x)


# Edge types of the one node type that there is.
TYPES = [("_N", "to", "_N"), ("_N", "first", "_N")]


def by_type(m, d):
    return m({"_N": d.x}, {TYPES[0]: d.edge_index, TYPES[1]: d.edge_index[:, d.kind == 0]})


def dense(m, d):
    return m(d.x[None], to_dense_adj(d.edge_index).double())


def summed(values, d):
    """Sums of a value per edge over the in-edges of nodes."""
    return d.x.new_zeros(len(d.x)).index_add(0, d.edge_index[1], values)


class OfEnds(tnn.Module):
    """A model of edges and one of nodes, as MetaLayer calls them."""

    def forward(self, *args):
        if len(args) == 5 and not args[0].dtype.is_floating_point:
            raise TypeError("MetaLayer passes features first")
        return self.of_edges(*args) if args[1].dim() == 2 and args[1].is_floating_point() else self.of_nodes(*args)

    def of_edges(self, source, destination, attr, u, batch):
        return (source - destination)[:, :3] * attr

    def of_nodes(self, x, edge_index, attr, u, batch):
        return x + x.new_zeros(len(x), 3).index_add(0, edge_index[1], attr * x[edge_index[0]][:, :3]).repeat(1, 2)


def with_aggregation(aggr, **kwargs):
    return lambda g: g.SAGEConv(WIDTH, OUT, aggr=aggr, **kwargs)


# Name: how it is made from torch_geometric.nn, how it is called. Several lines of a class are its ways of computing.
CONVOLUTIONS = {
    "SimpleConv": (lambda g: g.SimpleConv(), plain),
    "SimpleConv(mean, self-loop)": (lambda g: g.SimpleConv(aggr="mean", combine_root="self_loop"), plain),
    "GCNConv": (lambda g: g.GCNConv(WIDTH, OUT), plain),
    "GCNConv with weights": (lambda g: g.GCNConv(WIDTH, OUT), weighted),
    "GCNConv(add_self_loops=False)": (lambda g: g.GCNConv(WIDTH, OUT, add_self_loops=False), plain),
    "ChebConv": (lambda g: g.ChebConv(WIDTH, OUT, K=3), plain),
    "SAGEConv": (lambda g: g.SAGEConv(WIDTH, OUT), plain),
    "SAGEConv(max)": (with_aggregation("max"), plain),
    "SAGEConv(project, normalize)": (with_aggregation("mean", project=True, normalize=True), plain),
    "GraphConv": (lambda g: g.GraphConv(WIDTH, OUT), weighted),
    "GravNetConv": (lambda g: g.GravNetConv(WIDTH, OUT, 3, 4, k=2), only_nodes),
    "GatedGraphConv": (lambda g: g.GatedGraphConv(WIDTH, 2), plain),
    "ResGatedGraphConv": (lambda g: g.ResGatedGraphConv(WIDTH, OUT), plain),
    "ResGatedGraphConv with edge features": (lambda g: g.ResGatedGraphConv(WIDTH, OUT, edge_dim=3), attributed),
    "GATConv": (lambda g: g.GATConv(WIDTH, OUT, heads=2), plain),
    "GATConv with edge features": (lambda g: g.GATConv(WIDTH, OUT, heads=2, edge_dim=3, fill_value="mean"), attributed),
    "GATConv(add_self_loops=False)": (lambda g: g.GATConv(WIDTH, OUT, heads=2, add_self_loops=False, concat=False), plain),
    "GATConv(residual)": (lambda g: g.GATConv(WIDTH, OUT, heads=2, residual=True, bias=False), plain),
    "FusedGATConv": (lambda g: g.FusedGATConv(WIDTH, OUT, add_self_loops=False), plain),
    "GATv2Conv": (lambda g: g.GATv2Conv(WIDTH, OUT, heads=2), plain),
    "GATv2Conv with edge features": (lambda g: g.GATv2Conv(WIDTH, OUT, heads=2, edge_dim=3, fill_value=0.5), attributed),
    "GATv2Conv(share_weights, add_self_loops=False)": (
        lambda g: g.GATv2Conv(WIDTH, OUT, heads=2, share_weights=True, add_self_loops=False),
        plain,
    ),
    "TransformerConv": (lambda g: g.TransformerConv(WIDTH, OUT, heads=2), plain),
    "TransformerConv with edge features": (lambda g: g.TransformerConv(WIDTH, OUT, heads=2, edge_dim=3, beta=True), attributed),
    "AGNNConv": (lambda g: g.AGNNConv(), plain),
    "TAGConv": (lambda g: g.TAGConv(WIDTH, OUT, K=2), weighted),
    "GINConv": (lambda g: g.GINConv(mlp(), train_eps=True), plain),
    "GINConv with batch norm": (lambda g: g.GINConv(tnn.Sequential(tnn.Linear(WIDTH, OUT), tnn.BatchNorm1d(OUT))), plain),
    "GINEConv": (lambda g: g.GINEConv(mlp(), edge_dim=3), attributed),
    "ARMAConv": (lambda g: g.ARMAConv(WIDTH, OUT, num_stacks=2, num_layers=2), plain),
    "SGConv": (lambda g: g.SGConv(WIDTH, OUT, K=2), plain),
    "SSGConv": (lambda g: g.SSGConv(WIDTH, OUT, alpha=0.1, K=2), plain),
    "APPNP": (lambda g: g.APPNP(K=3, alpha=0.1), plain),
    "MFConv": (lambda g: g.MFConv(WIDTH, OUT), plain),
    "RGCNConv": (lambda g: g.RGCNConv(WIDTH, OUT, 3, num_bases=2), typed),
    "RGCNConv(num_blocks)": (lambda g: g.RGCNConv(WIDTH, OUT, 3, num_blocks=2), typed),
    "FastRGCNConv": (lambda g: g.FastRGCNConv(WIDTH, OUT, 3), typed),
    "CuGraphRGCNConv": None,
    "RGATConv": (lambda g: g.RGATConv(WIDTH, OUT, 3), typed),
    "SignedConv": (lambda g: g.SignedConv(WIDTH, OUT, first_aggr=True), lambda m, d: m(d.x, d.edge_index, d.edge_index[:, d.kind == 0])),
    "DNAConv": (lambda g: g.DNAConv(4, heads=2), lambda m, d: m(d.x[:, :4].unsqueeze(1).repeat(1, 2, 1), d.edge_index)),
    "PointNetConv": (lambda g: g.PointNetConv(mlp(WIDTH + 3), add_self_loops=True), positioned),
    "GMMConv": (lambda g: g.GMMConv(WIDTH, OUT, dim=3, kernel_size=2), attributed),
    "GMMConv(separate_gaussians)": (lambda g: g.GMMConv(WIDTH, OUT, dim=3, kernel_size=2, separate_gaussians=True), attributed),
    "SplineConv": (lambda g: g.SplineConv(WIDTH, OUT, dim=3, kernel_size=3), attributed),
    "NNConv": (lambda g: g.NNConv(WIDTH, OUT, tnn.Linear(3, WIDTH * OUT)), attributed),
    "CGConv": (lambda g: g.CGConv(WIDTH, dim=3), attributed),
    "EdgeConv": (lambda g: g.EdgeConv(mlp(2 * WIDTH)), plain),
    "EdgeConv with batch norm": (
        lambda g: g.EdgeConv(tnn.Sequential(tnn.Linear(2 * WIDTH, OUT), tnn.BatchNorm1d(OUT), tnn.ELU())),
        plain,
    ),
    "DynamicEdgeConv": (lambda g: g.DynamicEdgeConv(mlp(2 * WIDTH), k=2), only_nodes),
    "XConv": (lambda g: g.XConv(WIDTH, OUT, dim=3, kernel_size=2), lambda m, d: m(d.x, d.pos)),
    "PPFConv": (lambda g: g.PPFConv(mlp(WIDTH + 4), add_self_loops=False), lambda m, d: m(d.x, d.pos, d.normal, d.edge_index)),
    "FeaStConv": (lambda g: g.FeaStConv(WIDTH, OUT, heads=2), plain),
    "PointTransformerConv": (lambda g: g.PointTransformerConv(WIDTH, OUT), positioned),
    "HypergraphConv": (lambda g: g.HypergraphConv(WIDTH, OUT), plain),
    "LEConv": (lambda g: g.LEConv(WIDTH, OUT), plain),
    "PNAConv": (
        lambda g: g.PNAConv(WIDTH, OUT, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], torch.tensor([3, 5, 9, 4])),
        plain,
    ),
    "ClusterGCNConv": (lambda g: g.ClusterGCNConv(WIDTH, OUT, diag_lambda=0.1), plain),
    "GENConv": (lambda g: g.GENConv(WIDTH, OUT, edge_dim=3, learn_t=True, norm="layer"), attributed),
    "GENConv(powermean, batch norm)": (lambda g: g.GENConv(WIDTH, OUT, aggr="powermean", learn_p=True), plain),
    "GCN2Conv": (lambda g: g.GCN2Conv(WIDTH, alpha=0.1, theta=0.5, layer=1), initial),
    "PANConv": (lambda g: g.PANConv(WIDTH, OUT, filter_size=2), plain),
    "WLConv": (lambda g: g.WLConv(), lambda m, d: m((d.x[:, 0] > 0).long(), d.edge_index)),
    "WLConvContinuous": (lambda g: g.WLConvContinuous(), plain),
    "FiLMConv": (lambda g: g.FiLMConv(WIDTH, OUT), plain),
    "SuperGATConv in training": (lambda g: g.SuperGATConv(WIDTH, OUT, heads=2), plain),
    "SuperGATConv in evaluation": (lambda g: g.SuperGATConv(WIDTH, OUT, heads=2).eval(), plain),
    "FAConv": (lambda g: g.FAConv(WIDTH), initial),
    "EGConv": (lambda g: g.EGConv(WIDTH, OUT, aggregators=["sum", "max", "std"], num_heads=2, num_bases=2), plain),
    "PDNConv": (lambda g: g.PDNConv(WIDTH, OUT, edge_dim=3, hidden_channels=4), attributed),
    "GeneralConv": (lambda g: g.GeneralConv(WIDTH, OUT, in_edge_channels=3, attention=True, heads=2), attributed),
    "HGTConv": (lambda g: g.HGTConv(WIDTH, OUT, (["_N"], TYPES), heads=2), by_type),
    "HEATConv": (
        lambda g: g.HEATConv(WIDTH, OUT, 2, 3, 2, 3, 2),
        lambda m, d: m(d.x, d.edge_index, (d.x[:, 0] > 0).long(), d.kind, d.attr),
    ),
    "HeteroConv": (lambda g: g.HeteroConv({TYPES[0]: g.SAGEConv(WIDTH, OUT), TYPES[1]: g.GATConv(WIDTH, OUT, add_self_loops=False)}), by_type),
    "HANConv": (lambda g: g.HANConv(WIDTH, OUT, (["_N"], TYPES), heads=2), by_type),
    "LGConv": (lambda g: g.LGConv(), plain),
    "PointGNNConv": (lambda g: g.PointGNNConv(mlp(WIDTH, 3), mlp(WIDTH + 3, OUT), mlp(OUT, WIDTH)), positioned),
    "GPSConv": (lambda g: g.GPSConv(WIDTH, g.GCNConv(WIDTH, WIDTH), heads=2), plain),
    "AntiSymmetricConv": (lambda g: g.AntiSymmetricConv(WIDTH), plain),
    "DirGNNConv": (lambda g: g.DirGNNConv(g.SAGEConv(WIDTH, OUT)), plain),
    "MixHopConv": (lambda g: g.MixHopConv(WIDTH, OUT, powers=[0, 1, 2]), plain),
    "MeshCNNConv": None,
    "GCNConv(flow=target_to_source)": (lambda g: g.GCNConv(WIDTH, OUT, flow="target_to_source"), plain),
    "GCNConv with message hooks": (lambda g: hooked(g.GCNConv(WIDTH, OUT)), plain),
    "GCNConv(decomposed_layers=2)": (lambda g: g.GCNConv(WIDTH, OUT, decomposed_layers=2), plain),
}


def hooked(module):
    module.register_message_forward_hook(lambda module, inputs, output: output * 2)
    return module


def aggregations(g):
    """Arguments of SimpleConv, by the name of the aggregation."""
    a = g.aggr
    names = {
        "SumAggregation": "sum",
        "MeanAggregation": "mean",
        "MaxAggregation": "max",
        "MinAggregation": "min",
        "MulAggregation": "mul",
        "VarAggregation": "var",
        "StdAggregation": "std",
        "SoftmaxAggregation": "softmax",
        "PowerMeanAggregation": "powermean",
        "MedianAggregation": "median",
    }
    made = {name: aggr for name, aggr in names.items()}
    made.update(
        {
            "SoftmaxAggregation(learn)": a.SoftmaxAggregation(learn=True, channels=WIDTH),
            "QuantileAggregation": a.QuantileAggregation([0.3, 0.8]),
            "LSTMAggregation": a.LSTMAggregation(WIDTH, WIDTH),
            "GRUAggregation": a.GRUAggregation(WIDTH, WIDTH),
            "Set2Set": a.Set2Set(WIDTH, 2),
            "DegreeScalerAggregation": a.DegreeScalerAggregation(["mean", "max"], ["identity", "linear"], torch.tensor([2, 4, 6])),
            "SortAggregation": a.SortAggregation(k=3),
            "AttentionalAggregation": a.AttentionalAggregation(tnn.Linear(WIDTH, 1)),
            "MLPAggregation": a.MLPAggregation(WIDTH, WIDTH, max_num_elements=40, num_layers=1),
            "DeepSetsAggregation": a.DeepSetsAggregation(tnn.Linear(WIDTH, WIDTH), tnn.Linear(WIDTH, WIDTH)),
            "SetTransformerAggregation": a.SetTransformerAggregation(WIDTH, heads=2),
            "GraphMultisetTransformer": a.GraphMultisetTransformer(WIDTH, k=2, heads=2),
            "EquilibriumAggregation": a.EquilibriumAggregation(WIDTH, WIDTH, [8], grad_iter=2),
            "MultiAggregation": a.MultiAggregation(["mean", "max", "std"]),
            "LCMAggregation": a.LCMAggregation(WIDTH, WIDTH),
            "VariancePreservingAggregation": getattr(a, "VariancePreservingAggregation", lambda: "sum")(),
            "PatchTransformerAggregation": a.PatchTransformerAggregation(WIDTH, WIDTH, patch_size=2, hidden_channels=4, num_transformer_blocks=1)
            if hasattr(a, "PatchTransformerAggregation")
            else None,
        }
    )
    return {name: aggr for name, aggr in made.items() if aggr is not None}


NORMS = {
    "BatchNorm": (lambda g: g.BatchNorm(WIDTH), only_nodes),
    "BatchNorm(allow_single_element)": (lambda g: g.BatchNorm(WIDTH, allow_single_element=True), only_nodes),
    "HeteroBatchNorm": (lambda g: g.HeteroBatchNorm(WIDTH, 2), lambda m, d: m(d.x, (d.x[:, 0] > 0).long())),
    "InstanceNorm": (lambda g: g.InstanceNorm(WIDTH, affine=True, track_running_stats=True), only_nodes),
    "InstanceNorm of graphs": (lambda g: g.InstanceNorm(WIDTH), lambda m, d: m(d.x, d.batch)),
    "LayerNorm": (lambda g: g.LayerNorm(WIDTH), only_nodes),
    "LayerNorm of graphs": (lambda g: g.LayerNorm(WIDTH), lambda m, d: m(d.x, d.batch)),
    "LayerNorm(mode=node)": (lambda g: g.LayerNorm(WIDTH, mode="node"), only_nodes),
    "HeteroLayerNorm": (lambda g: g.HeteroLayerNorm(WIDTH, 2), lambda m, d: m(d.x, (d.x[:, 0] > 0).long())),
    "GraphNorm": (lambda g: g.GraphNorm(WIDTH), only_nodes),
    "GraphNorm of graphs": (lambda g: g.GraphNorm(WIDTH), lambda m, d: m(d.x, d.batch)),
    "GraphSizeNorm": (lambda g: g.GraphSizeNorm(), only_nodes),
    "PairNorm": (lambda g: g.PairNorm(), only_nodes),
    "PairNorm(scale_individually)": (lambda g: g.PairNorm(scale_individually=True), lambda m, d: m(d.x, d.batch)),
    "MeanSubtractionNorm": (lambda g: g.MeanSubtractionNorm(), only_nodes),
    "MessageNorm": (lambda g: g.MessageNorm(learn_scale=True), lambda m, d: m(d.x, d.start)),
    "DiffGroupNorm": (lambda g: g.DiffGroupNorm(WIDTH, 2), only_nodes),
}

POOLING = {
    "global_add_pool": lambda g: lambda d: g.global_add_pool(d.x, None),
    "global_mean_pool": lambda g: lambda d: g.global_mean_pool(d.x, d.batch),
    "global_max_pool": lambda g: lambda d: g.global_max_pool(d.x, d.batch),
    "SumAggregation": lambda g: lambda d: g.aggr.SumAggregation()(d.x),
    "MeanAggregation": lambda g: lambda d: g.aggr.MeanAggregation()(d.x, d.batch),
    "MinAggregation": lambda g: lambda d: g.aggr.MinAggregation()(d.x, d.batch),
    "AttentionalAggregation": lambda g: lambda d: g.aggr.AttentionalAggregation(tnn.Linear(WIDTH, 1).double())(d.x, d.batch),
    "MultiAggregation": lambda g: lambda d: g.aggr.MultiAggregation(["mean", "max"])(d.x, d.batch),
    "Set2Set": lambda g: lambda d: g.aggr.Set2Set(WIDTH, 2).double()(d.x, d.batch),
    "SoftmaxAggregation": lambda g: lambda d: g.aggr.SoftmaxAggregation()(d.x, d.batch),
    "SortAggregation": lambda g: lambda d: g.aggr.SortAggregation(2)(d.x),
    "StdAggregation": lambda g: lambda d: g.aggr.StdAggregation()(d.x, d.batch),
    "max_pool": lambda g: lambda d: g.max_pool(d.batch, Graph(x=d.x, edge_index=d.edge_index)).x,
    "max_pool_x": lambda g: lambda d: g.max_pool_x(d.batch, d.x, d.batch)[0],
    "avg_pool": lambda g: lambda d: g.avg_pool(d.batch, Graph(x=d.x, edge_index=d.edge_index)).x,
    "avg_pool_x": lambda g: lambda d: g.avg_pool_x(d.batch, d.x, d.batch)[0],
    "graclus": lambda g: lambda d: g.graclus(d.edge_index),
    "voxel_grid": lambda g: lambda d: g.voxel_grid(d.pos, 0.5),
    "fps": lambda g: lambda d: g.fps(d.pos),
    "knn": lambda g: lambda d: g.knn(d.pos, d.pos, 2),
    "knn_graph": lambda g: lambda d: g.knn_graph(d.pos, 2),
    "radius": lambda g: lambda d: g.radius(d.pos, d.pos, 0.2),
    "radius_graph": lambda g: lambda d: g.radius_graph(d.pos, 0.2),
    "nearest": lambda g: lambda d: g.nearest(d.pos, d.pos),
    "knn_interpolate": lambda g: lambda d: g.knn_interpolate(d.x, d.pos, d.pos),
}

class Layer(tnn.Module):
    """A layer that takes nothing but features and edges."""

    def __init__(self, g):
        super().__init__()
        self.conv = g.SAGEConv(WIDTH, OUT)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


class Both(tnn.Module):
    """An encoder that gives means and logarithms of deviations."""

    def __init__(self, g):
        super().__init__()
        self.mu, self.logstd = g.GCNConv(WIDTH, 8), g.GCNConv(WIDTH, 8)

    def forward(self, x, edge_index):
        return self.mu(x, edge_index), self.logstd(x, edge_index)


KNOWLEDGE = ("TransE", "ComplEx", "DistMult", "RotatE")

MODELS = {
    "GCN": (lambda g: g.GCN(WIDTH, 8, 2, OUT, dropout=0.0, norm="batch"), plain),
    "GCN(norm=graph)": (lambda g: g.GCN(WIDTH, 8, 2, OUT, norm="graph", jk="max"), weighted),
    "GraphSAGE": (lambda g: g.GraphSAGE(WIDTH, 8, 2, OUT, jk="cat"), plain),
    "GIN": (lambda g: g.GIN(WIDTH, 8, 2, OUT, jk="lstm"), plain),
    "GAT": (lambda g: g.GAT(WIDTH, 8, 2, OUT, heads=2), plain),
    "GAT(v2)": (lambda g: g.GAT(WIDTH, 8, 2, OUT, v2=True, edge_dim=3), attributed),
    "PNA": (lambda g: g.PNA(WIDTH, 8, 2, OUT, aggregators=["mean", "max"], scalers=["identity"], deg=torch.tensor([1, 3, 5])), plain),
    "to_hetero": (lambda g: g.to_hetero(g.GraphSAGE(WIDTH, 8, 2, OUT), (["_N"], TYPES)), by_type),
    "EdgeCNN": (lambda g: g.EdgeCNN(WIDTH, 8, 2, OUT), plain),
    "MLP": (lambda g: g.MLP([WIDTH, 8, OUT]), only_nodes),
    "LINKX": (lambda g: g.LINKX(60, WIDTH, 8, OUT, 1), plain),
    "RECT_L": (lambda g: g.RECT_L(WIDTH, 8), plain),
    "DeepGCNLayer": (
        lambda g: g.DeepGCNLayer(g.GENConv(WIDTH, WIDTH, norm="layer"), g.LayerNorm(WIDTH), tnn.ReLU(), block="res+"),
        plain,
    ),
    "GraphUNet": (lambda g: g.GraphUNet(WIDTH, 8, OUT, depth=1), plain),
    "LabelPropagation": (lambda g: g.LabelPropagation(2, 0.5), lambda m, d: m(d.x[:, :3].softmax(1), d.edge_index)),
    "CorrectAndSmooth": (
        lambda g: g.CorrectAndSmooth(2, 0.5, 2, 0.5),
        lambda m, d: m.smooth(d.x.softmax(1), (d.x[:, 0] > 0).long(), d.x[:, 1] > 0, d.edge_index),
    ),
    "AttentiveFP": (lambda g: g.AttentiveFP(WIDTH, 8, OUT, 3, 2, 1), lambda m, d: m(d.x, d.edge_index, d.attr, d.batch)),
    "LightGCN": (lambda g: g.LightGCN(60, 8, 2), lambda m, d: m.get_embedding(d.edge_index)),
    "PMLP": (lambda g: g.PMLP(WIDTH, 8, OUT, 2).eval(), plain),
    # It gives the memory of its input and of its output back.
    "GroupAddRev": (lambda g: g.GroupAddRev(g.SAGEConv(WIDTH // 2, WIDTH // 2), num_groups=2), lambda m, d: m(d.x * 1, d.edge_index) * 1),
    "DeepGraphInfomax": (
        lambda g: g.DeepGraphInfomax(8, g.GCN(WIDTH, 8, 1), lambda z, *_: z.mean(0), lambda x, e: (x.flip(0), e)),
        lambda m, d: m(d.x, d.edge_index)[0],
    ),
    "GAE": (lambda g: g.GAE(g.GCN(WIDTH, 8, 1)), lambda m, d: m.encode(d.x, d.edge_index)),
    "GAE.recon_loss": (lambda g: g.GAE(g.GCN(WIDTH, 8, 1)), lambda m, d: m.recon_loss(m.encode(d.x, d.edge_index), d.edge_index)),
    "SignedGCN": (lambda g: g.SignedGCN(WIDTH, 8, 1), lambda m, d: m(d.x, d.edge_index, d.edge_index[:, d.kind == 0])),
    "SGFormer": (lambda g: g.SGFormer(WIDTH, 8, OUT, trans_dropout=0.0, gnn_dropout=0.0), lambda m, d: m(d.x, d.edge_index, d.batch)),
    "Polynormer": (lambda g: g.Polynormer(WIDTH, 8, OUT), lambda m, d: m(d.x, d.edge_index, d.batch)),
    "MaskLabel": (lambda g: g.MaskLabel(3, WIDTH), lambda m, d: m(d.x, (d.x[:, 0] > 0).long(), d.x[:, 1] > 0)),
    "JumpingKnowledge": (lambda g: g.JumpingKnowledge("lstm", WIDTH, 2), lambda m, d: m([d.x, d.start])),
    "HeteroJumpingKnowledge": (lambda g: g.HeteroJumpingKnowledge(["_N"], "max"), lambda m, d: m({"_N": [d.x, d.start]})),
    "MetaLayer": (lambda g: g.MetaLayer(OfEnds(), OfEnds()), lambda m, d: m(d.x, d.edge_index, d.attr)[0]),
    "Node2Vec": (lambda g: Called(lambda d: g.Node2Vec(d.edge_index, 8, 2, 2)()), lambda m, d: m(d)),
    "MetaPath2Vec": (lambda g: Called(lambda d: g.MetaPath2Vec({TYPES[0]: d.edge_index}, 8, [TYPES[0]], 2, 2)("_N")), lambda m, d: m(d)),
    "InnerProductDecoder": (lambda g: g.InnerProductDecoder(), lambda m, d: summed(m(d.x, d.edge_index), d)),
    "InnerProductDecoder.forward_all": (lambda g: g.InnerProductDecoder(), lambda m, d: m.forward_all(d.x)),
    "VGAE": (lambda g: g.VGAE(Both(g)).eval(), lambda m, d: m.encode(d.x, d.edge_index)),
    "VGAE.kl_loss": (lambda g: g.VGAE(Both(g)).eval(), lambda m, d: m.kl_loss(m.encode(d.x, d.edge_index)).view(1)),
    "ARGA": (lambda g: g.ARGA(g.GCN(WIDTH, 8, 1), g.MLP([8, 1])), lambda m, d: m.encode(d.x, d.edge_index)),
    "ARGA.reg_loss": (lambda g: g.ARGA(g.GCN(WIDTH, 8, 1), g.MLP([8, 1])), lambda m, d: m.reg_loss(m.encode(d.x, d.edge_index)).view(1)),
    "ARGVA": (lambda g: g.ARGVA(Both(g), g.MLP([8, 1])).eval(), lambda m, d: m.encode(d.x, d.edge_index)),
    "SchNet": (lambda g: g.SchNet(8, 8, 1, 4), lambda m, d: m((d.x[:, 0] > 0).long(), d.pos, d.batch)),
    "DimeNet": (lambda g: g.DimeNet(8, 4, 1, 4, 2, 2), lambda m, d: m((d.x[:, 0] > 0).long(), d.pos, d.batch)),
    "DimeNetPlusPlus": (lambda g: g.DimeNetPlusPlus(8, 4, 1, 4, 4, 4, 2, 2), lambda m, d: m((d.x[:, 0] > 0).long(), d.pos, d.batch)),
    "ViSNet": (lambda g: g.ViSNet(hidden_channels=8, num_heads=2, num_layers=1, num_rbf=4), lambda m, d: m((d.x[:, 0] > 0).long(), d.pos, d.batch)),
    "GNNFF": (lambda g: g.GNNFF(8, 8, 1), lambda m, d: m((d.x[:, 0] > 0).long(), d.pos, d.batch)),
    "LPFormer": (lambda g: g.LPFormer(WIDTH, 8), lambda m, d: m(d.edge_index, d.x, d.edge_index, None)),
    "ARLinkPredictor": (lambda g: g.ARLinkPredictor(WIDTH, 8), lambda m, d: summed(m(d.x, d.edge_index), d)),
    "Sequential": (lambda g: g.Sequential("x, edge_index", [(g.GCNConv(WIDTH, 8), "x, edge_index -> x"), tnn.ReLU(), g.Linear(8, OUT)]), plain),
    "to_hetero_with_bases": (lambda g: g.to_hetero_with_bases(Layer(g), (["_N"], TYPES), 2, {"x": WIDTH}), by_type),
    "Linear": (lambda g: g.Linear(WIDTH, OUT), only_nodes),
    "HeteroLinear": (lambda g: g.HeteroLinear(WIDTH, OUT, 2), lambda m, d: m(d.x, (d.x[:, 0] > 0).long())),
    "HeteroDictLinear": (lambda g: g.HeteroDictLinear(WIDTH, OUT, ["_N"]), lambda m, d: m({"_N": d.x})),
    "PositionalEncoding": (lambda g: g.PositionalEncoding(WIDTH), lambda m, d: m(d.x[:, 0])),
    "TemporalEncoding": (lambda g: g.TemporalEncoding(WIDTH), lambda m, d: m(d.x[:, 0])),
    "DenseGCNConv": (lambda g: g.DenseGCNConv(WIDTH, OUT), dense),
    "DenseGINConv": (lambda g: g.DenseGINConv(mlp()), dense),
    "DenseGraphConv": (lambda g: g.DenseGraphConv(WIDTH, OUT), dense),
    "DenseSAGEConv": (lambda g: g.DenseSAGEConv(WIDTH, OUT), dense),
    "DenseGATConv": (lambda g: g.DenseGATConv(WIDTH, OUT), dense),
    "dense_diff_pool": (lambda g: Called(lambda d: g.dense_diff_pool(d.x[None], to_dense_adj(d.edge_index).double(), d.x[None])[0]), lambda m, d: m(d)),
    "dense_mincut_pool": (lambda g: Called(lambda d: g.dense_mincut_pool(d.x[None], to_dense_adj(d.edge_index).double(), d.x[None])[0]), lambda m, d: m(d)),
    "DMoNPooling": (lambda g: g.DMoNPooling([WIDTH, 8], 2), lambda m, d: dense(m, d)[1]),
    "max_pool_neighbor_x": (lambda g: Called(lambda d: g.max_pool_neighbor_x(Graph(x=d.x, edge_index=d.edge_index)).x), lambda m, d: m(d)),
    "avg_pool_neighbor_x": (lambda g: Called(lambda d: g.avg_pool_neighbor_x(Graph(x=d.x, edge_index=d.edge_index)).x), lambda m, d: m(d)),
    "MemPooling": (lambda g: g.MemPooling(WIDTH, OUT, 2, 3), lambda m, d: m(d.x, d.batch)[0]),
    **{name: (lambda g, name=name: getattr(g, name)(60, 3, 8), lambda m, d: m(d.edge_index[0], d.kind, d.edge_index[1])) for name in KNOWLEDGE},
    "TopKPooling": (lambda g: g.TopKPooling(WIDTH), lambda m, d: m(d.x, d.edge_index)[0]),
    "SAGPooling": (lambda g: g.SAGPooling(WIDTH), lambda m, d: m(d.x, d.edge_index)[0]),
    "EdgePooling": (lambda g: g.EdgePooling(WIDTH), lambda m, d: m(d.x, d.edge_index, d.batch)[0]),
    "ASAPooling": (lambda g: g.ASAPooling(WIDTH), lambda m, d: m(d.x, d.edge_index)[0]),
    "PANPooling": (lambda g: g.PANPooling(WIDTH), lambda m, d: m(d.x, d.edge_index)[0]),
    "ClusterPooling": (lambda g: g.ClusterPooling(WIDTH), lambda m, d: m(d.x, d.edge_index, d.batch)[0]),
}


# Why there is no case of a name.
WITHOUT = {
    **dict.fromkeys("CuGraphSAGEConv CuGraphGATConv CuGraphRGCNConv".split(), "it runs on graphics processors only"),
    **dict.fromkeys(
        "KNNIndex L2KNNIndex MIPSKNNIndex ApproxL2KNNIndex ApproxMIPSKNNIndex approx_knn approx_knn_graph".split(),
        "it looks for neighbours among the vectors that it is given: do it before `sar.partition`",
    ),
    **dict.fromkeys("MessagePassing Aggregation KGEModel".split(), "a base class: your own modules run as [Coming from PyG](from-pyg.md) says"),
    **dict.fromkeys("to_captum_model to_captum_input captum_output_to_dicts".split(), "it explains predictions: do it in one process"),
    **dict.fromkeys("summary to_fixed_size Reshape".split(), "it does not see the graph"),
    "MeshCNNConv": "its nodes are the edges of a mesh, each with four neighbours in an order",
    "RENet": "it learns from triples of a table in the order of time, not from a graph",
    "TGNMemory": "it keeps messages of a stream of events in each process: samples of `rank.loader` have no order of time",
    **dict.fromkeys("GPSE GPSENodeEncoder".split(), "it encodes batches of small graphs before training: do it before `sar.partition`"),
    "NeuralFingerprint": "it returns a row per graph, with weights by the number of neighbours: use `MFConv` and `global_add_pool`",
    "DataParallel": "ranks are in parallel already",
}


def public_names(nn):
    """The names that ``torch_geometric.nn`` offers, also in its parts."""
    parts = [vars(nn)[name] for name in "conv aggr norm pool unpool models dense kge".split() if name in vars(nn)]
    return sorted({name for part in (nn, *parts) for name in getattr(part, "__all__", ())})


def cases(g):
    """All cases: (section, name) to (how a module is made, how it is called)."""
    found = {}
    for section, listed in (("Convolutions", CONVOLUTIONS), ("Norms", NORMS), ("Models", MODELS)):
        found.update({(section, name): case for name, case in listed.items() if case is not None})
    for name in aggregations(g):
        found["Aggregations", name] = (lambda g, name=name: g.SimpleConv(aggr=aggregations(g)[name]), plain)
    for name, case in POOLING.items():
        found["Pooling", name] = (lambda g, case=case: Called(case(g)), lambda m, d: m(d))
    return found


class Called(tnn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, d):
        return self.function(d)


def made(g, make):
    """The module in float64, with the same parameters everywhere."""
    torch.manual_seed(7)
    module = make(g).double()
    torch.manual_seed(11)
    return module


def tensors(output):
    """The tensors of an output."""
    if isinstance(output, torch.Tensor):
        return [output]
    parts = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else []
    return [tensor for part in parts for tensor in tensors(part)]


def result(module, call, data, share=1.0):
    """Outputs, and gradients of ``x`` and of all parameters; ``share`` is how much of the loss is this process's."""
    data.x = data.x.detach().clone().requires_grad_()
    outputs = [output.double() for output in tensors(call(module, data))]
    loss = sum(((output * torch.linspace(-1, 1, output[:1].numel()).double().view(output.shape[1:])).sin()).sum() for output in outputs)
    if loss.requires_grad:
        (loss * share).backward()
    gx = data.x.grad if data.x.grad is not None else torch.zeros_like(data.x)
    return {"outputs": [output.detach() for output in outputs], "gx": gx}


def signature(module, name):
    """Whether a module's function takes an argument."""
    return name in inspect.signature(module.forward).parameters
