//! The full graph, spread over the ranks.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::graph::{Graph, Transfer};
use crate::comm::{Collective, Hooks, Outbox, ProcessGroup, Recipient, complete, exchange_tensors};
use crate::error::{Error, Result};
use crate::graph::GraphShard;
use crate::kernels::gather_rows;
use crate::spill::{PartitionDataManager, Pinned, Pointer, PointerTensor};
use crate::tensor::{self, with_real};

/// Bytes gathered before they are written to an outbox.
const CHUNK: usize = 4 << 20;

/// The partitioned graph as one rank sees it: SAR's class of the same name. Layers use it like any other [`Graph`].
pub struct GraphShardManager {
    manager: Rc<PartitionDataManager>,
    group: Rc<dyn ProcessGroup>,
    num_nodes: usize,
    first_node: u64,
    shards: Vec<Pointer<GraphShard>>,
    /// By rank: own rows that it has edges from, ascending.
    requested: Vec<Pointer<Vec<u32>>>,
    in_degrees: PointerTensor,
    out_degrees: PointerTensor,
}

impl GraphShardManager {
    /// Makes the graph of the shards in `manager.partition_data`; one collective.
    ///
    /// `sources[q]` are the rows of rank q that the columns of shard q stand for. `first_node` is the global id of this
    /// rank's first node.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        group: &Rc<dyn ProcessGroup>,
        first_node: u64,
        sources: Vec<Vec<u32>>,
    ) -> Result<Self> {
        let shards = manager.partition_data.get().cloned().unwrap_or_default();
        if shards.len() != group.world_size() || sources.len() != shards.len() {
            let problem = format!("{} shards for {} ranks", shards.len(), group.world_size());
            return Err(Error::Internal(problem));
        }
        let num_nodes = shards[group.rank()].pin()?.by_dst.num_rows();
        let mut requests = Vec::new();
        let mut in_degrees = vec![0_i64; num_nodes];
        for (shard, sources) in shards.iter().zip(sources) {
            let shard = shard.pin()?;
            for (i, &row) in shard.by_dst.rows().iter().enumerate() {
                in_degrees[row as usize] += shard.by_dst.columns(i).len() as i64;
            }
            requests.push(request(&shard, &sources)?);
        }
        let mut out_degrees = vec![0_i64; num_nodes];
        let mut requested = Vec::new();
        for (rank, request) in exchange_tensors(&**group, requests, &**manager)?.iter().enumerate()
        {
            let rows = asked_rows(rank, request, num_nodes, &mut out_degrees)?;
            requested.push(manager.track("requested-rows", rows));
        }
        let track = |values: &[i64]| -> Result<PointerTensor> {
            Ok(manager.track("degrees", Tensor::f_from_slice(values)?))
        };
        Ok(GraphShardManager {
            manager: manager.clone(),
            group: group.clone(),
            num_nodes,
            first_node,
            shards,
            requested,
            in_degrees: track(&in_degrees)?,
            out_degrees: track(&out_degrees)?,
        })
    }

    /// Spills everything this rank keeps and gives its turn up: SAR's `precall_func` during training.
    pub fn pause_process(&self) -> Result<()> {
        self.manager.precall_func()
    }

    /// Takes the next turn: SAR's `callback_func` during training. Tensors come back when they are used.
    pub fn resume_process(&self) -> Result<()> {
        self.manager.callback_func()
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.group.rank();
        (0..self.group.world_size()).filter(move |q| *q != rank)
    }

    fn post(&self, mut fill: impl FnMut(usize, &mut dyn Outbox) -> Result<()>) -> Result<Transfer> {
        if self.group.world_size() == 1 {
            return Ok(Transfer::Nothing);
        }
        let mut outbox = self.group.outbox()?;
        for rank in self.others() {
            outbox.begin(Recipient::Rank(rank));
            fill(rank, &mut *outbox)?;
        }
        Ok(Transfer::Posted(outbox.post()?))
    }

    /// Reads `rows` rows from rank `from`.
    fn receive(
        &self,
        collective: &Collective,
        from: usize,
        rows: usize,
        (width, kind): (usize, Kind),
    ) -> Result<Tensor> {
        let mut inbox = self.group.inbox(collective, from)?;
        let mut value = tensor::empty(&[rows as i64, width as i64], kind)?;
        let bytes = tensor::bytes_mut(&mut value);
        if inbox.remaining() != bytes.len() as u64 {
            return Err(Error::Internal(format!(
                "rank {from} sent {} bytes where {} were expected",
                inbox.remaining(),
                bytes.len()
            )));
        }
        inbox.read(bytes)?;
        Ok(value)
    }
}

