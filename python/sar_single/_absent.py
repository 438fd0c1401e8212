"""Names of SAR's that need nothing here, and why."""

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

REASONS = {
    "Config": "no option of SAR's is needed: messages are files, of any size",
    "DistributedBN1D": "torch.nn.BatchNorm1d takes the statistics of all ranks in a worker",
    "DistributedBlock": "rank.graph is a graph of one block",
    "PartitionDataManager": "a worker's tensors are saved while it waits; its features, labels and masks are rank.ndata[...]",
    "PointerTensor": "every tensor of a worker is saved while it waits and is restored when it continues: leave the line out",
    "comm_device": "tensors of workers are on the CPU",
    "initialize_comms": _CONNECTED,
    "logging_setup": "rank.log reports values, and sar_single.run(out=...) keeps them",
    "message_has_parameters": "message functions may use parameters as they are",
    "nfs_ip_init": _CONNECTED,
}
