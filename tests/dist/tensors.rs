//! Guards against: rows that end up in the wrong place, are lost, or outlive their tensor.

use sar::io::Dtype;
use sar::sampling::stores::{
    DistTensor, DistTensorConfig, PartitionPolicy, SplitBy, TrainerRank, node_split,
};

use crate::support::{book, config};

#[test]
fn rows_are_read_and_written_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let tensor = DistTensor::<i64>::create(&book(), &config(folder.path(), "t", &[2])).unwrap();
    assert_eq!(tensor.shape(), [7, 2]);
    assert_eq!(tensor.count_nonzero().unwrap(), 0);
    tensor.write(&[6, 2, 3, 2], &[60, 61, 20, 21, 30, 31, 22, 23]).unwrap();
    assert_eq!(tensor.read(&[2, 6, 0, 2, 3]).unwrap(), [22, 23, 60, 61, 0, 0, 22, 23, 30, 31]);
    assert_eq!(tensor.count_nonzero().unwrap(), 6);
    assert_eq!((tensor.rows_of(0), tensor.rows_of(1)), (0..3, 3..7));
    assert!(tensor.read(&[7]).is_err() && tensor.write(&[7], &[0, 0]).is_err());
    assert!(tensor.write(&[1], &[1]).is_err());
}

#[test]
fn a_tensor_is_seen_by_all_and_goes_with_its_maker_unless_it_is_persistent() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "t", &[1]);
    let made = DistTensor::create_with(&book(), &config, |first, rows: &mut [f32]| {
        rows.iter_mut().zip(first..).for_each(|(row, id)| *row = id as f32);
    });
    let made = made.unwrap();
    let seen = DistTensor::<f32>::open(&book(), &config).unwrap();
    seen.write(&[5], &[0.5]).unwrap();
    drop(seen);
    assert_eq!(made.read(&[4, 5, 6]).unwrap(), [4.0, 0.5, 6.0]);
    assert!(DistTensor::<f32>::create(&book(), &config).is_err(), "it exists already");
    assert!(DistTensor::<i64>::open(&book(), &config).is_err(), "another element type");
    let wider = DistTensorConfig { row_shape: &[2], ..config.clone() };
    assert!(DistTensor::<f32>::open(&book(), &wider).is_err(), "another shape");
    drop(made);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let config = DistTensorConfig { persistent: true, ..config };
    drop(DistTensor::<u8>::create(&book(), &config).unwrap());
    assert_eq!(DistTensor::<u8>::open(&book(), &config).unwrap().shape(), [7, 1]);
    for name in ["", "a/b", ".."] {
        assert!(
            DistTensor::<u8>::create(
                &book(),
                &DistTensorConfig { name: Some(name), ..config.clone() }
            )
            .is_err()
        );
    }
}

#[test]
fn a_policy_is_inferred_only_if_one_type_has_the_rows() {
    let book = book();
    assert_eq!(PartitionPolicy::infer(&book, 4).unwrap(), PartitionPolicy::Nodes(1));
    assert_eq!(PartitionPolicy::infer(&book, 8).unwrap(), PartitionPolicy::Edges(0));
    assert!(PartitionPolicy::infer(&book, 5).is_err());
    assert_eq!(PartitionPolicy::nodes(&book, "b").unwrap().rows_of(&book, 1), 4..4);
    assert_eq!(PartitionPolicy::edges(&book, "r").unwrap().num_rows(&book), 8);
    assert!(PartitionPolicy::nodes(&book, "c").is_err());
}

#[test]
fn masks_are_joined_and_deal_nodes_out() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name, ids: &[u64]| {
        let mask = DistTensor::<u8>::create(&book(), &config(folder.path(), name, &[1])).unwrap();
        mask.write(ids, &vec![2; ids.len()]).unwrap();
        mask
    };
    let (train, val) = (make("train", &[1, 4]), make("val", &[4, 6]));
    let either = train.or(&val, &config(folder.path(), "either", &[1])).unwrap();
    assert_eq!(either.read(&[0, 1, 2, 3, 4, 5, 6]).unwrap(), [0, 1, 0, 0, 1, 0, 1]);
    assert_eq!((either.name(), either.len(), either.dtype()), ("either", 7, Dtype::U8));
    assert_eq!(train.count_nonzero().unwrap(), 2, "as it was");
    let trainer = |rank| TrainerRank { rank, num_trainers: 2 };
    let split =
        |rank| node_split(&either, &book(), Some("a"), trainer(rank), SplitBy::Even).unwrap();
    assert_eq!((split(0), split(1)), (vec![1, 4], vec![6]));

    let wide = DistTensor::<u8>::create(&book(), &config(folder.path(), "wide", &[2])).unwrap();
    let refused = node_split(&wide, &book(), Some("a"), trainer(0), SplitBy::Even).unwrap_err();
    assert!(refused.to_string().contains("wide has 2 values per row"), "{refused}");
    assert!(train.or(&wide, &config(folder.path(), "x", &[1])).is_err());
    let policy = PartitionPolicy::Nodes(1);
    let others = DistTensorConfig { policy, ..config(folder.path(), "others", &[1]) };
    let others = DistTensor::<u8>::create(&book(), &others).unwrap();
    assert!(train.or(&others, &config(folder.path(), "x", &[1])).is_err());
    assert!(!folder.path().join("x.npy").exists());
    assert!(train.or(&val, &config(folder.path(), "either", &[1])).is_err(), "the name is taken");
}