/// What this rank asks of a shard's owner: `int64 [2, columns]`, the rows it needs and how many edges each has here.
fn request(shard: &GraphShard, sources: &[u32]) -> Result<Tensor> {
    let columns = shard.by_src.num_rows();
    let mut degree = vec![0_i64; columns];
    for (i, &row) in shard.by_src.rows().iter().enumerate() {
        degree[row as usize] = shard.by_src.columns(i).len() as i64;
    }
    // The own shard's columns are the rows themselves.
    let mut values: Vec<i64> = match sources {
        [] => (0..columns as i64).collect(),
        _ => sources.iter().map(|s| i64::from(*s)).collect(),
    };
    values.append(&mut degree);
    Ok(Tensor::f_from_slice(&values)?.f_view([2, columns as i64])?)
}

/// The rows that `rank` asks for; counts its edges.
fn asked_rows(
    rank: usize,
    request: &Tensor,
    num_nodes: usize,
    degrees: &mut [i64],
) -> Result<Vec<u32>> {
    let values = tensor::slice::<i64>(request);
    let (rows, counts) = values.split_at(values.len() / 2);
    for (row, count) in rows.iter().zip(counts) {
        let degree = usize::try_from(*row).ok().and_then(|row| degrees.get_mut(row));
        let degree = degree.ok_or_else(|| {
            Error::Internal(format!("rank {rank} asks for row {row} of {num_nodes}"))
        })?;
        *degree += count;
    }
    Ok(rows.iter().map(|row| *row as u32).collect())
}

impl Graph for GraphShardManager {
    fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    fn first_node(&self) -> u64 {
        self.first_node
    }

    fn in_degrees(&self) -> &PointerTensor {
        &self.in_degrees
    }

    fn out_degrees(&self) -> &PointerTensor {
        &self.out_degrees
    }

    fn local_shard(&self) -> Result<Pinned<GraphShard>> {
        self.shards[self.group.rank()].pin()
    }

    fn pull(&self, x: &Tensor) -> Result<Transfer> {
        let width = x.size()[1] as usize;
        with_real!(x.kind(), T => {
            let x = tensor::slice::<T>(x);
            let rows_at_once = (CHUNK / size_of::<T>() / width.max(1)).max(1);
            let mut buffer = vec![T::default(); rows_at_once * width];
            self.post(|rank, outbox| {
                for rows in self.requested[rank].pin()?.chunks(rows_at_once) {
                    let part = &mut buffer[..rows.len() * width];
                    gather_rows(x, width, rows, part);
                    outbox.write(bytemuck::cast_slice(part))?;
                }
                Ok(())
            })
        })
    }

    fn push(&self, make: &mut dyn FnMut(&GraphShard) -> Result<Tensor>) -> Result<Transfer> {
        self.post(|rank, outbox| {
            let rows = make(&*self.shards[rank].pin()?)?;
            outbox.write(tensor::bytes(&rows))
        })
    }

    fn complete(&self, transfer: Transfer) -> Result<Option<Collective>> {
        match transfer {
            Transfer::Nothing => Ok(None),
            Transfer::Posted(posted) => complete(&*self.group, posted, self).map(Some),
        }
    }

    fn pulled(
        &self,
        collective: Option<&Collective>,
        layout: (usize, Kind),
        visit: &mut dyn FnMut(&GraphShard, &Tensor) -> Result<()>,
    ) -> Result<()> {
        let Some(collective) = collective else { return Ok(()) };
        for rank in self.others() {
            let shard = self.shards[rank].pin()?;
            let rows = self.receive(collective, rank, shard.by_dst.num_cols(), layout)?;
            visit(&shard, &rows)?;
        }
        Ok(())
    }

    fn pushed(
        &self,
        collective: Option<&Collective>,
        layout: (usize, Kind),
        visit: &mut dyn FnMut(&[u32], &Tensor) -> Result<()>,
    ) -> Result<()> {
        let Some(collective) = collective else { return Ok(()) };
        for rank in self.others() {
            let rows = self.requested[rank].pin()?;
            let values = self.receive(collective, rank, rows.len(), layout)?;
            visit(&rows, &values)?;
        }
        Ok(())
    }
}

impl Hooks for GraphShardManager {
    fn precall(&self) -> Result<()> {
        self.pause_process()
    }

    fn callback(&self) -> Result<()> {
        self.resume_process()
    }
}
