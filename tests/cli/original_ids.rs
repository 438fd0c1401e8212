//! Ids of predictions: those that nodes had before the graph was cut, wherever they are known; else the column says what they are.

use std::fs;
use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::repository;
use super::program::sar;

fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

fn fixture(name: &str) -> String {
    repository(&format!("tests/fixtures/orig_ids/{name}")).display().to_string()
}

/// The numbers of an array behind a header of 128 bytes.
fn classes(folder: &Path, file: &str) -> Vec<i64> {
    let bytes = fs::read(folder.join(file)).unwrap();
    bytes[128..].as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
}

/// The columns of a table without its headings, as `column` picks them from a line.
fn column<T>(text: &str, column: impl Fn(&str) -> T) -> Vec<T> {
    text.lines().skip(1).map(column).collect()
}

const NOTE: &str = "holds no original ids of nodes";

#[test]
fn ids_of_partitions_are_called_so_and_a_mapping_gives_the_users_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // DGL has written it, without original ids.
    let json = repository("data/karate/karate.json");
    let train =
        format!("--part-json {} --layers 2 --hidden 8 --epochs 3 --out run", json.display());
    sar(folder, &train).success();
    let remedy = "pass --orig-ids FILE";
    let told = sar(folder, "predict --run run --out parts.csv").success();
    told.stderr(contains(NOTE).and(contains(remedy)).and(contains("return_mapping=True")));
    assert!(text(folder, "parts.csv").starts_with("partition_node,class\n0,"));
    sar(folder, "predict --run run --out parts.npy").success().stderr(contains(NOTE));
    // Those who ask for these ids know what they are.
    sar(folder, "predict --run run --out asked.csv --order partition")
        .success()
        .stderr(contains(NOTE).not());
    assert_eq!(text(folder, "asked.csv"), text(folder, "parts.csv"));
    sar(folder, "predict --run run --out x.csv --order original")
        .code(1)
        .stderr(contains("--orig-ids FILE"));

    let of_partitions = classes(folder, "parts.npy");
    let mut expected = vec![0; 34];
    for (node, class) in of_partitions.iter().enumerate() {
        expected[(5 * node + 3) % 34] = *class;
    }
    assert_ne!(expected, of_partitions);
    for file in ["one.pt", "pair.pt", "one.npy", "one.npz"] {
        let given = format!("--overwrite --orig-ids {}", fixture(file));
        sar(folder, &format!("predict --run run --out own.npy {given}"))
            .success()
            .stderr(contains(NOTE).not());
        assert_eq!(classes(folder, "own.npy"), expected, "{file}");
        sar(folder, &format!("predict --run run --out own.csv {given}")).success();
        let own = text(folder, "own.csv");
        assert!(own.starts_with("node,class\n"));
        let rows: Vec<String> =
            expected.iter().enumerate().map(|(node, class)| format!("{node},{class}")).collect();
        assert_eq!(column(&own, str::to_owned), rows, "{file}");
    }
    // Lists have the user's ids, too; another format and another command.
    fs::write(folder.join("list"), "7\n0\n").unwrap();
    let given = format!("--orig-ids {}", fixture("one.npy"));
    sar(folder, &format!("predict --run run --nodes list --out some.csv {given}")).success();
    let some = format!("node,class\n7,{}\n0,{}\n", expected[7], expected[0]);
    assert_eq!(text(folder, "some.csv"), some);
    sar(folder, &format!("correct-and-smooth --run run --out smooth.csv {given}")).success();
    assert!(text(folder, "smooth.csv").starts_with("node,class\n"));

    for (given, problem) in [
        (fixture("typed.pt"), "holds an array \"author\", which is not a node type"),
        (format!("paper={}", fixture("one.pt")), "unknown node type \"paper\""),
        ("list".to_owned(), "list: has shape [2], but the graph has 34 nodes of type _N"),
        ("missing.pt".to_owned(), "missing.pt: cannot be read"),
    ] {
        sar(folder, &format!("predict --run run --out x.csv --orig-ids {given}"))
            .code(1)
            .stderr(contains(problem));
    }
    assert!(!folder.join("x.csv").exists());
}

