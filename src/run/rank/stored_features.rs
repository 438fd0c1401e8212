//! Features of a rank's own nodes, in the partition's files.

use std::rc::Rc;

use super::setup::{KIND, RankSetup};
use crate::engine::spill::{Pointer, PointerTensor};
use crate::load::NodeFeatures;
use crate::run::config::RunConfig;
use crate::words::error::Result;

/// Features of own nodes, and how they are held.
pub(super) struct StoredFeatures {
    features: NodeFeatures,
    /// Whether few of the features' values are not zero, and products use only these.
    few_entries: bool,
    /// Whether the run trains on samples. Features of all nodes are used between its epochs only, and not held.
    sampled: bool,
}

impl StoredFeatures {
    /// Checks that all ranks have features of the same widths, by node type (`None`: none). If the stored type is narrow
    /// and the same on all ranks, rows are sent in this type. One collective.
    pub(super) fn agreed(
        setup: &RankSetup,
        run: &RunConfig,
        features: Vec<Option<NodeFeatures>>,
    ) -> Result<Vec<Option<Self>>> {
        let types = features.len();
        // Propagation uses matrices.
        let (sampled, products) = (run.sampling.is_some(), !run.model.kind.propagates_once());
        let facts = features.iter().map(|features| {
            let Some(features) = features else { return Ok([-1, -1, 0]) };
            let dtype = features.exact_dtype().map_or(-1, |dtype| dtype as i64);
            let few = products && features.has_few_entries()?;
            Ok([features.width(), dtype, i64::from(few)])
        });
        let facts = facts.collect::<Result<Vec<[i64; 3]>>>()?;
        let mine: Vec<i64> = (0..3).flat_map(|i| facts.iter().map(move |row| row[i])).collect();
        let all = setup.gather(&mine)?;
        setup.check_widths(&mine[..types], all.iter().map(|row| &row[..types]))?;
        let agreed = features.into_iter().enumerate().map(|(ntype, features)| {
            let features = features?;
            let [dtype, few] = [1, 2].map(|i| i * types + ntype);
            let exact = features.exact_dtype();
            let exact = exact.filter(|_| all.iter().all(|row| row[dtype] == mine[dtype]));
            Some(StoredFeatures {
                // Samplers read single rows between passes over all of them.
                features: features.sent_as(exact).leaving_cache(!(sampled && products)),
                few_entries: all.iter().all(|row| row[few] == 1),
                sampled,
            })
        });
        Ok(agreed.collect())
    }

    /// Number of columns.
    pub(super) fn width(&self) -> i64 {
        self.features.width()
    }

    /// Whether few of the features' values are not zero, and products use only these.
    pub(super) fn has_few_entries(&self) -> bool {
        self.few_entries
    }

    /// Features of all own nodes.
    pub(super) fn all(&self, setup: &RankSetup) -> Result<PointerTensor> {
        if self.few_entries && !self.sampled {
            let rows: Vec<u32> = (0..self.features.size()[0] as u32).collect();
            return self.entries(setup, &rows);
        }
        Ok(setup.track_features(self.features.clone()))
    }

    /// Features of selected own nodes, ascending. Only these rows are read from the partition.
    pub(super) fn rows(
        &self,
        setup: &RankSetup,
        rows: &Pointer<Vec<u32>>,
    ) -> Result<PointerTensor> {
        if self.few_entries {
            return self.entries(setup, &rows.pin()?);
        }
        let (features, counters) =
            (self.features.clone(), setup.manager.store().counters().clone());
        let (size, exact) = ([rows.len() as i64, self.width()], features.message_dtype());
        let rows = rows.clone();
        let read = Rc::new(move || features.read_rows(&rows.pin()?, &counters));
        Ok(setup.manager.track_exact("features", &size, KIND, exact, read))
    }

    /// The values other than zero in selected rows. They are read now.
    fn entries(&self, setup: &RankSetup, rows: &[u32]) -> Result<PointerTensor> {
        let entries = self.features.read_entries(rows, setup.manager.store().counters())?;
        Ok(setup.manager.track_entries("features", entries, self.features.message_dtype()))
    }
}
