//! Guards against: rows that differ from what DGL's DistTensor gives for the same writes (fixtures/dist_tensor.py), in any element
//! type and number of dimensions, as a tensor or as node data.

use std::path::Path;
use std::sync::Arc;

use half::f16;
use sar::graph::{CanonicalEtype, PartitionBook};
use sar::io::IoCounters;
use sar::sampling::stores::{DistElement, DistTensor, DistTensorConfig, PartitionPolicy};
use serde::Deserialize;
use tch::Kind;

use crate::common;

#[derive(Deserialize)]
struct Fixture {
    nodes: u64,
    refused: std::collections::BTreeMap<String, bool>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    dtype: String,
    row: Vec<usize>,
    ids: Vec<u64>,
    values: Vec<f64>,
    zeros: Vec<u64>,
    reads: Vec<u64>,
    read: Vec<f64>,
    count_nonzero: u64,
}

fn fixture() -> Fixture {
    let path = common::repository("tests/fixtures/dist_tensor.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// DGL's nodes in two partitions.
fn book(nodes: u64) -> Arc<PartitionBook> {
    let etypes = vec![CanonicalEtype::new("_N", "_E", "_N")];
    let counts = [vec![4], vec![nodes - 4]];
    Arc::new(PartitionBook::new(vec!["_N".into()], etypes, &counts, &[vec![6], vec![5]]).unwrap())
}

fn follow<T: DistElement>(case: &Case, nodes: u64, of: fn(f64) -> T, to: fn(T) -> f64) {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), &case.row);
    let width: usize = case.row.iter().product();
    let tensor = DistTensor::<T>::create_with(&book(nodes), &config, |first, rows| {
        rows.chunks_mut(width).zip(first..).for_each(|(row, i)| row.fill(of(i as f64 + 1.0)));
    });
    let tensor = tensor.unwrap();
    let column = tensor.node_column(IoCounters::default()).unwrap();
    let values: Vec<T> = case.values.iter().map(|value| of(*value)).collect();
    tensor.write(&case.ids, &values).unwrap();
    tensor.write(&case.zeros, &vec![of(0.0); case.zeros.len() * width]).unwrap();
    let read: Vec<f64> = tensor.read(&case.reads).unwrap().into_iter().map(to).collect();
    assert_eq!(read, case.read, "{} {:?}", case.dtype, case.row);
    assert_eq!(tensor.count_nonzero().unwrap(), case.count_nonzero);
    let shape: Vec<u64> = case.row.iter().map(|size| *size as u64).collect();
    assert_eq!(tensor.shape(), [&[nodes], &shape[..]].concat());
    // The column was made before the rows were written.
    let rows = column.read(&case.reads).unwrap();
    let rows = Vec::<f64>::try_from(rows.to_kind(Kind::Double).flatten(0, -1)).unwrap();
    assert_eq!(rows, case.read, "column of {} {:?}", case.dtype, case.row);
    // numpy's files are what other programs read.
    let header = std::fs::read(tensor.path()).unwrap();
    assert!(String::from_utf8_lossy(&header[..128]).contains("'fortran_order': False"));
}

fn config<'a>(folder: &'a Path, row_shape: &'a [usize]) -> DistTensorConfig<'a> {
    let policy = PartitionPolicy::Nodes(0);
    DistTensorConfig { folder, name: None, row_shape, policy, persistent: false }
}

#[test]
fn rows_of_every_type_and_shape_are_dgls() {
    let Fixture { nodes, cases, .. } = fixture();
    assert_eq!(cases.len(), 8 * 4);
    for case in &cases {
        match case.dtype.as_str() {
            "float16" => follow(case, nodes, f16::from_f64, f16::to_f64),
            "float32" => follow(case, nodes, |v| v as f32, f64::from),
            "float64" => follow(case, nodes, |v| v, |v: f64| v),
            "int8" => follow(case, nodes, |v| v as i8, f64::from),
            "int16" => follow(case, nodes, |v| v as i16, f64::from),
            "int32" => follow(case, nodes, |v| v as i32, f64::from),
            "int64" => follow(case, nodes, |v| v as i64, |v: i64| v as f64),
            "uint8" => follow(case, nodes, |v| v as u8, f64::from),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn what_dgl_refuses_is_refused() {
    let Fixture { nodes, refused, .. } = fixture();
    assert!(refused["persistent without a name"] && refused["another number of rows"]);
    let folder = tempfile::tempdir().unwrap();
    let lasting = DistTensorConfig { persistent: true, ..config(folder.path(), &[1]) };
    let error = DistTensor::<f32>::create(&book(nodes), &lasting).unwrap_err().to_string();
    assert!(error.starts_with("name: a tensor that outlives"), "{error}");
    let error = DistTensor::<f32>::open(&book(nodes), &config(folder.path(), &[1])).unwrap_err();
    assert!(error.hint().unwrap().contains("on_all_ranks"), "{error}");
    assert!(PartitionPolicy::infer(&book(nodes), nodes + 1).is_err());
    let edges =
        DistTensorConfig { policy: PartitionPolicy::Edges(0), ..config(folder.path(), &[]) };
    let tensor = DistTensor::<f32>::create(&book(nodes), &edges).unwrap();
    assert!(tensor.node_column(IoCounters::default()).is_err());
}
