//! The promises of the spilling layer: each value is written at most once, comes back bit for bit or with an error, never
//! leaves memory while it is in use, and its file disappears with it.
#![allow(clippy::unwrap_used)]

#[path = "common/full_disk.rs"]
mod full_disk;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use sar::ErrorKind;
use sar::engine::array::{Array, ArrayLayout};
use sar::engine::spill::{Hold, PartitionDataManager, Pointer, SpillStore};
use sar::engine::turns::{Control, TurnLock};
use sar::graph::ShardBuilder;
use sar::io::{DiskStorage, Dtype, IoCounters, IoMode, Storage};

use full_disk::FullDisk;

/// A rank alone, in its first turn.
fn manager(folder: &Path, storage: Arc<dyn Storage>) -> Rc<PartitionDataManager> {
    manager_keeping(folder, storage, &Arc::new(Control::in_memory(1, 1).unwrap()))
}

/// The same, if it may keep what `control` says.
fn manager_keeping(
    folder: &Path,
    storage: Arc<dyn Storage>,
    control: &Arc<Control>,
) -> Rc<PartitionDataManager> {
    let control = control.clone();
    let store = SpillStore::new(folder, storage, IoCounters::default());
    let manager = PartitionDataManager::new(TurnLock::new(control, 0), store);
    manager.callback_func().unwrap();
    manager
}

fn pause(manager: &PartitionDataManager) -> sar::Result<()> {
    manager.precall_func()?;
    manager.callback_func()
}

/// Through the page cache, and around it.
fn disks() -> [DiskStorage; 2] {
    [DiskStorage::default(), DiskStorage::with_share(IoMode::Auto)]
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// The first file of a folder.
fn file(folder: &Path) -> PathBuf {
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

/// Changes a bit of the first file of a folder, `from_end` bytes before its end.
fn flip_bit(folder: &Path, from_end: usize) {
    let mut bytes = fs::read(file(folder)).unwrap();
    let place = bytes.len() - from_end;
    bytes[place] ^= 1;
    fs::write(file(folder), bytes).unwrap();
}

fn numbers() -> Array {
    let values: Vec<f32> = (0..600_u16).map(f32::from).collect();
    Array::from_slice(&[20, 30], &values).unwrap()
}

fn kind<T>(result: sar::Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

#[test]
fn a_value_is_written_once_however_often_it_is_spilled() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let pointer = manager.track("x", numbers());
    for _ in 0..5 {
        pause(&manager).unwrap();
        assert_eq!(manager.resident_bytes(), 0);
        assert!(!pointer.is_resident());
        assert_eq!(*pointer.pin().unwrap(), numbers());
        assert_eq!(manager.resident_bytes(), 2400);
    }
    assert_eq!(manager.store().counters().totals().written, 2400);
    assert_eq!(manager.store().counters().totals().read, 5 * 2400);
}

#[test]
fn a_waiting_rank_spills_what_it_is_asked_for_and_nothing_that_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let control = Arc::new(Control::in_memory(1, 1).unwrap());
    control.set_parked_share(1 << 20);
    let manager = manager_keeping(folder.path(), Arc::new(DiskStorage::default()), &control);
    // The claim is the values alone, whatever memory other tests of this process take.
    manager.stand_in(1.0, None);
    let values = [(); 3].map(|()| manager.track("x", numbers()));
    manager.precall_func().unwrap();
    manager.give_way().unwrap();
    assert_eq!(manager.resident_bytes(), 3 * 2400);
    // The values take 7 of 1024 KiB.
    let claimed = [1 << 19, 1 << 20].map(|bytes| manager.claim_spare(bytes) >> 10);
    assert_eq!(claimed, [512, 505]);
    let used = values[0].pin().unwrap();
    control.set_parked_share(0);
    manager.give_way().unwrap();
    assert_eq!(values.each_ref().map(Pointer::is_resident), [true, false, false]);
    drop(used);
    manager.callback_func().unwrap();
    assert_eq!(*values[1].pin().unwrap(), numbers());
}

#[test]
fn a_file_goes_with_the_last_handle() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let pointer = manager.track("x", numbers());
    let other = pointer.clone();
    pause(&manager).unwrap();
    assert_eq!(files(folder.path()), 1);
    drop(pointer);
    assert_eq!(files(folder.path()), 1);
    drop(other);
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn files_that_are_needed_are_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let recipe = Rc::new(|| Ok(numbers()));
    let made = manager.track_made("made", ArrayLayout::new(Dtype::F32, &[20, 30]), None, recipe);
    manager.remove_files().unwrap();
    let pointers = [manager.track("x", numbers()), manager.track("y", numbers())];
    for _ in 0..2 {
        let error = manager.remove_files().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert_eq!(error.to_string(), "remove_files: 2 values still need their files: x, y");
        assert!(error.hint().unwrap().starts_with("leave the call out"), "{error}");
        pause(&manager).unwrap();
    }
    for pointer in &pointers {
        assert_eq!(*pointer.pin().unwrap(), numbers());
    }
    drop(pointers);
    manager.remove_files().unwrap();
    // Values that come later find their folder.
    let pointer = manager.track("z", numbers());
    pause(&manager).unwrap();
    assert_eq!(*pointer.pin().unwrap(), numbers());
    assert_eq!(*made.pin().unwrap(), numbers());
    manager.close().unwrap();
    assert!(!folder.path().exists());
}