#[test]
fn answers_about_pairs_name_the_ids_that_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let json = repository("data/karate/karate.json");
    let train =
        "--task link --mode sample --layers 2 --hidden 4 --batch-size 32 --epochs 1 --out run";
    sar(folder, &format!("--part-json {} {train}", json.display())).success();
    fs::write(folder.join("pairs"), "0,33\n8,2\n").unwrap();
    fs::write(folder.join("own-pairs"), "3,32\n9,13\n").unwrap();
    let given = format!("--orig-ids {}", fixture("one.pt"));
    sar(folder, "predict --run run --pairs pairs --out pairs.csv").success().stderr(contains(NOTE));
    sar(folder, &format!("predict --run run --pairs own-pairs --out own-pairs.csv {given}"))
        .success();
    let (theirs, own) = (text(folder, "pairs.csv"), text(folder, "own-pairs.csv"));
    assert!(theirs.starts_with("partition_source,partition_destination,score\n"));
    assert!(own.starts_with("source,destination,score\n"));
    let score = |line: &str| line.rsplit(',').next().unwrap().to_owned();
    assert_eq!(column(&theirs, score), column(&own, score));
    sar(folder, "predict --run run --top-k 2 --out top.csv").success().stderr(contains(NOTE));
    assert!(text(folder, "top.csv").starts_with("partition_node,rank,partition_partner,score\n"));
    sar(folder, &format!("predict --run run --top-k 2 --out own-top.csv {given}")).success();
    assert!(text(folder, "own-top.csv").starts_with("node,rank,partner,score\n"));
    sar(folder, "predict --run run --top-k 2 --out top.npy").success().stderr(contains(NOTE));
}

#[test]
fn node_data_hold_original_ids_and_generated_graphs_never_had_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, value: &dyn Fn(usize) -> usize| {
        let lines: Vec<String> = (0..40).map(|i| format!("{}\n", value(i))).collect();
        fs::write(folder.join(name), lines.concat()).unwrap();
    };
    let edges: Vec<String> = (0..40).map(|i| format!("{i} {}\n", (i + 1) % 40)).collect();
    fs::write(folder.join("edges"), edges.concat()).unwrap();
    write("feat", &|i| i);
    write("label", &|i| i % 3);
    write("train", &|_| 1);
    write("ids", &|i| i);
    let data = "--node-data feat=feat --node-data label=label --node-data train_mask=train";
    let cut = "partition --edges edges --num-parts 2 --method random";
    sar(folder, &format!("{cut} {data} --node-data orig_id=ids --out g")).success();
    sar(folder, "--part-json g/g.json --layers 1 --epochs 1 --out run").success();
    let predict = "predict --run run --output logits";
    sar(folder, &format!("{predict} --out by-file.csv")).success();
    for part in 0..2 {
        fs::remove_file(folder.join(format!("g/part{part}/orig_nids.dgl"))).unwrap();
    }
    sar(folder, &format!("{predict} --out by-data.csv")).success().stderr(contains(NOTE).not());
    assert_eq!(text(folder, "by-data.csv"), text(folder, "by-file.csv"));

    // The same with ids of another graph.
    write("ids", &|i| 1000 + i);
    sar(folder, &format!("{cut} {data} --node-data orig_id=ids --out far")).success();
    for part in 0..2 {
        fs::remove_file(folder.join(format!("far/part{part}/orig_nids.dgl"))).unwrap();
    }
    sar(folder, &format!("{predict} --part-json far/g.json --out x.csv"))
        .code(1)
        .stderr(contains("orig_id").and(contains("--order partition")));

    sar(folder, "generate --nodes 60 --edges 200 --classes 3 --num-parts 2 --out made").success();
    sar(folder, "--part-json made/g.json --layers 1 --epochs 1 --out made-run").success();
    for order in ["", "--order original", "--order partition"] {
        sar(folder, &format!("predict --run made-run --out made.csv --overwrite {order}"))
            .success()
            .stderr(contains(NOTE).not());
        assert!(text(folder, "made.csv").starts_with("node,class\n0,"), "{order}");
    }
}

/// The tables of [`two_types`].
const TWO_TABLES: &str =
    "--node-table author=a.csv --id author=id --node-table paper=p.csv --id paper=id";

