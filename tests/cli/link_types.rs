//! Guards against: links of one edge type that are learned from the edges they are to predict, or from rows of node types that
//! no run has learned; and partners of another type.

use std::collections::HashSet;
use std::path::Path;

use predicates::str::contains;

use super::common::{metrics, repository};
use super::program::sar;

const USERS: usize = 60;
const ITEMS: usize = 40;
const WIDTH: usize = 8;

/// Whether a user likes an item: most of those of the user's kind.
fn likes(user: usize, item: usize) -> bool {
    user % 4 == item % 4 && !(user * 7 + item * 3).is_multiple_of(5)
}

/// Users who like and have seen items, in three partitions; with features of nodes that say nothing, if there are any.
fn graph(folder: &Path, features: bool) {
    let write = |name: &str, lines: Vec<String>| {
        std::fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
    };
    let pairs = || (0..USERS).flat_map(|user| (0..ITEMS).map(move |item| (user, item)));
    let text = |(user, item): (usize, usize)| format!("{user} {item}");
    write("likes", pairs().filter(|(user, item)| likes(*user, *item)).map(text).collect());
    write("seen", pairs().filter(|(user, item)| (user + 5 * item) % 11 == 0).map(text).collect());
    let mut data = String::new();
    if features {
        for (ntype, count) in [("user", USERS), ("item", ITEMS)] {
            let rows = (0..count).map(|i| format!("{} {}", i % 3, (i * i) % 7));
            write(&format!("{ntype}-feat"), rows.collect());
            data.extend([" --node-data ", ntype, "/feat=", ntype, "-feat"]);
        }
    }
    let edges = "--edges user:likes:item=likes --edges user:seen:item=seen --reverse-edges";
    sar(folder, &format!("partition {edges}{data} --num-parts 3 --out graph")).success();
}

const TRAIN: &str = "--part-json graph/g.json --task link --mode sample --layers 2 --hidden 8 --fanouts 6,6 \
                     --batch-size 64 --dropout 0 --seed 4 --overwrite --out run --target-etype likes";

/// The value of a key in the last line of a run's metrics.
fn last(folder: &Path, key: &str) -> f64 {
    let line = metrics(&folder.join("run")).pop().unwrap();
    line[key].as_f64().unwrap_or_else(|| panic!("{key} is missing: {line}"))
}

