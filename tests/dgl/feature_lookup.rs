//! Guards against: a key that silently picks another feature than the user meant, or none.

use crate::support::write_directory;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{Feature, Partition};
use sar::graph::{CanonicalEtype, PartitionBook};
use std::sync::Arc;
use tempfile::TempDir;

/// One partition with features (type, name) of nodes; types are `author` and `paper`.
fn partition(features: &[(usize, &str)]) -> (TempDir, Partition) {
    let folder = tempfile::tempdir().unwrap();
    let names = vec!["author".to_owned(), "paper".to_owned()];
    let etypes = vec![CanonicalEtype::new("author", "writes", "paper")];
    let book = PartitionBook::new(names, etypes, &[vec![2, 1]], &[vec![1]]).unwrap();
    let json = write_directory(folder.path(), Arc::new(book), features, &[&[(0, 2)]]);
    let partition = Partition::open(&PartitionConfig::open(&json).unwrap(), 0).unwrap();
    (folder, partition)
}

fn keys(found: Vec<Option<&Feature>>) -> Vec<Option<&str>> {
    found.into_iter().map(|feature| feature.map(Feature::key)).collect()
}

#[test]
fn a_name_means_that_feature_of_every_type_that_has_it() {
    let (_folder, partition) = partition(&[(0, "feat"), (1, "feat"), (1, "label")]);
    let set = partition.node_features();
    assert_eq!(keys(set.lookup("feat").unwrap()), [Some("author/feat"), Some("paper/feat")]);
    assert_eq!(keys(set.lookup("label").unwrap()), [None, Some("paper/label")]);
}

#[test]
fn a_whole_key_means_that_feature_only() {
    let (_folder, partition) = partition(&[(0, "feat"), (1, "feat")]);
    assert_eq!(
        keys(partition.node_features().lookup("paper/feat").unwrap()),
        [None, Some("paper/feat")]
    );
}

#[test]
fn an_exact_name_wins_over_longer_names_with_that_end() {
    let (_folder, partition) = partition(&[(1, "old_feat"), (1, "feat")]);
    assert_eq!(keys(partition.node_features().lookup("feat").unwrap()), [None, Some("paper/feat")]);
    assert_eq!(
        keys(partition.node_features().lookup("d_feat").unwrap()),
        [None, Some("paper/old_feat")]
    );
}

#[test]
fn names_may_hold_slashes() {
    let (_folder, partition) = partition(&[(0, "emb/first"), (1, "emb/first"), (1, "emb/last")]);
    let found = partition.node_features().lookup("emb/first").unwrap();
    assert_eq!(keys(found), [Some("author/emb/first"), Some("paper/emb/first")]);
    assert_eq!(
        keys(partition.node_features().lookup("last").unwrap()),
        [None, Some("paper/emb/last")]
    );
}

#[test]
fn no_match_and_several_matches_list_the_keys_there_are() {
    let (_folder, partition) = partition(&[(1, "a_mask"), (1, "b_mask")]);
    for (key, problem) in [
        ("mask", "matches several features"),
        ("labels", "does not match any"),
        ("", "does not match any"),
    ] {
        let error = partition.node_features().lookup(key).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert_eq!(error.hint().as_deref(), Some("it holds: paper/a_mask, paper/b_mask"));
    }
    let error = partition.edge_features().lookup("w").unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("the file holds no features"));
}
