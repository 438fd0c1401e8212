//! Guards against: kept rows that differ from those of the files, and wrong counts of bytes.

use sar::formats::dgl::config::PartitionConfig;
use sar::io::IoCounters;
use sar::load::{NodeColumn, Normalize, RowBytes};

use super::common::repository;

#[test]
fn kept_rows_are_those_of_the_files_and_are_not_read_again() {
    let config = PartitionConfig::open(&repository("data/karate/karate.json")).unwrap();
    for normalize in [Normalize::None, Normalize::Row] {
        let counters = IoCounters::default();
        let column = NodeColumn::features(&config, None, normalize, counters.clone()).unwrap();
        let row = 4 * column.width() as u64;
        let nodes: Vec<u64> = (0..34).rev().chain([5, 5]).collect();
        let read = |column: &NodeColumn| {
            let mut rows = vec![f32::NAN; nodes.len() * column.width()];
            column.read_f32(&nodes, &mut rows).unwrap();
            rows
        };
        let expected = read(&column);
        let all = column.row_bytes();
        assert_eq!(all.needed, nodes.len() as u64 * row);
        assert_eq!(all.read, counters.totals().read);
        // Nodes of both partitions.
        column.keep(&[0, 1, 5, 20, 33]).unwrap();
        let before = column.row_bytes();
        assert_eq!(before, RowBytes { read: all.read + (before - all).read, ..all });
        assert_eq!(read(&column.clone()), expected);
        column.keep(&(0..34).collect::<Vec<_>>()).unwrap();
        let before = column.row_bytes();
        assert_eq!(read(&column), expected);
        assert_eq!(column.row_bytes() - before, RowBytes { needed: all.needed, read: 0 });
        column.forget();
        let before = column.row_bytes();
        assert_eq!(read(&column), expected);
        assert!((column.row_bytes() - before).read > 0);
        assert_eq!((column.capacity(34 * (row + 32) + 5), column.capacity(3)), (34, 0));
    }
}