#[test]
fn a_taken_value_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let pointer = manager.track("x", numbers());
    pause(&manager).unwrap();
    let shared = pointer.clone();
    assert_eq!(kind(shared.take()), ErrorKind::Config, "two handles");
    let pinned = pointer.pin().unwrap();
    assert_eq!(kind(pointer.clone().take()), ErrorKind::Config);
    drop(pinned);
    assert_eq!(pointer.take().unwrap(), numbers());
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn a_value_in_use_cannot_be_spilled() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let pointer = manager.track("x", numbers());
    let pinned = pointer.pin().unwrap();
    let error = manager.precall_func().unwrap_err();
    assert!(error.to_string().contains("x is pinned at a collective"), "{error}");
    assert_eq!((error.kind(), error.hint().is_some()), (ErrorKind::Worker, true));
    assert_eq!(*pinned, numbers());
}

#[test]
fn a_recipe_is_run_again_instead_of_written() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let recipe = Rc::new(|| Ok(numbers()));
    let layout = ArrayLayout::new(Dtype::F32, &[20, 30]);
    let pointer = manager.track_made("x", layout, None, recipe);
    for _ in 0..3 {
        assert_eq!(*pointer.pin().unwrap(), numbers());
        pause(&manager).unwrap();
        assert!(!pointer.is_resident());
    }
    assert_eq!((files(folder.path()), manager.store().counters().totals().written), (0, 0));
}

#[test]
fn every_kind_of_value_comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let mut builder = ShardBuilder::default();
    for i in 0..50_u32 {
        builder.push(i * 7 % 40, i % 13);
        builder.push_weight(i as f32);
    }
    let (shard, _) = builder.build(20, 40, false).unwrap();
    let arrays = [
        numbers(),
        Array::from_slice(&[3], &[1_u8, 0, 255]).unwrap(),
        Array::from_slice(&[1, 3], &[i64::MIN, -1, i64::MAX]).unwrap(),
        Array::from_slice(&[], &[0.1_f64]).unwrap(),
        Array::from_slice::<f32>(&[0, 4], &[]).unwrap(),
        Array::zeros(ArrayLayout::new(Dtype::BF16, &[5, 5])).unwrap(),
    ];
    let pointers: Vec<_> = arrays.iter().map(|a| manager.track("a", a.clone())).collect();
    let shard_pointer = manager.track_shard("shard", shard.clone());
    let rows = manager.track("rows", vec![1_u32, 5, 9]);
    pause(&manager).unwrap();
    for (pointer, array) in pointers.iter().zip(&arrays) {
        assert_eq!(*pointer.pin().unwrap(), *array);
    }
    assert_eq!(*shard_pointer.by_dst().unwrap(), shard.by_dst);
    assert_eq!(*shard_pointer.by_src().unwrap(), shard.by_src);
    assert_eq!(*rows.pin().unwrap(), [1, 5, 9]);
}

