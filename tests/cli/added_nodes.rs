//! Guards against: predictions for new nodes that differ from those on a graph cut with them, and mistakes in their files that pass or
//! leave something behind.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::program::sar;

const NODES: usize = 60;
const NEW: usize = 4;

/// Tables and edges of the graph, of what is added, and of both. Nodes have names or numbers.
fn files(folder: &Path, named: bool) {
    let name = |i: usize| if named { format!("n{}", i * 37 % 101) } else { i.to_string() };
    let row = |i: usize| {
        let colour = ["red", "green", "blue"][i * i % 3];
        format!("{},{},{},{colour}", name(i), i % 7, (i * 13 % 11) as f64 / 4.0)
    };
    let table = |nodes: std::ops::Range<usize>| -> String {
        nodes.map(|i| row(i) + [",a\n", ",b\n"][i % 2]).collect()
    };
    let heading = "id,x,y,colour,kind\n";
    fs::write(folder.join("nodes.csv"), format!("{heading}{}", table(0..NODES))).unwrap();
    fs::write(folder.join("all_nodes.csv"), format!("{heading}{}", table(0..NODES + NEW))).unwrap();
    // Without labels, and in another order of columns.
    let new: String = (NODES..NODES + NEW)
        .map(|i| {
            let row = row(i);
            let parts: Vec<&str> = row.split(',').collect();
            [parts[3], parts[0], parts[2], parts[1]].join(",") + "\n"
        })
        .collect();
    fs::write(folder.join("new_nodes.csv"), format!("colour,id,y,x\n{new}")).unwrap();
    let mut seen = BTreeSet::new();
    let mut lines = |pairs: &mut dyn Iterator<Item = (usize, usize)>| -> String {
        let mut text = String::new();
        for (i, (a, b)) in pairs.enumerate() {
            if a != b && seen.insert((a.min(b), a.max(b))) {
                writeln!(text, "{},{},{}", name(a), name(b), 0.5 + (i % 5) as f64 / 4.0).unwrap();
            }
        }
        text
    };
    let own = (0..4 * NODES).map(|i| (i * 17 % NODES, (i * i + 5 * i + 1) % NODES));
    let own = lines(&mut own.into_iter());
    let ends = (0..6 * NEW).map(|i| (NODES + i % NEW, i * 23 % (NODES + NEW)));
    let ends = ends.enumerate().map(|(i, (a, b))| if i % 3 == 0 { (b, a) } else { (a, b) });
    let new = lines(&mut ends.chain((0..20).map(|i| (i * 7 % NODES, i * 11 % NODES))));
    for (file, content) in
        [("edges", own.clone()), ("new_edges", new.clone()), ("all_edges", own + &new)]
    {
        let content = format!("source,target,weight\n{content}");
        fs::write(folder.join(format!("{file}.csv")), content).unwrap();
    }
    let want: String = (NODES..NODES + NEW).map(|i| name(i) + "\n").collect();
    fs::write(folder.join("want"), want).unwrap();
}

fn cut(folder: &Path, which: &str, flags: &str) {
    let words = format!(
        "partition {which}edges.csv --node-table {which}nodes.csv --label kind --scale none \
         --split random:0.6,0.2,0.2 --edge-columns weight --out {which}g --name g {flags}"
    );
    sar(folder, &words).success();
}

fn numbers(folder: &Path, file: &str) -> Vec<(String, Vec<f64>)> {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let row = |line: &str| {
        let (name, values) = line.split_once(',').unwrap();
        (name.to_owned(), values.split(',').map(|value| value.parse().unwrap()).collect())
    };
    text.lines().skip(1).map(row).collect()
}

fn has_spilled(folder: &Path) -> bool {
    folder.join("spill").exists()
}

