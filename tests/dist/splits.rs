//! Guards against: any node or edge that goes to another trainer than in DGL (fixtures/splits.py).

use sar::graph::{CanonicalEtype, PartitionBook};
use sar::sampling::stores::{
    DistTensor, DistTensorConfig, PartitionPolicy, SplitBy, TrainerRank, edge_split, node_split,
};
use serde::Deserialize;

use crate::common;
use crate::node_data::open;

#[derive(Deserialize)]
struct Case {
    side: String,
    counts: Vec<Vec<u64>>,
    mask: Vec<u8>,
    by: String,
    trainer_ids: Option<Vec<u64>>,
    trainers: usize,
    results: Vec<Vec<u64>>,
}

fn book(counts: &[Vec<u64>]) -> PartitionBook {
    let types = counts[0].len();
    let ntypes = ["a", "b"][..types].iter().map(ToString::to_string).collect();
    let etypes = ["r", "s"][..types].iter().map(|rel| CanonicalEtype::new("a", rel, "a")).collect();
    PartitionBook::new(ntypes, etypes, counts, counts).unwrap()
}

#[test]
fn every_trainer_gets_what_dgl_gives_it() {
    let text = std::fs::read_to_string(common::repository("tests/fixtures/splits.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    assert!(cases.len() > 100);
    for case in cases {
        let book = book(&case.counts);
        let mask: Vec<bool> = case.mask.iter().map(|m| *m != 0).collect();
        for (rank, expected) in case.results.iter().enumerate() {
            let by = match (case.by.as_str(), &case.trainer_ids) {
                (_, Some(ids)) => SplitBy::EvenByTrainerId(ids),
                ("even", None) => SplitBy::Even,
                _ => SplitBy::Locality,
            };
            let trainer = TrainerRank { rank, num_trainers: case.trainers };
            let ours = match case.side.as_str() {
                "node" => node_split(&mask[..], &book, Some("a"), trainer, by),
                _ => edge_split(&mask[..], &book, Some("r"), trainer, by),
            };
            assert_eq!(ours.unwrap(), *expected, "{} {} {rank}", case.side, case.by);
        }
    }
}

#[test]
fn masks_and_trainers_that_do_not_fit_are_refused() {
    let book = book(&[vec![3], vec![2]]);
    let split = |mask: &[bool], rank, num_trainers, by| {
        node_split(mask, &book, None, TrainerRank { rank, num_trainers }, by)
    };
    assert_eq!(split(&[true; 5], 1, 2, SplitBy::Even).unwrap(), [3, 4]);
    assert!(split(&[true; 4], 0, 2, SplitBy::Even).is_err());
    for (rank, num_trainers) in [(0, 3), (2, 2), (0, 0)] {
        assert!(split(&[true; 5], rank, num_trainers, SplitBy::Even).is_err());
    }
    assert!(split(&[true; 5], 0, 4, SplitBy::EvenByTrainerId(&[0])).is_err());
    assert!(split(&[true; 5], 0, 4, SplitBy::EvenByTrainerId(&[4; 5])).is_err());
}

#[test]
fn a_column_of_the_graph_chooses_as_its_tensor_does() {
    for json in ["data/karate/karate.json", "tests/fixtures/hetero_uneven/g.json"] {
        let (graph, folder) = open(json);
        let (book, ntype) = (graph.book(), graph.ntypes().len() - 1);
        let name = graph.ntypes()[ntype].clone();
        let policy = PartitionPolicy::Nodes(ntype);
        let config = DistTensorConfig {
            folder: folder.path(),
            name: Some("chosen"),
            row_shape: &[1],
            policy,
            persistent: false,
        };
        let tensor = DistTensor::<u8>::create(book, &config).unwrap();
        let mask: Vec<bool> = (0..tensor.len()).map(|n| n % 3 != 1).collect();
        let chosen: Vec<u64> = (0..tensor.len()).filter(|n| mask[*n as usize]).collect();
        tensor.write(&chosen, &vec![1; chosen.len()]).unwrap();
        graph.set_ndata("chosen", &tensor).unwrap();
        let column = graph.ndata("chosen").unwrap();
        let num_trainers = 2 * book.num_parts();
        for (rank, by) in (0..num_trainers).flat_map(|rank| {
            [SplitBy::Even, SplitBy::Locality].into_iter().map(move |by| (rank, by))
        }) {
            let trainer = TrainerRank { rank, num_trainers };
            let expected = node_split(&mask[..], book, Some(&name), trainer, by).unwrap();
            assert_eq!(node_split(&tensor, book, Some(&name), trainer, by).unwrap(), expected);
            assert_eq!(node_split(&column, book, Some(&name), trainer, by).unwrap(), expected);
        }
    }
}