/// A graph of authors and papers with features of one width.
fn two_types(folder: &Path, labels: &str) {
    fs::write(
        folder.join("a.csv"),
        "id,h,y,split\nx1,1,prof,train\nx2,2,post,train\n5,3,prof,test\n",
    )
    .unwrap();
    fs::write(
        folder.join("p.csv"),
        "id,l,y,split\n5,1,ml,train\n6,2,db,train\n7,3,ml,val\n8,4,db,test\n9,5,ml,test\n",
    )
    .unwrap();
    fs::write(folder.join("w.csv"), "x1,6\nx2,5\n5,7\nx2,8\nx1,9\n").unwrap();
    let edges = "--edges author:writes:paper=w.csv --reverse-edges --num-parts 2 --method random";
    sar(folder, &format!("partition {TWO_TABLES} {labels} {edges} --out g")).success();
}

#[test]
fn only_types_that_were_trained_are_predicted_and_several_have_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    two_types(folder, "--label paper=y --split paper=split --drop author=y --drop author=split");
    let train = "--part-json g/g.json --layers 1 --epochs 2 --threads 1";
    sar(folder, &format!("{train} --out run")).success();
    for (command, file) in [("predict", "c.csv"), ("correct-and-smooth", "s.csv")] {
        sar(folder, &format!("{command} --run run --out {file}")).success();
        let table = text(folder, file);
        let node = |line: &str| line.split(',').next().unwrap().to_owned();
        assert_eq!(column(&table, node), ["5", "6", "7", "8", "9"], "{table}");
        assert!(table.starts_with("node,class\n") && !table.contains("prof"), "{table}");
    }
    sar(folder, "predict --run run --out c.npy").success();
    assert_eq!(classes(folder, "c.npy").len(), 5);
    sar(folder, "predict --run run --out x.csv --target-type author")
        .code(1)
        .stderr(contains("does not predict nodes of type \"author\""));

    // Labels on both, whose classes have names.
    let both = tempfile::tempdir().unwrap();
    let folder = both.path();
    two_types(folder, "--label paper=y --label author=y --split paper=split --split author=split");
    sar(folder, &format!("{train} --out run")).success();
    sar(folder, "predict --run run --out c.csv").success();
    let table = text(folder, "c.csv");
    assert!(table.starts_with("node,type,class\n"), "{table}");
    let nodes = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
    let expected = ["x1,author", "x2,author", "5,author"].into_iter();
    let expected: Vec<_> =
        expected.chain(["5,paper", "6,paper", "7,paper", "8,paper", "9,paper"]).collect();
    assert_eq!(column(&table, nodes), expected);
    fs::write(folder.join("five"), "5\n").unwrap();
    sar(folder, "predict --run run --nodes five --out x.csv")
        .code(1)
        .stderr(contains("is the name of nodes of several types").and(contains("--target-type")));
    sar(folder, "predict --run run --nodes five --target-type paper --out five.csv").success();
    assert!(text(folder, "five.csv").starts_with("node,class\n5,"));

    // With a layer per edge type, and outputs of its own for each.
    sar(folder, &format!("{train} --target-type author,paper --out both")).success();
    for (ntype, classes) in [("author", ["post", "prof"]), ("paper", ["db", "ml"])] {
        let file = format!("{ntype}.csv");
        sar(folder, &format!("predict --run both --target-type {ntype} --out {file}")).success();
        let class = |line: &str| line.rsplit(',').next().unwrap().to_owned();
        let found = column(&text(folder, &file), class);
        assert!(found.iter().all(|class| classes.contains(&class.as_str())), "{found:?}");
    }
    sar(folder, "partition --part-json g/g.json --num-parts 1 --out again").success();
    assert_eq!(text(folder, "again/class_names/paper.txt"), "db\nml\n");
}