#[test]
fn new_nodes_are_predicted_as_on_a_graph_cut_with_them() {
    let models = [
        "sage",
        "sage --aggregator pool",
        "gcn",
        "gcn --edge-weight-key weight",
        "gat",
        "gatv2",
        "egat --edge-features-key weight",
        "gin",
        "rgcn",
        "tag",
        "gcn2",
        "appnp",
        "sgc",
    ];
    // Partitions, names, flags of partitioning.
    let cuts = [
        (1, false, ""),
        (1, true, "--undirected"),
        (4, false, "--undirected --self-loops add"),
        (4, true, "--dedup"),
    ];
    for (number, (parts, named, flags)) in cuts.into_iter().enumerate() {
        let here = tempfile::tempdir().unwrap();
        let here = here.path();
        files(here, named);
        for which in ["", "all_"] {
            cut(here, which, &format!("--num-parts {parts} {flags}"));
        }
        for (at, model) in models.iter().enumerate() {
            // GCN and GraphSAGE on all graphs, others on two.
            if at > 3 && at % 2 != number % 2 {
                continue;
            }
            let layers = if *model == "sgc" { "" } else { "--hidden 8 --layers 2" };
            let train = format!("{layers} --epochs 2 --threads 1 --spill-dir spill --out");
            sar(here, &format!("--part-json g/g.json --model {model} {train} run{at}")).success();
            let predict = format!("predict --run run{at} --output logits --overwrite");
            sar(
                here,
                &format!(
                    "{predict} --add-nodes new_nodes.csv --add-edges new_edges.csv --out new.csv"
                ),
            )
            .success();
            assert!(!has_spilled(here));
            sar(here, &format!("{predict} --part-json all_g/g.json --nodes want --out want.csv"))
                .success();
            let (found, wanted) = (numbers(here, "new.csv"), numbers(here, "want.csv"));
            assert_eq!(found.len(), NEW);
            if parts == 1 {
                assert_eq!(found, wanted, "{model} {flags}");
            }
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found.0, wanted.0);
                for (a, b) in found.1.iter().zip(&wanted.1) {
                    assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{model} {flags}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn other_nodes_and_pairs_see_what_is_added() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    files(here, true);
    for which in ["", "all_"] {
        cut(here, which, "--num-parts 2");
    }
    let train = "--hidden 8 --layers 2 --epochs 2 --threads 1 --spill-dir spill";
    sar(here, &format!("--part-json g/g.json {train} --out run")).success();
    let predict = "predict --run run --output logits --overwrite";
    let added = "--add-nodes new_nodes.csv --add-edges new_edges.csv";
    sar(here, &format!("{predict} {added} --split all --out found.csv")).success();
    sar(here, &format!("{predict} --part-json all_g/g.json --out wanted.csv")).success();
    let (found, wanted) = (numbers(here, "found.csv"), numbers(here, "wanted.csv"));
    assert_eq!(found.len(), NODES + NEW);
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found.0, wanted.0);
        assert!(found.1.iter().zip(&wanted.1).all(|(a, b)| (a - b).abs() < 1e-4));
    }
    // Edges alone change known nodes.
    let known = "--add-edges known.csv --out found.csv";
    let text = fs::read_to_string(here.join("edges.csv")).unwrap();
    let line = text.lines().nth(1).unwrap();
    let mut ends = line.split(',');
    let (a, b) = (ends.next().unwrap(), ends.next().unwrap());
    fs::write(here.join("known.csv"), format!("source,target\n{b},{a}\n")).unwrap();
    sar(here, &format!("{predict} {known}")).success();
    assert_eq!(numbers(here, "found.csv").len(), NODES);

    sar(here, &format!("--part-json g/g.json --task link --mode sample {train} --out links"))
        .success();
    let new = fs::read_to_string(here.join("want")).unwrap();
    let new: Vec<&str> = new.lines().collect();
    fs::write(here.join("pairs"), format!("{},{a}\n{},{}\n", new[0], new[1], new[2])).unwrap();
    let predict = "predict --run links --overwrite";
    sar(here, &format!("{predict} {added} --pairs pairs --out found.csv")).success();
    sar(here, &format!("{predict} --part-json all_g/g.json --pairs pairs --out wanted.csv"))
        .success();
    let score = |file| -> Vec<f64> {
        let text = fs::read_to_string(here.join(file)).unwrap();
        text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    let (found, wanted) = (score("found.csv"), score("wanted.csv"));
    assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?} {wanted:?}");
    sar(here, &format!("{predict} {added} --top-k 2 --out partners.csv")).success();
    let partners = fs::read_to_string(here.join("partners.csv")).unwrap();
    assert_eq!(partners.lines().count(), 1 + 2 * NEW, "{partners}");
}

#[test]
fn mistakes_are_named_and_leave_nothing_behind() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    files(here, false);
    cut(here, "", "--num-parts 2");
    let train = "--hidden 8 --layers 1 --epochs 1 --threads 1 --spill-dir spill";
    sar(here, &format!("--part-json g/g.json {train} --out run")).success();
    let feat: String = (0..NODES).map(|i| ["0 1\n", "1 0\n", "2 4\n"][i % 3]).collect();
    let label: String = (0..NODES).map(|i| ["0\n", "1\n"][i % 2]).collect();
    fs::write(here.join("feat.txt"), feat).unwrap();
    fs::write(here.join("label.txt"), label).unwrap();
    sar(here, "partition edges.csv --node-data feat=feat.txt --node-data label=label.txt --split random:0.6,0.2,0.2 --num-parts 2 --out plain --name g").success();
    sar(here, &format!("--part-json plain/g.json {train} --out plain-run")).success();
    let mut all = String::new();
    for (run, nodes, edges) in [
        ("run", "id,x,y,colour\n60,1,2,red\n", "source,target\n60,99\n"),
        ("run", "id,x,y,colour\n59,1,2,red\n", "source,target\n60,1\n"),
        ("run", "id,x,y,colour\n61,1,2,red\n", "source,target\n60,1\n"),
        ("run", "id,x,colour\n60,1,red\n", "source,target\n60,1\n"),
        ("run", "id,x,y,colour\n60,1,2,pink\n", "source,target\n60,1\n"),
        ("run", "id,x,y,colour\n60,,2,red\n", "source,target\n60,1\n"),
        ("run", "x,y,colour\n1,2,red\n", "source,target\n60,1\n"),
        ("plain-run", "id,a\n60,1\n", "source,target\n60,1\n"),
        ("plain-run", "id,a,b\n60,1,many\n", "source,target\n60,1\n"),
    ] {
        fs::write(here.join("n.csv"), nodes).unwrap();
        fs::write(here.join("e.csv"), edges).unwrap();
        let words = format!("predict --run {run} --add-nodes n.csv --add-edges e.csv --out o.csv");
        let output = sar(here, &words).code(1);
        all += &String::from_utf8_lossy(&output.get_output().stderr);
        assert!(!here.join("o.csv").exists() && !has_spilled(here), "{nodes}");
    }
    for flags in [
        "--add-nodes paper=n.csv",
        "--add-edges a:b:c=e.csv",
        "--add-nodes n.csv --order partition",
    ] {
        let output = sar(here, &format!("predict --run run {flags} --out o.csv")).code(1);
        all += &String::from_utf8_lossy(&output.get_output().stderr);
    }
    insta::assert_snapshot!(all);
}
