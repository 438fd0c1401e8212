//! Guards against: refusing or misreading a form of the JSON file that some version of DGL wrote, or a user's edit of it.

use crate::common::repository;
use crate::support::copy_folder;
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

type Change = fn(&mut Value);

/// A copy of a fixture whose JSON file is changed.
fn changed(fixture: &str, name: &str, change: impl Fn(&mut Value)) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&repository(fixture), folder.path());
    let path = folder.path().join(name);
    let mut json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut json);
    fs::write(&path, json.to_string()).unwrap();
    (folder, path)
}

fn karate(change: impl Fn(&mut Value)) -> (TempDir, sar::Result<PartitionConfig>) {
    let (folder, path) = changed("data/karate", "karate.json", change);
    (folder, PartitionConfig::open(&path))
}

#[test]
fn ranges_may_be_pairs_ends_per_type_or_ends_of_the_only_type() {
    let sound = PartitionConfig::open(&repository("data/karate/karate.json")).unwrap();
    let maps = [
        (json!({"_N": [17, 34]}), json!({"_N:_E:_N": [95, 190]})),
        (json!([17, 34]), json!([95, 190])),
    ];
    for (nodes, edges) in maps {
        let (_folder, config) = karate(|json| {
            json["node_map"] = nodes.clone();
            json["edge_map"] = edges.clone();
        });
        assert_eq!(config.unwrap().book(), sound.book());
    }
}

#[test]
fn types_may_be_absent_and_unknown_keys_present() {
    let (_folder, config) = karate(|json| {
        let fields = json.as_object_mut().unwrap();
        fields.remove("ntypes");
        fields.remove("etypes");
        fields.insert("edge_map".to_owned(), json!([95, 190]));
        fields.insert("written_by".to_owned(), json!({"someone": ["else"]}));
    });
    let config = config.unwrap();
    assert_eq!(config.book().etypes()[0].to_string(), "_N:_E:_N");
    assert_eq!(Partition::open(&config, 1).unwrap().num_inner_edges(), 95);
}

#[test]
fn short_relation_names_are_completed() {
    let (_folder, path) = changed("tests/fixtures/hetero", "g.json", |json| {
        // The form that DGL 0.9 would have written; relation names must differ there.
        let renamed = [
            ("author:writes:paper", "writes"),
            ("paper:links:author", "by"),
            ("paper:links:paper", "cites"),
        ];
        for field in ["etypes", "edge_map"] {
            let entries = json[field].as_object_mut().unwrap();
            for (long, short) in renamed {
                let entry = entries.remove(long).unwrap();
                entries.insert(short.to_owned(), entry);
            }
        }
    });
    let config = PartitionConfig::open(&path).unwrap();
    let names: Vec<String> = config.book().etypes().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["author:writes:paper", "paper:by:author", "paper:cites:paper"]);
    assert_eq!(config.notes().len(), 1, "{:?}", config.notes());
}

#[test]
fn files_are_found_by_their_last_two_names_wherever_the_path_leads() {
    for prefix in ["/nowhere/data", "out/run", "../elsewhere"] {
        let (_folder, config) = karate(|json| {
            for part in ["part-0", "part-1"] {
                for file in json[part].as_object_mut().unwrap().values_mut() {
                    *file = json!(format!("{prefix}/{}", file.as_str().unwrap()));
                }
            }
        });
        let config = config.unwrap();
        assert_eq!(config.notes().len(), 6, "{:?}", config.notes());
        assert!(Partition::open(&config, 0).is_ok());
    }
}

#[test]
fn what_cannot_be_understood_is_named() {
    let cases: [(Change, &str); 9] = [
        (|json| json["node_map"] = json!({"_N": [[0, 17], [18, 34]]}), "does not follow on 17"),
        (|json| json["node_map"] = json!({"_N": [[0, 17], [17, 3]]}), "does not follow on 17"),
        (
            |json| json["node_map"] = json!({"_N": [[0, 17], [17]]}),
            "node_map._N[1]: must be [start, end]",
        ),
        (
            |json| json["node_map"] = json!({"_N": [[0, 17], [17, "x"]]}),
            "node_map._N[1][1]: must be a whole number",
        ),
        (|json| json["node_map"] = json!({"other": [[0, 17], [17, 34]]}), "unknown type \"other\""),
        (|json| json["node_map"] = json!({}), "\"_N\" is missing"),
        (|json| json["node_map_dtype"] = json!("int16"), "must be int32 or int64"),
        (
            |json| json["part-1"] = json!({"node_feats": "a", "edge_feats": "b"}),
            "names neither part_graph nor",
        ),
        (|json| *json = json!([1]), "must be an object"),
    ];
    for (change, words) in cases {
        let (_folder, config) = karate(change);
        let error = config.unwrap_err();
        assert!(error.to_string().contains(words), "{error} does not say {words:?}");
        assert!(error.to_string().contains("karate.json"), "{error} does not name the file");
    }
}