/// The bridge to libtorch.
#[cfg(feature = "torch")]
#[test]
fn every_kind_of_tensor_comes_back_the_same() {
    use tch::{Device, Kind, Tensor};

    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), Arc::new(DiskStorage::default()));
    let numbers = || Tensor::arange(600, (Kind::Float, Device::Cpu)).view([20, 30]);
    let kinds = [Kind::Uint8, Kind::Bool, Kind::Int, Kind::Int64, Kind::Double, Kind::BFloat16];
    let mut tensors = Vec::from(kinds.map(|kind| numbers().to_kind(kind)));
    tensors.push(Tensor::zeros([0, 4], (Kind::Float, Device::Cpu)));
    let pointers: Vec<_> = tensors.iter().map(|t| manager.track("t", t.copy())).collect();
    let recipe = Rc::new(move || Ok(numbers()));
    let made = manager.track_recipe("x", &[20, 30], Kind::Float, None, recipe);
    // The upper halves of small numbers are zeros.
    let written = || {
        let totals = manager.store().counters().totals();
        totals.written + totals.saved_in_writing
    };
    let before = written();
    pause(&manager).unwrap();
    for (pointer, tensor) in pointers.iter().zip(&tensors) {
        assert_eq!(*pointer.pin().unwrap(), *tensor);
        assert_eq!((pointer.kind(), pointer.size()), (tensor.kind(), &tensor.size()[..]));
    }
    let bytes: usize = tensors.iter().map(|t| t.numel() * t.kind().elt_size_in_bytes()).sum();
    assert_eq!(written() - before, bytes as u64);
    assert_eq!(made.pin().unwrap().size(), [20, 30]);
}

#[test]
fn a_full_disk_at_any_write_is_an_error_and_loses_nothing() {
    for disk in disks() {
        let complete = (0..9).find(|&nth| {
            let folder = tempfile::tempdir().unwrap();
            let storage = Arc::new(FullDisk::at_call(nth, disk.clone()));
            let manager = manager(folder.path(), storage);
            let pointers = [manager.track("a", numbers()), manager.track("b", numbers())];
            let result = manager.precall_func();
            for pointer in &pointers {
                assert_eq!(*pointer.pin().unwrap(), numbers());
            }
            // A file that could not be written whole is not left behind.
            drop(pointers);
            assert_eq!(files(folder.path()), 0);
            result.map_err(|error| assert_eq!(error.exit_code(), 4, "{error}")).is_ok()
        });
        assert_eq!(complete, Some(4), "a file of two values, created, written and ended");
    }
}

#[test]
fn the_next_pause_tells_of_a_value_that_could_not_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Arc::new(FullDisk::at_call(1, DiskStorage::default()));
    let manager = manager(folder.path(), storage);
    // A value of less than 1 MiB would stay until the pause.
    let ones = Array::from_slice(&[1 << 20], &vec![1_u8; 1 << 20]).unwrap();
    let value = manager.track("value", ones);
    drop(Hold::new(&manager, &value, &Rc::new(Cell::new(true))));
    assert!(value.is_resident());
    let error = manager.precall_func().unwrap_err();
    assert_eq!(error.exit_code(), 4, "{error}");
    assert_eq!(value.pin().unwrap().bytes().len(), 1 << 20);
}

#[test]
fn a_bit_that_has_flipped_on_disk_is_noticed() {
    for disk in disks() {
        let folder = tempfile::tempdir().unwrap();
        let manager = manager(folder.path(), Arc::new(disk));
        let pointer = manager.track("x", numbers());
        pause(&manager).unwrap();
        flip_bit(folder.path(), 1200);
        let Err(error) = pointer.pin() else { panic!("a wrong value was given out") };
        assert!(error.kind() == ErrorKind::Corrupt, "{error}");
        // The next read of a sound file returns the value.
        flip_bit(folder.path(), 1200);
        assert_eq!(*pointer.pin().unwrap(), numbers());
    }
}

