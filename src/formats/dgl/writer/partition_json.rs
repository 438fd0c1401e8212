//! The JSON file of a partition directory, byte for byte as DGL's Python writes it.

use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::PrettyFormatter;
use std::fmt::Write;
use std::ops::Range;

/// The content of the JSON file.
pub(super) struct PartitionJson<'a> {
    pub(super) graph_name: &'a str,
    pub(super) part_method: &'a str,
    /// Left out in files that DGL would write alike.
    pub(super) node_order: Option<&'a str>,
    pub(super) halo_hops: u64,
    pub(super) book: &'a PartitionBook,
}

impl PartitionJson<'_> {
    /// The file as Python's `json.dump(indent=4)` writes it: ASCII only.
    pub(super) fn to_text(&self) -> Result<String> {
        let mut bytes = Vec::new();
        let format = PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, format);
        self.serialize(&mut serializer).map_err(|e| Error::internal(e.to_string()))?;
        let mut text = String::new();
        for unit in String::from_utf8_lossy(&bytes).encode_utf16() {
            let written = match unit {
                0x0a | 0x20..=0x7e => text.write_char(char::from(unit as u8)),
                _ => write!(text, "\\u{unit:04x}"),
            };
            written.map_err(|e| Error::internal(e.to_string()))?;
        }
        Ok(text)
    }
}

impl Serialize for PartitionJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let book = self.book;
        let etypes: Vec<String> = book.etypes().iter().map(ToString::to_string).collect();
        let ranges =
            |types: usize, range: &dyn Fn(usize, usize) -> Range<u64>| -> Vec<Vec<[u64; 2]>> {
                let pair = |part, ty| [range(part, ty).start, range(part, ty).end];
                (0..types).map(|ty| (0..book.num_parts()).map(|p| pair(p, ty)).collect()).collect()
            };
        let nodes = ranges(book.ntypes().len(), &|part, ty| book.node_type_range(part, ty));
        let edges = ranges(etypes.len(), &|part, ty| book.edge_type_range(part, ty));
        let ids: Vec<usize> = (0..book.ntypes().len().max(etypes.len())).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("graph_name", self.graph_name)?;
        map.serialize_entry("num_nodes", &book.num_nodes())?;
        map.serialize_entry("num_edges", &book.num_edges())?;
        map.serialize_entry("part_method", self.part_method)?;
        if let Some(order) = self.node_order {
            map.serialize_entry("node_order", order)?;
        }
        map.serialize_entry("num_parts", &book.num_parts())?;
        map.serialize_entry("halo_hops", &self.halo_hops)?;
        map.serialize_entry("node_map", &InOrder(book.ntypes(), &nodes))?;
        map.serialize_entry("edge_map", &InOrder(&etypes, &edges))?;
        map.serialize_entry("ntypes", &InOrder(book.ntypes(), &ids))?;
        map.serialize_entry("etypes", &InOrder(&etypes, &ids))?;
        for part in 0..book.num_parts() {
            let keys = ["node_feats", "edge_feats", "part_graph"].map(str::to_owned);
            let files = ["node_feat", "edge_feat", "graph"];
            let files = files.map(|file| format!("part{part}/{file}.dgl"));
            map.serialize_entry(&format!("part-{part}"), &InOrder(&keys, &files))?;
        }
        map.end()
    }
}

/// A JSON object whose keys keep their order.
struct InOrder<'a, T>(&'a [String], &'a [T]);

impl<T: Serialize> Serialize for InOrder<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::CanonicalEtype;

    #[test]
    fn names_beyond_ascii_are_escaped_as_python_does() {
        let etypes = vec![CanonicalEtype::new("ü", "\u{1f600}\"", "ü")];
        let book =
            PartitionBook::new(vec!["ü".to_owned()], etypes, &[vec![1]], &[vec![0]]).unwrap();
        let json = PartitionJson {
            graph_name: "a\nb",
            part_method: "m",
            node_order: None,
            halo_hops: 1,
            book: &book,
        };
        let text = json.to_text().unwrap();
        assert!(text.contains(r#""\u00fc:\ud83d\ude00\":\u00fc""#), "{text}");
        assert!(text.contains(r#""graph_name": "a\nb""#), "{text}");
    }
}
