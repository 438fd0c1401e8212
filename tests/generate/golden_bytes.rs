//! Guards against: generators that change unnoticed, from one version or machine to another, so that published numbers belong
//! to a graph that cannot be generated again.

use crate::common::files;
use crate::support::{KINDS, config, ignore};
use sar::prepare::generate::{GeneratorConfig, generate};

#[test]
fn the_bytes_of_a_small_graph_are_known() {
    let checksums = KINDS.map(|kind| {
        let config = GeneratorConfig { nodes: 300, edges: 2001, num_parts: 3, ..config(kind) };
        let folder = tempfile::tempdir().unwrap();
        generate(&config, folder.path(), &mut ignore).unwrap();
        let mut sum = crc32fast::Hasher::new();
        for (name, bytes) in files(folder.path()) {
            sum.update(name.as_bytes());
            sum.update(&bytes);
        }
        sum.finalize()
    });
    assert_eq!(checksums, [0x0e3b_e8ed, 0x2f99_9e67], "{checksums:08x?}");
}