#[test]
fn partners_of_several_types_have_their_types_and_are_of_types_that_edges_join() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let labels = "--drop author=y --drop author=split --drop paper=y --drop paper=split";
    two_types(folder, labels);
    let link = "--task link --layers 1 --hidden 4 --fanouts 3 --split val=0,test=0 --epochs 1";
    sar(folder, &format!("--part-json g/g.json {link} --threads 1 --out run")).success();
    let partners = |run: &str, heading: &str| {
        sar(folder, &format!("predict --run {run} --top-k 9 --overwrite --out partners.csv"))
            .success();
        let table = text(folder, "partners.csv");
        assert_eq!(table.lines().next(), Some(heading));
        let mut nodes = column(&table, |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            [0, 1, 3, 4].map(|cell| cells[cell].to_owned())
        });
        nodes.sort_unstable();
        nodes
    };
    let written = [("x1", "6"), ("x2", "5"), ("5", "7"), ("x2", "8"), ("x1", "9")];
    let papers = ["5", "6", "7", "8", "9"];
    let mut expected = Vec::new();
    for author in ["x1", "x2", "5"] {
        for paper in papers.iter().filter(|paper| !written.contains(&(author, **paper))) {
            let [author, paper] = [[author, "author"], [*paper, "paper"]];
            for [node, partner] in [[author, paper], [paper, author]] {
                expected.push([node[0], node[1], partner[0], partner[1]].map(str::to_owned));
            }
        }
    }
    expected.sort_unstable();
    let heading = "node,node_type,rank,partner,partner_type,score";
    assert_eq!(partners("run", heading), expected);
    // Ids count within the type.
    let of_partitions = "partition_node,node_type,rank,partition_partner,partner_type,score";
    let ids = partners("run --order partition", of_partitions);
    assert_eq!(ids.len(), expected.len());
    for [node, of_node, partner, of_partner] in ids {
        assert_ne!(of_node, of_partner);
        for (id, ntype) in [(node, of_node), (partner, of_partner)] {
            assert!(id.parse::<usize>().unwrap() < if ntype == "author" { 3 } else { 5 });
        }
    }
    // An author and a paper have this name.
    sar(folder, "predict --run run --top-k 1 --of 5 --out x.csv")
        .code(1)
        .stderr(contains("nodes of several types").and(contains("--target-etype")))
        .stderr(contains("--order partition"));

    // If no edge leads from papers, they have no partners.
    fs::write(folder.join("k.csv"), "x1,x2\n5,x1\n").unwrap();
    let edges = "--edges author:writes:paper=w.csv --edges author:knows:author=k.csv";
    let cut = "--num-parts 2 --method random --out one-way";
    sar(folder, &format!("partition {TWO_TABLES} {labels} {edges} {cut}")).success();
    let train = format!("--part-json one-way/g.json {link} --threads 1");
    sar(folder, &format!("{train} --out of-authors")).success();
    let mut found = partners("of-authors", heading);
    found.retain(|[_, of_node, _, of_partner]| of_node != of_partner);
    expected.retain(|[.., of_partner]| of_partner == "paper");
    assert_eq!(found, expected);
}

#[test]
fn a_mapping_by_type_may_leave_types_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let json = repository("tests/fixtures/hetero_uneven/g.json");
    let train =
        format!("--part-json {} --layers 1 --epochs 1 --threads 1 --out run", json.display());
    sar(folder, &train).success();
    sar(folder, "predict --run run --order partition --out parts.npy").success();
    let of_partitions = classes(folder, "parts.npy");
    let mut expected = vec![0; 14];
    for (node, class) in of_partitions.iter().enumerate() {
        expected[(5 * node + 3) % 14] = *class;
    }
    let typed = ["typed.pt", "typed.npz"].map(fixture);
    let papers = folder.join("papers.npy");
    let mut bytes = sar::io::npy_header(sar::io::Dtype::I64, &[14]).unwrap();
    bytes.extend((0..14_i64).flat_map(|node| ((5 * node + 3) % 14).to_le_bytes()));
    fs::write(&papers, bytes).unwrap();
    let papers = format!("paper={}", papers.display());
    for given in [&typed[0], &typed[1], &papers] {
        sar(folder, &format!("predict --run run --out own.npy --overwrite --spill-dir new/spill --orig-ids {given}"))
            .success();
        assert_eq!(classes(folder, "own.npy"), expected, "{given}");
    }
    sar(folder, &format!("predict --run run --out x.npy --orig-ids {}", fixture("one.npy")))
        .code(1)
        .stderr(contains("holds ids of one node type, but the graph has several"));
}
