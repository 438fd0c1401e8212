//! Guards against: graphs and other people's files that are overwritten or mixed with a new graph.

use std::fs;

use crate::common::files;
use crate::support::{KINDS, config, ignore};
use sar::prepare::generate::{GeneratorConfig, generate};
use sar::words::error::exit;

#[test]
fn a_folder_with_a_graph_of_that_name_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    generate(&config(KINDS[0]), folder.path(), &mut ignore).unwrap();
    let before = files(folder.path());
    let config = GeneratorConfig { seed: 1, ..config(KINDS[0]) };
    let error = generate(&config, folder.path(), &mut ignore).unwrap_err();
    assert!(error.to_string().contains("already holds graph g"), "{error}");
    assert!(error.hint().unwrap().contains("remove that folder, or choose another"));
    assert_eq!(error.exit_code(), exit::BAD_INPUT);
    assert!(files(folder.path()) == before);
}

#[test]
fn a_folder_with_anything_else_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "x").unwrap();
    let error = generate(&config(KINDS[0]), folder.path(), &mut ignore).unwrap_err();
    assert!(error.to_string().contains("is not empty: it holds thesis.tex"), "{error}");
    assert_eq!(files(folder.path()), [("thesis.tex".to_owned(), b"x".to_vec())]);
    let file = folder.path().join("thesis.tex");
    let error = generate(&config(KINDS[0]), &file, &mut ignore).unwrap_err();
    assert!(error.to_string().contains("is not a folder"), "{error}");
    let error = generate(&config(KINDS[0]), &file.join("x"), &mut ignore).unwrap_err();
    assert!(error.to_string().contains("thesis.tex/x: cannot be created"), "{error}");
    assert!(error.hint().unwrap().contains("name another place"), "{error:?}");
}
