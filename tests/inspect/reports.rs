//! Guards against: reports that change unnoticed.

use crate::common::repository;
use crate::support::inspect;

fn report(json: &str) -> String {
    let output = inspect(&repository(""), json).assert().success().stderr("").get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_karate_club_is_shown() {
    insta::assert_snapshot!(report("data/karate/karate.json"));
}

#[test]
fn a_graph_of_several_types_is_shown() {
    insta::assert_snapshot!(report("tests/fixtures/hetero/g.json"));
}
