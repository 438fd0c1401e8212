//! Scores of pairs of nodes.

use tch::Kind;

use super::form::StoredForm;
use super::links::Linked;
use super::rows;
use super::shared_rows::SharedRows;
use crate::engine::tensor;
use crate::io::Dtype;
use crate::words::error::Result;

/// Number of pairs that are scored at a time.
const BLOCK: usize = 8192;

/// How scores of pairs are stored.
pub(in crate::run) fn pair_form() -> StoredForm {
    StoredForm { name: "scores", dtype: Dtype::F32, columns: None }
}

impl Linked<'_> {
    /// Scores this rank's part of the pairs, which name rows of the prediction.
    pub(super) fn score(&self, pairs: &[[u64; 2]]) -> Result<()> {
        let own = self.own;
        let rows = SharedRows::by_place(own, &own.parts, self.outputs, own.num_rows())?;
        let file = rows::open(own.here, own.work, &pair_form(), pairs.len() as u64)?;
        let ranks = own.setup.group.world_size();
        let bound = |rank: usize| pairs.len() * rank / ranks;
        let (begin, end) = (bound(own.here.rank), bound(own.here.rank + 1));
        for (block, first) in pairs[begin..end].chunks(BLOCK).zip((begin as u64..).step_by(BLOCK)) {
            let left = rows.read(block.iter().map(|pair| pair[0]))?;
            let right = rows.read(block.iter().map(|pair| pair[1]))?;
            let product = self.scored_by.queries(&left)?.f_mul(&right)?;
            let scores = product.f_sum_dim_intlist([1_i64].as_slice(), false, Kind::Float)?;
            file.write_rows(first, &tensor::bytes(&scores))?;
        }
        rows::seal(own.setup, own.work, file, pairs.len() as u64)
    }
}
