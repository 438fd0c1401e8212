//! Guards against: features of one partition that are shown as if all had them.

use predicates::str::is_match;
use sar::formats::dgl::writer::{TensorSpec, TensorWriter};
use sar::io::Dtype;

use crate::support::{copy, inspect};

#[test]
fn a_feature_that_one_partition_lacks_is_said_to_be_in_the_other() {
    let folder = copy("data/karate");
    let spec = TensorSpec { key: "_N/extra".to_owned(), dtype: Dtype::U8, shape: vec![17, 0] };
    let writer = TensorWriter::create(&folder.path().join("part1/node_feat.dgl"), &[spec]).unwrap();
    writer.finish().unwrap();
    let row = |text| is_match(text).unwrap();
    inspect(folder.path(), "karate.json")
        .assert()
        .success()
        .stdout(row(r"(?m)^_N +_N/extra +uint8 +\[0\] +1$"))
        .stdout(row(r"(?m)^_N +_N/labels +int64 +\[\] +0$"))
        .stdout(row(r"(?m)^_N:_E:_N +_N:_E:_N/weight +float32 +\[\] +all$"));
}
