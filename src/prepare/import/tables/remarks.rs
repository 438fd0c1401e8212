//! Remarks on valid node tables that are most likely not meant.

use std::collections::BTreeMap;

use super::moments::Moments;
use super::table::Table;
use crate::formats::dgl::blocks;
use crate::load::MASKS;
use crate::words::error::Result;

/// Number of rows whose features are examined, and of places they come from.
const ROWS: u64 = 256;
const PLACES: u64 = 16;

/// Ratio of two features' spreads from which one hides the other.
const RATIO: f64 = 1000.0;

/// Remarks on a node type's tables: features of very different spreads, and masks of the same nodes.
pub(crate) fn remarks(ntype: &str, tables: &BTreeMap<String, Table>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, table) in tables.iter().filter(|(name, _)| name.starts_with("feat")) {
        found.extend(spread(name, table)?.map(|remark| format!("{ntype}/{remark}")));
    }
    let masks: Vec<(&str, &Table)> =
        MASKS.iter().filter_map(|name| Some((*name, tables.get(*name)?))).collect();
    for (at, (name, mask)) in masks.iter().enumerate() {
        for (other, second) in &masks[at + 1..] {
            if are_equal(mask, second)? {
                found.push(format!("{ntype}/{name} and {other} have the same nodes"));
            }
        }
    }
    Ok(found)
}

/// A remark if one feature spreads much more than another in a sample of rows.
fn spread(name: &str, table: &Table) -> Result<Option<String>> {
    let width = table.row_shape().iter().product::<u64>() as usize;
    let rows = table.num_rows();
    if width < 2 || rows == 0 {
        return Ok(None);
    }
    let mut moments = vec![Moments::default(); width];
    let step = (rows / PLACES).max(ROWS);
    let mut values = Vec::new();
    for first in (0..rows).step_by(step as usize) {
        let rows = first..rows.min(first + ROWS);
        table.read_f64(rows, &mut values)?;
        for row in values.chunks_exact(width) {
            moments.iter_mut().zip(row).for_each(|(moments, value)| moments.add(*value));
        }
    }
    let spreads = moments.iter().map(Moments::deviation).enumerate();
    let mut spreads: Vec<(usize, f64)> =
        spreads.filter(|(_, spread)| *spread > 0.0 && spread.is_finite()).collect();
    spreads.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some((low, least)), Some((high, most))) = (spreads.first(), spreads.last()) else {
        return Ok(None);
    };
    Ok((most / least > RATIO).then(|| {
        format!(
            "{name}: column {high} spreads {:.0} times as far as column {low}, and hides it from a model: standardise the columns",
            most / least
        )
    }))
}

fn are_equal(a: &Table, b: &Table) -> Result<bool> {
    if a.num_rows() != b.num_rows() || a.row_shape() != b.row_shape() {
        return Ok(false);
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for rows in blocks::ranges(a.num_rows()) {
        a.read_f64(rows.clone(), &mut left)?;
        b.read_f64(rows, &mut right)?;
        if left.iter().map(|v| v.to_bits()).ne(right.iter().map(|v| v.to_bits())) {
            return Ok(false);
        }
    }
    Ok(true)
}
