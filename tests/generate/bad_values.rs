//! Guards against: bad values that are noticed late, leave files behind, or are refused without naming the value and the
//! reason.

use crate::support::{KINDS, config, ignore};
use sar::prepare::generate::{GeneratorConfig, generate};
use sar::words::error::exit;

#[test]
fn every_bad_value_is_refused_by_its_flag_and_leaves_nothing() {
    type Change = fn(&mut GeneratorConfig);
    let cases: [(&str, Change); 17] = [
        ("nodes", |c| c.nodes = 0),
        ("nodes", |c| (c.nodes, c.classes, c.num_parts) = (1, 1, 1)),
        ("nodes", |c| c.nodes = u64::MAX),
        ("edges", |c| c.edges = 0),
        ("edges", |c| c.edges = u64::MAX),
        ("features", |c| c.features = 0),
        ("features", |c| c.features = u64::MAX),
        ("classes", |c| c.classes = 0),
        ("classes", |c| c.classes = 2001),
        ("classes", |c| c.classes = u64::MAX),
        ("num_parts", |c| c.num_parts = 0),
        ("num_parts", |c| c.num_parts = 2001),
        ("num_parts", |c| c.num_parts = u64::MAX),
        ("name", |c| c.name = String::new()),
        ("name", |c| c.name = "a/b".to_owned()),
        ("name", |c| c.name = "..".to_owned()),
        ("name", |c| c.name = "x".repeat(300)),
    ];
    for (field, change) in cases {
        let mut config = config(KINDS[0]);
        change(&mut config);
        let folder = tempfile::tempdir().unwrap();
        let error = generate(&config, &folder.path().join("x/y"), &mut ignore).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{field}: ")), "{error}");
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(error.exit_code(), exit::BAD_INPUT);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{error}");
    }
}

#[test]
fn a_graph_for_which_no_disk_has_room_is_refused_before_anything_is_written() {
    let mut config = config(KINDS[0]);
    (config.nodes, config.features) = (1 << 40, 1 << 20);
    let folder = tempfile::tempdir().unwrap();
    let error = generate(&config, &folder.path().join("x/y"), &mut ignore).unwrap_err();
    assert!(error.to_string().starts_with("the graph takes "), "{error}");
    assert!(error.hint().is_some(), "{error}");
    assert_eq!(error.exit_code(), exit::OUT_OF_RESOURCES);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{error}");
}