/// Four of seven elements are zeros.
fn mostly_zeros() -> Array {
    let elements: Vec<f32> =
        (0..300_007).map(|i| [0.0, -0.0, i as f32, 0.0, 0.0, 0.0, f32::NAN][i % 7]).collect();
    Array::from_slice(&[300_007], &elements).unwrap()
}

#[test]
fn zeros_are_left_out_of_files_and_come_back_as_the_same_bits() {
    for disk in disks() {
        let folder = tempfile::tempdir().unwrap();
        let manager = manager(folder.path(), Arc::new(disk));
        let pointer = manager.track("x", mostly_zeros());
        pause(&manager).unwrap();
        // The blocks, and the table of 80 bytes after them.
        for from_end in [200_000, 40] {
            flip_bit(folder.path(), from_end);
            let Err(error) = pointer.pin() else { panic!("a wrong value was given out") };
            assert!(error.kind() == ErrorKind::Corrupt, "{error}");
            flip_bit(folder.path(), from_end);
        }
        assert_eq!(pointer.pin().unwrap().bytes(), mostly_zeros().bytes());
        let totals = manager.store().counters().totals();
        assert_eq!(totals.written + totals.saved_in_writing, 4 * 300_007);
        assert!(totals.written < 2 * 300_007, "{totals:?}");
    }
}

#[test]
fn what_fits_without_its_zeros_stays_in_memory() {
    let len = 4 * 300_007;
    for disk in disks() {
        let folder = tempfile::tempdir().unwrap();
        let control = Arc::new(Control::in_memory(1, 1).unwrap());
        let manager = manager_keeping(folder.path(), Arc::new(disk), &control);
        manager.stand_in(1.0, None);
        let pointers = ["a", "b", "c"].map(|label| manager.track(label, mostly_zeros()));
        let resident = || pointers.each_ref().map(Pointer::is_resident);
        let written = || {
            let totals = manager.store().counters().totals();
            (totals.written, totals.written + totals.saved_in_writing)
        };
        let unchanged = |pointer: &Pointer<Array>| {
            assert_eq!(pointer.pin().unwrap().bytes(), mostly_zeros().bytes());
        };
        let pause_within = |share: u64| {
            control.set_parked_share(share);
            pause(&manager).unwrap();
            assert!(manager.resident_bytes() <= share, "{} of {share}", manager.resident_bytes());
        };
        pause_within(2 * len);
        assert_eq!((resident(), written()), ([false, false, true], (0, 0)));
        pause_within(len + len / 2);
        assert_eq!((resident(), written()), ([false; 3], (0, 0)));
        pointers.iter().for_each(unchanged);
        assert_eq!(resident(), [true; 3]);
        // The one that was used longest ago leaves, and the others stay packed.
        pause_within(len);
        assert_eq!((resident(), written().1), ([false; 3], len));
        let once = written().0;
        assert!(once < len / 2);
        // What is packed is written as it is.
        pause_within(0);
        assert_eq!(written(), (3 * once, 3 * len));
        pointers.iter().for_each(unchanged);
        // What has a file is kept packed to save reading, and leaves without being written again.
        pause_within(len);
        let read = || manager.store().counters().totals().read;
        let before = read();
        pointers[1..].iter().for_each(unchanged);
        assert_eq!(read(), before);
        pause_within(0);
        assert_eq!(written(), (3 * once, 3 * len));
    }
}

#[test]
fn a_read_that_fails_is_an_error_that_names_the_file() {
    for disk in disks() {
        let folder = tempfile::tempdir().unwrap();
        let manager = manager(folder.path(), Arc::new(disk));
        let pointer = manager.track("features", numbers());
        pause(&manager).unwrap();
        fs::write(file(folder.path()), "short").unwrap();
        let Err(error) = pointer.pin() else { panic!("a failed read gave a value") };
        assert!(error.to_string().contains("features-0.spill"), "{error}");
        assert_eq!(error.exit_code(), 3);
    }
}
