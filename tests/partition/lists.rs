//! Guards against: lists that become one word, or another list.

use parquet::data_type::Int64Type;
use predicates::str::contains;

use super::as_they_are::tables;
use super::columns::{refused, sar};
use super::support::{lines, parquet_column, parquet_file, table, write};

/// Features and labels of three nodes whose table is JSON or text.
fn stored(file: &str, text: &str, flags: &str) -> Vec<(String, Vec<f64>)> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "e.csv", "0,1\n1,2\n2,0\n");
    write(folder.path(), file, text);
    tables(folder.path(), &format!("--edges e.csv --node-table {file} --scale none{flags}"))
}

#[test]
fn lists_of_words_have_a_column_for_each_word() {
    let due = [table("_N/feat uint8 [3]", &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])];
    for (file, text) in [
        (
            "n.csv",
            "id,x\n0,\"[\"\"a\"\", \"\"b\"\"]\"\n1,[]\n2,\"['c, d']\"\n".replace("'c, d'", "'c'"),
        ),
        ("n.csv", "id;x\n0;['b', 'a']\n1;[]\n2;['c']\n".to_owned()),
        (
            "n.json",
            "{\"id\":0,\"x\":[\"a\",\"b\"]}\n{\"id\":1,\"x\":[]}\n{\"id\":2,\"x\":[\"c\"]}\n"
                .to_owned(),
        ),
        ("n.json", "{\"0\": [\"a\", \"b\"], \"1\": [],\n \"2\": [\"c\"]}\n".to_owned()),
        // Features of nodes as numbers of words, as in the MUSAE data sets.
        ("n.json", "{\"0\":[3,5],\"1\":[],\"2\":[40]}".to_owned()),
    ] {
        assert_eq!(stored(file, &text, ""), due, "{text}");
    }
    let genres = "id,genres,year\n0,Drama|Comedy,1999\n1,Drama,2001\n2,Sci-Fi|Drama,2003\n";
    let rows = [1.0, 1.0, 0.0, 1999.0, 0.0, 1.0, 0.0, 2001.0, 0.0, 1.0, 1.0, 2003.0];
    assert_eq!(stored("n.csv", genres, ""), [table("_N/feat float32 [4]", &rows)]);
    let missing = "id,x\n0,a|b\n1,\n2,b\n";
    let filled = stored("n.csv", missing, " --fill-missing mean");
    assert_eq!(filled, [table("_N/feat float32 [2]", &[1.0, 1.0, 0.5, 1.0, 0.0, 1.0])]);
    let folder = tempfile::tempdir().unwrap();
    let titles = (0..40).map(|i| format!("{i},title {i}{}\n", if i == 7 { " | more" } else { "" }));
    write(folder.path(), "n.csv", &("id,title\n".to_owned() + &titles.collect::<String>()));
    write(folder.path(), "e.csv", "0,1\n");
    let words = "--edges e.csv --node-table n.csv";
    refused(folder.path(), words, "column title holds 40 different strings");
    // Words that only look like lists.
    let plain = "id,x\n0,[deleted]\n1,ann\n2,[deleted]\n";
    assert_eq!(stored("n.csv", plain, "")[0].0, "_N/feat float32 [2]");
}

