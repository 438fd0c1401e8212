//! The JSON files of partition directories, and of chunked graphs.

use crate::campaign::{Seed, run};
use crate::common::repository;
use crate::consume::{directory, raw};
use crate::folder::{copy, folder, partition_directories};
use crate::mutate::Syntax;
use sar::prepare::import::{GraphFiles, import};
use std::fs;
use std::path::Path;
use std::rc::Rc;

#[test]
fn partition_json() {
    let root = folder();
    let mut seeds = Vec::new();
    for (number, json) in partition_directories().iter().enumerate() {
        let target = root.path().join(number.to_string());
        copy(json.parent().unwrap(), &target);
        let path = target.join(json.file_name().unwrap());
        let content = fs::read(&path).unwrap();
        let file = path.clone();
        let read = Rc::new(move |way| directory(&file, way));
        seeds.push(Seed::new(content, Syntax::Json, &path, read));
    }
    for form in ["chunked_numpy", "chunked_parquet"] {
        let target = root.path().join(form);
        copy(&repository("tests/fixtures/chunked").join(form), &target);
        let path = target.join("metadata.json");
        let content = fs::read(&path).unwrap();
        let read = Rc::new(move |_| chunked(&target));
        seeds.push(Seed::new(content, Syntax::Json, &path, read));
    }
    run("partition_json", &seeds);
}

fn chunked(folder: &Path) -> sar::Result<()> {
    let files = GraphFiles::of_chunks(&folder.join("metadata.json"))?;
    raw(&import(&files, folder, 1 << 20, &mut |_, _| Ok(()))?)
}
