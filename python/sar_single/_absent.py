"""Names from SAR that have no function here, and why."""

from __future__ import annotations

_CONNECTED = "sar_single.run starts the ranks and connects them: leave the line out"

#: Why collectives take no hooks.
SAVED = "every collective saves the worker's memory and takes it back, so it needs no hooks: leave the argument out"

#: Attributes of SAR's GraphShardManager.
OF_GRAPHS = {
    "linked_list": "tensors need no lists: leave the line out",
    "pause_process": SAVED,
    "pointer_list": "tensors need no lists: leave the line out",
    "resume_process": SAVED,
}

#: Names of dgl.distributed.
OF_DIST = {
    **dict.fromkeys(("DistGraphServer", "KVServer", "connect_to_server", "shutdown_servers", "start_server"), "servers are files: leave the line out"),
    **dict.fromkeys(("load_partition", "load_partition_book", "load_partition_feats"), "DistGraph(name, part_config) opens the partitions, and sar_single.run one per worker"),
    "partition_graph": "sar_single.partition writes partitions; partitions from DGL's partition_graph are read unchanged",
}

REASONS = {
    "Config": "no option of SAR's is needed: messages are files, of any size",
    "DistributedBN1D": "torch.nn.BatchNorm1d takes the statistics of all ranks in a worker",
    "DistributedBlock": "rank.graph is a graph of one block",
    "PartitionDataManager": "a worker's tensors are saved while it waits; its features, labels and masks are rank.ndata[...]",
    "PointerTensor": "every tensor of a worker is saved while it waits and is restored when it continues: leave the line out",
    "comm": "use rank.all_reduce, rank.all_gather and so on, or torch.distributed, between ranks",
    "comm_device": "tensors of workers are on the CPU",
    "core": "its classes are here: sar_single.GraphShardManager, DistNeighborSampler, DataLoader",
    "initialize_comms": _CONNECTED,
    "logging_setup": "rank.log reports values, and sar_single.run(out=...) keeps them",
    "message_has_parameters": "message functions may use parameters as they are",
    "nfs_ip_init": _CONNECTED,
}