/// The rows of a prediction: first those of items, then those of users.
fn rows(folder: &Path) -> Vec<Vec<f32>> {
    sar(folder, "predict --run run --order original --out rows.npy").success();
    let bytes = std::fs::read(folder.join("rows.npy")).unwrap();
    assert_eq!(bytes.len(), 128 + (USERS + ITEMS) * WIDTH * 4);
    let values: Vec<f32> =
        bytes[128..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    values.chunks(WIDTH).map(<[f32]>::to_vec).collect()
}

fn table(path: &Path) -> Vec<Vec<f32>> {
    let text = std::fs::read_to_string(path).unwrap();
    let cells = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    text.lines().skip(1).map(cells).collect()
}

/// Asks a run about users and items, and compares the answers with what its rows say.
fn check_answers(folder: &Path) {
    let rows = rows(folder);
    let score = |user: usize, item: usize| -> f32 {
        rows[ITEMS + user].iter().zip(&rows[item]).map(|(a, b)| a * b).sum()
    };
    let close = |a: f32, b: f32| (a - b).abs() <= 1e-4 * a.abs().max(1.0);
    let pairs = [(0, 0), (59, 39), (17, 3), (3, 17), (0, 0)];
    std::fs::write(folder.join("pairs"), pairs.map(|(u, i)| format!("{u} {i}\n")).concat())
        .unwrap();
    for order in ["original", "partition"] {
        sar(folder, &format!("predict --run run --order {order} --pairs pairs --out {order}.csv"))
            .success();
        let scored = table(&folder.join(format!("{order}.csv")));
        assert_eq!(scored.len(), pairs.len());
        if order == "original" {
            for ((user, item), line) in pairs.iter().zip(scored) {
                assert!(line[..2] == [*user as f32, *item as f32]);
                assert!(close(line[2], score(*user, *item)), "{line:?}: {}", score(*user, *item));
            }
        }
    }
    sar(folder, "predict --run run --top-k 3 --out partners.csv").success();
    let mut found: Vec<Vec<(usize, f32)>> = vec![Vec::new(); USERS];
    for line in table(&folder.join("partners.csv")) {
        let [user, rank, item, value] = line[..] else { panic!("{line:?}") };
        assert_eq!(found[user as usize].len() + 1, rank as usize);
        found[user as usize].push((item as usize, value));
    }
    for (user, found) in found.iter().enumerate() {
        let mut best: Vec<f32> =
            (0..ITEMS).filter(|item| !likes(user, *item)).map(|item| score(user, item)).collect();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        assert_eq!(found.len(), 3);
        for ((item, value), best) in found.iter().zip(best) {
            assert!(
                !likes(user, *item) && close(*value, best) && close(*value, score(user, *item))
            );
        }
    }
    std::fs::write(folder.join("some"), "5\n58\n").unwrap();
    sar(folder, "predict --run run --top-k 2 --of some --out some.csv").success();
    let users: HashSet<u32> =
        table(&folder.join("some.csv")).iter().map(|line| line[0] as u32).collect();
    assert_eq!(users, HashSet::from([5, 58]));
    std::fs::write(folder.join("wrong"), "0 40\n").unwrap();
    sar(folder, "predict --run run --pairs wrong --out wrong.csv")
        .code(1)
        .stderr(contains("node 40 is beyond the 40 nodes"));
}

#[test]
fn links_of_nodes_without_features_are_learned_with_rows_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graph(folder, false);
    let train = |more: &str| sar(folder, &format!("{TRAIN} --lr 0.02 {more}"));
    // No type has features, so rows are learned without the flag, too.
    train("--epochs 1").success().stderr(contains("given learned rows: item, user"));
    let error = train("--hetero sum --epochs 60").success();
    error
        .stderr(contains("given learned rows: item, user"))
        .stderr(contains("item:rev_likes:user holds their reverses"));
    // Without knowledge the AUC is 0.5, and the reciprocal rank 0.41. Kinds alone allow about 0.87: a quarter of the drawn items
    // are of the user's kind. Reverses of held-out edges would reveal more.
    let (auc, mrr) = (last(folder, "test_roc_auc"), last(folder, "test_mrr"));
    assert!(auc > 0.75 && auc < 0.95 && mrr > 0.6, "AUC {auc}, MRR {mrr}");
    let weights = std::fs::read(folder.join("run/model.safetensors")).unwrap();
    let saved = safetensors::SafeTensors::deserialize(&weights).unwrap();
    assert_eq!(saved.tensor("embeds.user.weight").unwrap().shape(), [USERS, WIDTH]);
    check_answers(folder);
    // Starting from these weights with a learning rate of 0 ends with them.
    std::fs::write(folder.join("start.safetensors"), &weights).unwrap();
    let again = "--hetero sum --epochs 1 --init-params start.safetensors";
    sar(folder, &format!("{TRAIN} --lr 0 {again}")).success();
    let ours = std::fs::read(folder.join("run/model.safetensors")).unwrap();
    let ours = safetensors::SafeTensors::deserialize(&ours).unwrap();
    for (key, tensor) in saved.iter() {
        assert_eq!(ours.tensor(key).unwrap().data(), tensor.data(), "{key}");
    }
}

#[test]
fn the_last_metrics_are_those_of_the_best_rows_on_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graph(folder, false);
    sar(folder, &format!("{TRAIN} --epochs 12 --lr 0.3 --keep best --split val=20%")).success();
    let lines = metrics(&folder.join("run"));
    let (end, epochs) = lines.split_last().unwrap();
    let best = end["epoch"].as_u64().unwrap() as usize;
    assert!(best < 12, "the best epoch is the last one, which shows nothing");
    assert_eq!(end["val_mrr"], epochs[best - 1]["validation"], "{lines:?}");
}

#[test]
fn values_of_embedded_columns_are_not_predicted_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = |i: usize| format!("u{i},u{}\nu{i},u{}\n", (i + 1) % 60, (i * 7 + 3) % 60);
    std::fs::write(folder.join("edges.csv"), (0..60).map(line).collect::<String>()).unwrap();
    let line = |i: usize| format!("u{i},{},c{},t{}\n", i % 5, i % 4, i % 3);
    let nodes = "id,x,city,tag\n".to_owned() + &(0..60).map(line).collect::<String>();
    std::fs::write(folder.join("nodes.csv"), nodes).unwrap();
    let table = "--undirected --node-table nodes.csv --id id --embed city --embed tag";
    let cut = format!("partition --edges edges.csv {table} --num-parts 2 --out graph");
    sar(folder, &cut).success();
    let train = "--part-json graph/g.json --task link --layers 1 --hidden 4 --fanouts 4 --batch-size 32 \
                 --score distmult --split val=20%,test=20% --epochs 1 --out run";
    sar(folder, train).success().stderr(contains("edges of type _N:_E:_N are predicted"));
    let weights = std::fs::read(folder.join("run/model.safetensors")).unwrap();
    let saved = safetensors::SafeTensors::deserialize(&weights).unwrap();
    assert_eq!(saved.tensor("score.weight").unwrap().shape(), [1, 4]);
    sar(folder, "predict --run run --out rows.npy").success();
    assert_eq!(std::fs::metadata(folder.join("rows.npy")).unwrap().len(), 128 + 60 * 4 * 4);
    sar(folder, "predict --run run --top-k 2 --out partners.csv").success();
    sar(folder, "predict --run run --split test --out ranks.csv").success();
    let line = |i: usize| format!("u{i},u{}\n", (i * 5 + 2) % 60);
    std::fs::write(folder.join("likes.csv"), (0..60).map(line).collect::<String>()).unwrap();
    let edges = "--edges _N:knows:_N=edges.csv --edges _N:likes:_N=likes.csv";
    let table = "--node-table nodes.csv --id id --embed city --embed tag";
    sar(folder, &format!("partition {edges} {table} --num-parts 2 --out relations")).success();
    sar(folder, &train.replace("graph/", "relations/").replace("--out run", "--out several"))
        .success()
        .stderr(contains("edges of type city:city_of:_N, tag:tag_of:_N only pass messages"));
    sar(folder, "predict --run several --split test --out several.csv").success();
    let ranks = std::fs::read_to_string(folder.join("several.csv")).unwrap();
    assert!(ranks.contains("likes") && !ranks.contains("_of"), "{ranks}");
}

