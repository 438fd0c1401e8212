//! Notes after edges have been read: bad rows, and gaps in the numbers of nodes.

use crate::graph::Bitmap;
use crate::prepare::import::files::{BadRowRule, BadRows};
use crate::prepare::import::graph::{EdgeType, RawEdges};
use crate::prepare::import::import_graph::Import;
use crate::words::error::{Error, ErrorKind, Result};

/// Number of nodes up to which gaps are not mentioned.
const FEW_NODES: u64 = 100;

impl Import<'_> {
    /// Fails or adds a note if there were bad rows.
    pub(in crate::prepare::import) fn heed_bad_rows(&mut self) -> Result<()> {
        let summary = self.bad_rows.map(|list| list.finish()).transpose()?.flatten();
        let (Some((count, first)), Some(rule)) = (summary, &self.files.bad_rows) else {
            return Ok(());
        };
        let BadRowRule { rows, list } = rule;
        let list = list.display();
        match rows {
            BadRows::Skip => {
                self.notes.push(format!("bad rows that are left out: {count}, listed in {list}"));
                Ok(())
            }
            BadRows::Error => {
                let problem = format!("bad rows: {count}; the first: {}", first.marked());
                let error = Error::new(ErrorKind::Input, problem);
                Err(error.with_hint(format!(
                    "{list} lists them; correct them, or leave them out: ‹bad_rows=skip›"
                )))
            }
        }
    }

    /// Adds notes about types of which most nodes have no edge, because numbers have gaps.
    pub(in crate::prepare::import) fn note_gaps(
        &mut self,
        etypes: &[EdgeType],
        edges: &RawEdges,
    ) -> Result<()> {
        for (at, space) in self.spaces.iter().enumerate() {
            let nodes = space.end();
            if !space.is_counted_by_edges() || nodes <= FEW_NODES {
                continue;
            }
            let (mut seen, mut used) = (Bitmap::new(nodes), 0);
            for (number, etype) in etypes.iter().enumerate().filter(|(_, e)| e.ends.contains(&at)) {
                edges.read(number, |_, block| {
                    for (id, ntype) in block.iter().flat_map(|ends| ends.iter().zip(etype.ends)) {
                        if ntype == at && !seen.contains(*id) {
                            seen.insert(*id);
                            used += 1;
                        }
                    }
                    Ok(())
                })?;
            }
            if 2 * used < nodes {
                self.notes.push(format!(
                    "{} of {nodes} nodes of type {} have no edge: their numbers, from {} to {}, have gaps; if they are names, pass \
                     ‹node_ids=string›",
                    nodes - used,
                    space.name,
                    space.number_of(0),
                    space.number_of(nodes - 1)
                ));
            }
        }
        Ok(())
    }
}
