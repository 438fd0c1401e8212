//! Quality of the scores of edges compared with drawn pairs.

use tch::{Kind, Tensor};

use super::score_runs::{PairCount, ScoreRecord, all_read, count, send};
use crate::engine::comm::{
    Hooks, Operation, Posted, ProcessGroup, Recipient, ReduceOp, all_reduce, complete,
};
use crate::engine::tensor;
use crate::nn::{link_loss_sum, reciprocal_ranks_sum};
use crate::words::error::Result;

/// The rank that compares the scores of all ranks.
const COMPARES: usize = 0;

/// Quality of the scores of edges compared with drawn pairs, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkEvaluation {
    /// Mean loss over edges and pairs.
    pub loss: Option<f64>,
    /// Probability that an edge has a higher score than a drawn pair.
    pub auc: Option<f64>,
    /// Mean over edges of 1 / the edge's rank among its own pairs.
    pub mean_reciprocal_rank: Option<f64>,
}

/// One rank's scores, batch by batch: 16 bytes of memory for each edge and pair.
#[derive(Default)]
pub(super) struct LinkScores {
    loss: f64,
    reciprocal_ranks: f64,
    counts: PairCount,
    records: Vec<ScoreRecord>,
}

impl LinkScores {
    /// Adds a batch's scores, `[pairs, 1]`: those of `edges` edges, then those of the pairs drawn for them.
    pub(super) fn add(&mut self, scores: &Tensor, edges: usize) -> Result<()> {
        let scores = scores.f_to_kind(Kind::Float)?.f_contiguous()?;
        self.loss += link_loss_sum(&scores, edges as i64)?;
        let scores = tensor::slice::<f32>(&scores);
        let (of_edges, of_others) = scores.split_at(edges);
        self.reciprocal_ranks += reciprocal_ranks_sum(of_edges, of_others);
        let scores = scores.iter().enumerate().map(|(i, score)| (f64::from(*score), i < edges));
        self.records.extend(self.counts.records(scores));
        Ok(())
    }

    /// Sends the scores to the rank that compares them, and frees them.
    pub(super) fn post(&mut self, group: &dyn ProcessGroup) -> Result<Posted> {
        let mut outbox = group.outbox(Operation::CompareScores)?;
        for rank in 0..group.world_size() {
            outbox.begin(Recipient::Rank(rank))?;
            if rank == COMPARES {
                send(std::mem::take(&mut self.records), &mut *outbox)?;
            }
        }
        outbox.post()
    }

    /// The evaluation of the scores that all ranks have posted. Two collectives.
    pub(super) fn evaluate(
        self,
        group: &dyn ProcessGroup,
        posted: Posted,
        hooks: &dyn Hooks,
    ) -> Result<LinkEvaluation> {
        let LinkScores { loss, reciprocal_ranks, mut counts, .. } = self;
        let collective = complete(group, posted, hooks)?;
        if group.rank() == COMPARES {
            let inboxes = (0..group.world_size()).map(|from| group.inbox(&collective, from));
            let mut inboxes = inboxes.collect::<Result<Vec<_>>>()?;
            counts += count(&mut inboxes)?;
            all_read(&inboxes)?;
        }
        drop(collective);
        let own = Tensor::f_from_slice(&[loss, reciprocal_ranks])?;
        let counts = Tensor::f_from_slice::<i64>(bytemuck::cast_slice(&[counts]))?;
        let sums = all_reduce(group, vec![own, counts], ReduceOp::Sum, hooks)?;
        let counts: PairCount = bytemuck::cast_slice(&tensor::slice::<i64>(&sums[1]))[0];
        let [loss, reciprocal_ranks] = [0, 1].map(|i| tensor::slice::<f64>(&sums[0])[i]);
        let PairCount { positives: edges, negatives: others, undefined, .. } = counts;
        let mean = |sum: f64, of: i64| {
            (of > 0).then_some(if undefined > 0 { f64::NAN } else { sum / of as f64 })
        };
        Ok(LinkEvaluation {
            loss: mean(loss, edges + others),
            auc: counts.area(),
            mean_reciprocal_rank: mean(reciprocal_ranks, edges),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::comm::{FileGroup, NoHooks};
    use crate::engine::turns::Control;
    use crate::nn::{auc, link_loss, mean_reciprocal_rank};

    /// The evaluation of `[edges, pairs]` of each rank, whose edges all have as many pairs.
    fn evaluated(of_ranks: &[[&[f32]; 2]]) -> LinkEvaluation {
        let ranks = of_ranks.len();
        let groups = FileGroup::in_memory(&Arc::new(Control::in_memory(ranks, ranks).unwrap()));
        let of_rank = |group: FileGroup| {
            let mut scores = LinkScores::default();
            let [edges, pairs] = of_ranks[group.rank()];
            let batch = Tensor::from_slice(&[edges, pairs].concat()).view([-1, 1]);
            scores.add(&batch, edges.len()).unwrap();
            let posted = scores.post(&group).unwrap();
            scores.evaluate(&group, posted, &NoHooks).unwrap()
        };
        let all: Vec<LinkEvaluation> = std::thread::scope(|scope| {
            let threads = groups.into_iter().map(|group| scope.spawn(move || of_rank(group)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|of_rank| format!("{of_rank:?}") == format!("{:?}", all[0])));
        all[0]
    }

    #[test]
    fn ranks_together_have_the_numbers_of_all_scores() {
        let of_ranks: [[&[f32]; 2]; 3] =
            [[&[3.0, 1.0], &[2.0, 1.0, 4.0, 1.0]], [&[], &[]], [&[-0.0], &[0.0, 0.5]]];
        let [edges, pairs] = [0, 1].map(|i| of_ranks.map(|scores| scores[i]).concat());
        let all = Tensor::from_slice(&[&edges[..], &pairs].concat()).view([-1, 1]);
        let expected = LinkEvaluation {
            loss: Some(link_loss(&all, 3).unwrap().0),
            auc: auc(&edges, &pairs),
            mean_reciprocal_rank: mean_reciprocal_rank(&edges, &pairs),
        };
        assert_eq!(evaluated(&of_ranks), expected);
    }

    #[test]
    fn without_scores_there_is_nothing_and_with_nan_there_are_no_numbers() {
        assert_eq!(evaluated(&[[&[], &[]]]), LinkEvaluation::default());
        let LinkEvaluation { loss, auc, mean_reciprocal_rank } =
            evaluated(&[[&[1.0], &[0.0]], [&[1.0], &[f32::NAN]]]);
        for number in [loss, auc, mean_reciprocal_rank] {
            assert!(number.unwrap().is_nan());
        }
    }
}