#[test]
fn links_of_one_type_are_learned_by_one_layer_for_all_types_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graph(folder, true);
    sar(folder, &format!("{TRAIN} --model rgcn --epochs 2")).success();
    check_answers(folder);
}

#[test]
fn the_same_seed_gives_the_same_weights_whatever_runs_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graph(folder, false);
    let run = |more: &str| {
        sar(folder, &format!("{TRAIN} --hetero mean --epochs 2 --score bilinear {more}")).success();
        std::fs::read(folder.join("run/model.safetensors")).unwrap()
    };
    let whole = run("");
    for more in ["--sampler-threads 2 --threads 1", "--resident 3", "--memory-budget min"] {
        assert!(run(more) == whole, "{more}");
    }
    for more in ["--target-etype seen", "--reverse-etype rev_seen", "--seed 5"] {
        assert!(run(more) != whole, "{more}");
    }
}

#[test]
fn what_makes_no_sense_names_its_flag_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &str, problem: &str, remedy: &str| {
        let json = repository("tests/fixtures/hetero_uneven/g.json");
        let words = format!("--part-json {} --out run {more}", json.display());
        let error = sar(folder.path(), &words).code(1);
        error.stderr(contains(problem)).stderr(contains("hint: ")).stderr(contains(remedy));
        assert!(!folder.path().join("run").exists());
    };
    let link = |more: &str| format!("--task link --mode sample --fanouts 3,3,3 {more}");
    let types = "--target-etype names one of: author:writes:paper, field:of:paper";
    refused(&link("--target-etype buys"), "buys is unknown", types);
    refused(&link("--target-etype links"), "links is ambiguous", types);
    let wrong = link("--target-etype writes --reverse-etype of");
    refused(&wrong, "--reverse-etype: field:of:paper does not hold", "from paper to author");
    refused(&link("--target-type paper"), "--target-type: names nodes", "--target-etype TYPE");
    refused(
        &link("--reverse-etype links"),
        "--reverse-etype has no effect without --target-etype",
        "add --target-etype",
    );
    refused("--target-etype writes", "--target-etype has no effect", "--task link");
    // No edge ends at fields.
    let fit = "--target-etype TYPE, one of: author:writes:paper, paper:links:author, paper:links:paper; or add reverse edges";
    for more in ["--target-etype of", ""] {
        let problem = "error: --target-etype: no edge ends at a node of type field";
        refused(&link(more), problem, fit);
    }
    let problem = "error: --target-type: no edge ends at a node of type field";
    refused("--target-type field", problem, "add reverse edges");
    refused(
        &link("--target-etype writes --train-mask-key weight --val-mask-key weight"),
        "is in several masks",
        "not both",
    );
    let all = "--task link --mode sample --epochs 1 --layers 1 --fanouts 3 --out all";
    // Without features, each edge type has its own layer.
    graph(folder.path(), false);
    sar(folder.path(), &format!("--part-json graph/g.json {all}"))
        .success()
        .stderr(contains("next: sar-single predict --run all --split test --out ranks.csv"));
    sar(folder.path(), "predict --run all --top-k 2 --out top.csv")
        .code(1)
        .stderr(contains("the run predicts all edge types"))
        .stderr(contains("--target-etype TYPE"));
    // A pair of users does not say which type's score is asked for.
    sar(folder.path(), &format!("--part-json graph/g.json {all} --overwrite --score distmult"))
        .success();
    std::fs::write(folder.path().join("pairs"), "0 1\n").unwrap();
    sar(folder.path(), "predict --run all --pairs pairs --out top.csv")
        .code(1)
        .stderr(contains("--pairs: the run predicts all edge types, each with a score of its own"))
        .stderr(contains("--target-etype TYPE"));
    // Of one edge type, there is one that is meant.
    let karate = repository("data/karate/karate.json");
    let one = format!("--part-json {} {all} --hetero sum --overwrite", karate.display());
    sar(folder.path(), &one).success();
    sar(folder.path(), "predict --run all --top-k 2 --out top.csv").success();
}