#[test]
fn lists_of_as_many_numbers_are_rows() {
    let due = [table("_N/feat float32 [2]", &[0.5, 1.0, 1.0, 2.0, 3.0, 4.0])];
    for text in [
        "id,x\n0,\"[0.5, 1]\"\n1,\"[1, 2]\"\n2,\"[3, 4]\"\n",
        "id,x\n0,[0.5 1. ]\n1,[1. 2. ]\n2,[3. 4. ]\n",
        // As DGL's CSVDataset writes features.
        "id,x\n0,\"0.5, 1\"\n1,\"1, 2\"\n2,\"3, 4\"\n",
    ] {
        assert_eq!(stored("n.csv", text, ""), due, "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n2,0\n");
    write(here, "n.csv", "id,x\n0,\"[1, 3]\"\n1,\"[3, 3]\"\n2,\"[5, 3]\"\n");
    sar(here, "--edges e.csv --node-table n.csv --num-parts 1 --out o")
        .success()
        .stderr(contains("feat has 2 columns (x[0], x[1])"));
    let scale = std::fs::read_to_string(here.join("o/feature_scale.csv")).unwrap();
    assert!(scale.contains("\"_N\",\"x[0]\",3.0,1.632"), "{scale}");
    write(here, "n.csv", "id,x\n0,\"[0.5, 1]\"\n1,[0.1]\n2,[2]\n");
    let several = "column x holds lists of numbers of several lengths";
    refused(here, "--edges e.csv --node-table n.csv", several);
    write(here, "n.csv", "id,x\n0,\"[2.0, 1]\"\n1,[1.0]\n2,[2.0]\n");
    refused(here, "--edges e.csv --node-table n.csv", several);
}

#[test]
fn several_labels_have_a_column_for_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n2,0\n");
    let words = "--edges e.csv --node-table n.csv --label y";
    write(here, "n.csv", "id,y\n0,b|a\n1,\n2,c\n");
    let found = tables(here, words);
    assert_eq!(found[0].0, "_N/label float32 [3]");
    assert_eq!(found[0].1[..3], [1.0, 1.0, 0.0]);
    assert!(found[0].1[3..6].iter().all(|value| value.is_nan()), "{found:?}");
    assert_eq!(found[0].1[6..], [0.0, 0.0, 1.0]);
    let names = std::fs::read_to_string(here.join("o/class_names.txt")).unwrap();
    assert_eq!(names, "a\nb\nc\n");
    // Classes that are numbers, in their order.
    write(here, "n.csv", "id,y\n0,10|2\n1,2\n2,10\n");
    let due = table("_N/label float32 [2]", &[1.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(tables(here, words), [due]);
    write(here, "n.csv", "id,y\n0,\"[0, 1, 1]\"\n1,\"[0, 0, 0]\"\n2,\"[1, 0, 1]\"\n");
    let bits = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    assert_eq!(tables(here, words), [table("_N/label float32 [3]", &bits)]);
    let rows = "{\"id\":0,\"y\":[0,1,1]}\n{\"id\":1,\"y\":[0,0,0]}\n{\"id\":2,\"y\":[1,0,1]}\n";
    write(here, "n.json", rows);
    let found = tables(here, &words.replace("csv --label", "json --label"));
    assert_eq!(found, [table("_N/label float32 [3]", &bits)]);
    for (rows, problem, remedy) in [
        ("[1,null,0]", "lists with missing values", "leave the field empty"),
        ("\"[1, nan, 0]\"", "lists with missing values", "write 0 in their places"),
        (
            "[0.5,1]",
            "lists of numbers other than whole ones",
            "--node-data label=FILE.npy, and leave the column out: --drop y",
        ),
    ] {
        write(here, "n.json", &lines((0..3).map(|id| format!("{{\"id\":{id},\"y\":{rows}}}"))));
        refused(here, &words.replace("csv --label", "json --label"), problem)
            .stderr(contains(remedy));
    }
    // The second list is [1, missing, 0].
    let schema = "message m { required int64 id; optional group y (LIST) { repeated group list { \
                  optional int64 element; } } }";
    parquet_file(&here.join("n.parquet"), schema, |rows| {
        parquet_column::<Int64Type>(rows, &[0, 1, 2], None, None);
        let (levels, repeats) = ([3, 3, 3, 2, 3, 3], [0, 1, 0, 1, 1, 0]);
        parquet_column::<Int64Type>(rows, &[0, 1, 1, 0, 1], Some(&levels), Some(&repeats));
    });
    refused(here, &words.replace("csv --label", "parquet --label"), "lists with missing values");
    write(
        here,
        "e.json",
        "{\"source\":[\"a\",\"b\"],\"target\":[\"b\"]}\n{\"source\":[],\"target\":[]}\n",
    );
    refused(here, "--edges e.json --node-ids string", "column source holds lists");
    let row = |id: u64| format!("{{\"id\":{id},\"train_mask\":[1,0],\"y\":[{id},2]}}\n");
    write(here, "n.json", &(0..3).map(row).collect::<String>());
    let words = "--edges e.csv --node-table n.json";
    refused(here, &format!("{words} --drop y"), "column train_mask holds 2 values in each row")
        .stderr(contains("choose one with --split-index K"));
    refused(here, &format!("{words} --embed y --drop train_mask"), "column y holds 2 values");
}
