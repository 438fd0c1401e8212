//! The order of learned rows in the partitions, as weights files describe it.

use std::collections::BTreeMap;
use std::path::Path;

use super::setup::RankSetup;
use crate::load::{file_sum, ids_sum};
use crate::nn::state_dict_text;
use crate::prepare::import::names_file;
use crate::run::config::Checksums;
use crate::words::error::{Error, Result};

/// Key of the numbers of nodes in a weights file.
const COUNTS: &str = "learned_rows";
/// Key of the checksums.
const SUMS: &str = "learned_row_ids";

/// The order of learned rows in the partitions.
pub(super) struct LearnedRowOrder {
    /// Number of nodes in each partition, by type.
    counts: String,
    /// Checksums of the nodes' original ids, in the order of partitions, and of their names, as far as there are any.
    sums: Checksums,
}

impl LearnedRowOrder {
    /// The order of the nodes of some types; `None` without types. One collective if there are types.
    pub(super) fn new(setup: &RankSetup, ntypes: &[usize]) -> Result<Option<Self>> {
        if ntypes.is_empty() {
            return Ok(None);
        }
        let book = setup.partition.book();
        let counts = ntypes.iter().map(|&ntype| {
            let counts = (0..book.num_parts()).map(|p| book.type_nodes(p, ntype).own.to_string());
            format!("{} {}", book.ntypes()[ntype], counts.collect::<Vec<_>>().join("+"))
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        let mine = ntypes.iter().map(|&ntype| own_sums(setup, ntype));
        let all = setup.gather(&mine.collect::<Result<Vec<_>>>()?)?;
        let mut sums = Checksums::default();
        for (i, &ntype) in ntypes.iter().enumerate() {
            let name = &book.ntypes()[ntype];
            let ids = all.iter().map(|sums| sums[i][0]);
            if let Some(ids) = ids.collect::<Option<Vec<u32>>>() {
                let sum = crc32fast::hash(bytemuck::cast_slice(&ids));
                sums.insert(format!("original ids of {name}"), sum);
            }
            if let Some(sum) = all[0][i][1] {
                sums.insert(format!("names of {name}"), sum);
            }
        }
        Ok(Some(LearnedRowOrder { counts, sums }))
    }

    /// Adds the order to the texts of a weights file.
    pub(super) fn add_to(&self, texts: &mut BTreeMap<String, String>) -> Result<()> {
        texts.insert(COUNTS.to_owned(), self.counts.clone());
        self.sums.add_to(texts, SUMS)
    }

    /// Checks that a weights file has its rows in this order. Files from other programs do not say.
    pub(super) fn check(&self, weights: &Path) -> Result<()> {
        let (ours, theirs) = (&self.counts, state_dict_text(weights, COUNTS)?);
        let theirs_sums = Checksums::of_weights(weights, SUMS)?;
        let difference = match theirs_sums.differing(&self.sums).first() {
            _ if !theirs.is_empty() && theirs != *ours => {
                format!("{theirs} nodes instead of {ours}")
            }
            Some(name) => format!("other {name}"),
            None => return Ok(()),
        };
        let problem =
            format!("has learned rows in the order of other partitions, with {difference}");
        Err(Error::input(weights, "", problem)
            .with_hint("use the partition directory that the model was trained on"))
    }
}

/// Checksums of the original ids of the rank's own nodes and, on rank 0, of the names of all nodes.
fn own_sums(setup: &RankSetup, ntype: usize) -> Result<[Option<u32>; 2]> {
    let partition = &setup.partition;
    let (book, part, config) = (partition.book(), partition.part(), partition.topology().config());
    let ids = if book.type_nodes(part, ntype).own == 0 {
        Some(0)
    } else if config.given_ids(ntype).is_some() {
        // Ids that the user has passed are not those of the training.
        None
    } else {
        partition.orig_node_ids(ntype)?.as_ref().map(ids_sum).transpose()?
    };
    let names = names_file(config.folder(), &book.ntypes()[ntype]);
    let names = (part == 0 && names.is_file()).then(|| file_sum(&names)).transpose()?;
    Ok([ids, names])
}
