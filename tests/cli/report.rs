//! `report` writes one page about runs, whatever state they are in.

use std::path::Path;

use predicates::str::contains;

use super::common::{epochs, repository};
use super::program::sar;

fn train(folder: &Path, words: &str) {
    let json = repository("data/karate/karate.json");
    let shape = "--layers 2 --hidden 8";
    sar(folder, &format!("--part-json {} {shape} {words}", json.display())).success();
}

fn page(folder: &Path, runs: &str) -> String {
    sar(folder, &format!("report {runs} --out page.html --overwrite"))
        .success()
        .stdout("page.html\n");
    std::fs::read_to_string(folder.join("page.html")).unwrap()
}

/// The elements that are still open at the end.
fn unclosed(html: &str) -> Vec<String> {
    let mut open = ["html", "head"].map(str::to_owned).to_vec();
    let (_, body) = html.split_once("</style>").unwrap();
    for tag in body.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("<{tag} is not closed"));
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "in {tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    open
}

#[test]
fn a_page_shows_all_that_a_run_has_recorded_and_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 12 --schedule cosine --memory-budget 1GiB --out run");
    let html = page(folder, "run");
    for title in [
        "Loss",
        "Accuracy",
        "Learning rate",
        "Seconds per epoch",
        "Memory against budget",
        "Bytes per epoch against plan and bound",
        "Turns of epoch 12 of run",
        "nodes of run",
        "Settings",
    ] {
        assert!(html.contains(title), "{title} is missing");
    }
    assert!(html.contains("written in all epochs") && !html.contains("endurance"));
    assert!(page(folder, "run --disk-endurance 1GB").contains(" % of the drive"));
    assert!(html.contains("of 1.00 GiB") && html.contains("class=\"matrix "));
    for elsewhere in ["<script", "http:", "https:", "<link rel=\"style", "@import", "url("] {
        assert!(!html.contains(elsewhere), "the page loads {elsewhere}");
    }
    assert!(html.contains("prefers-color-scheme:dark") && html.contains("width=device-width"));
    assert_eq!(unclosed(&html), Vec::<String>::new(), "elements are open");
    let turns = std::fs::read_to_string(folder.join("run/turns.json")).unwrap();
    let turns: serde_json::Value = serde_json::from_str(&turns).unwrap();
    let ranks = turns["ranks"].as_array().unwrap();
    assert!(ranks.len() > 1);
    for spans in ranks {
        let spans = spans.as_array().unwrap();
        // Two layers: forward, backward, gradients.
        assert!(spans.len() >= 3, "{spans:?}");
        assert!(spans.iter().all(|span| span["begin_s"].as_f64() <= span["end_s"].as_f64()));
    }
}

/// The text between two others, the first of which is there once.
fn between<'t>(html: &'t str, begin: &str, end: &str) -> &'t str {
    let (_, rest) = html.split_once(begin).unwrap_or_else(|| panic!("{begin} is missing"));
    rest.split(end).next().unwrap()
}

#[test]
fn a_page_begins_with_what_is_asked_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 6 --eval-every 2 --lr 0.05 --memory-budget 1GiB --out run");
    let html = page(folder, "run");
    let sections: Vec<&str> =
        html.split("<h2>").skip(1).map(|rest| rest.split("</h2>").next().unwrap()).collect();
    let expected =
        ["Learning curves", "Final scores", "Time and memory", "Turns and bytes", "Settings"];
    assert_eq!(sections, expected);
    // Learning curves have the largest cards.
    assert!(between(&html, "Learning curves</h2>", ">Loss<").contains("cards large"));
    assert_eq!(
        between(&html, "<title>", "</title>"),
        "run · karate/karate.json · sage, 2 layers, 8 wide"
    );
    let facts = between(&html, "<p class=\"facts\">", "</p>");
    assert!(facts.contains("34 nodes, ") && facts.contains(" UTC, took "), "{facts}");
    // Curves of evaluated epochs are those without dropout, and the best one is marked.
    let mut best = (0, f64::MIN);
    for line in epochs(&folder.join("run")) {
        let (epoch, score) = (line["epoch"].as_u64().unwrap(), line["validation"].as_f64());
        if let Some(score) = score.filter(|score| *score > best.1) {
            best = (epoch, score);
        }
    }
    let accuracy = between(&html, "<h3>Accuracy</h3>", "</figure>");
    assert!(accuracy.contains(">validation<") && !accuracy.contains("with dropout"));
    let mark = format!("best validation in epoch {}<", best.0);
    assert!(accuracy.contains(&mark) && accuracy.contains("class=\"ring "), "{mark}");
    assert!(between(&html, "<h3>Loss</h3>", "</figure>").contains(&mark));
    assert!(between(&html, "Final scores</h2>", "</table>").contains("<th scope=\"row\">accuracy"));
    // Settings that are not the defaults come first, with units.
    let unusual = between(&html, "Not the defaults:", "</table>");
    for (key, value) in [("optimizer.lr", "0.05"), ("memory_budget", "1.00 GiB")] {
        assert!(unusual.contains(&format!("{key}</th><td>{value}</td>")), "{unusual}");
    }
    assert!(
        !unusual.contains("seed") && between(&html, "<details>", "</details>").contains("seed")
    );
    // On a phone a row is a list, and turns are as wide as their card.
    assert!(html.contains("<td data-name=\"peak memory\">"));
    assert!(between(&html, "<div class=\"turns\"", "</figure>").contains("preserveAspectRatio"));
    assert!(!html.contains("min-width:900px"));
}

#[test]
fn a_loss_over_decades_has_a_logarithmic_axis_and_one_without_value_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 1 --out run");
    let of_losses = |losses: &[Option<f64>]| {
        let lines = losses.iter().enumerate().map(|(i, loss)| {
            serde_json::json!({"event": "epoch", "epoch": i + 1, "loss": loss}).to_string() + "\n"
        });
        std::fs::write(folder.join("run/metrics.jsonl"), lines.collect::<String>()).unwrap();
        page(folder, "run")
    };
    let html = of_losses(&[Some(30.0), Some(1.0), Some(0.002)]);
    assert!(between(&html, "<h3>Loss</h3>", "</figure>").contains("Logarithmic axis."));
    assert!(!of_losses(&[Some(3.0), Some(1.0)]).contains("Logarithmic axis."));
    let html = of_losses(&[Some(1.0), None, None]);
    assert!(html.contains("not finite in 2 of 3 epochs, first in epoch 2."));
}

#[test]
fn a_page_says_how_a_run_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 2 --checkpoint-every 1 --out run");
    assert!(!page(folder, "run").contains("class=\"note"));
    let end = folder.join("run/end.json");
    let text = std::fs::read_to_string(&end).unwrap();
    let mut ended: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(ended["seconds"].as_f64() > Some(0.0), "{ended}");
    ended["ending"] = "failed".into();
    ended["error"] = "the loss is NaN".into();
    ended["hint"] = "lower ‹optimizer.lr›".into();
    ended["seconds"] = 7200.0.into();
    std::fs::write(&end, ended.to_string()).unwrap();
    let html = page(folder, "run");
    let note = between(&html, "<p class=\"note bad\">", "</p>");
    let expected = "<b>Failed</b> after 2 of 2 epochs<br>the loss is NaN<br>lower --lr";
    assert_eq!(note, expected);
    assert!(html.contains("UTC, took 2 h 0 min"));
    // A resumed run has taken the time before, too.
    sar(folder, "--resume run --epochs 3").success();
    assert!(page(folder, "run").contains("UTC, took 2 h 0 min"));
    std::fs::remove_file(&end).unwrap();
    let unrecorded =
        "<b>Ended without a record (killed, or its disk was full)</b> after 3 of 3 epochs";
    assert!(page(folder, "run").contains(unrecorded));
    let unrecorded = "run: ended without a record (it was killed, or its disk was full), 3 of 3";
    sar(folder, "status run").success().stdout(contains(unrecorded));
}

#[test]
fn runs_are_laid_over_each_other_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 3 --out a/run");
    train(folder, "--epochs 3 --lr 0.5 --out b/run");
    let html = page(folder, "a/run b/run");
    let (_, differing) = html.split_once("What differs").unwrap();
    let differing = differing.split("</table>").next().unwrap();
    assert!(differing.contains("optimizer.lr") || differing.contains("lr"), "{differing}");
    assert!(differing.contains("0.5") && !differing.contains("hidden"), "{differing}");
    // Folders of one name are shown by their paths.
    assert!(html.contains("a/run: ") && html.contains("b/run: "));
    assert!(page(folder, "a/run a/run").contains("The runs have the same settings."));
}

#[test]
fn unfinished_damaged_and_diverged_runs_have_pages_and_other_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 2 --out run");
    let metrics = folder.join("run/metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap();
    // As an interrupted run leaves it; as earlier versions did.
    std::fs::write(&metrics, &text[..text.len() / 2]).unwrap();
    std::fs::remove_file(folder.join("run/turns.json")).unwrap();
    assert!(!page(folder, "run").contains("Turns of epoch"));
    let null = "{\"event\":\"epoch\",\"epoch\":1,\"loss\":null,\"train_acc\":null}\n".repeat(3);
    std::fs::write(&metrics, null).unwrap();
    page(folder, "run");
    std::fs::write(&metrics, "").unwrap();
    assert!(page(folder, "run").contains("No epoch is complete yet."));
    std::fs::write(folder.join("run/config.toml"), "seed = \"<script>alert(1)</script>\"\n")
        .unwrap();
    assert!(!page(folder, "run").contains("<script>"));
    std::fs::write(folder.join("run/plan.json"), "{").unwrap();
    sar(folder, "report run").code(1).stderr(contains("plan.json: is damaged"));
    std::fs::create_dir(folder.join("empty")).unwrap();
    sar(folder, "report empty").code(1).stderr(contains("metrics.jsonl: cannot be read"));
    sar(folder, "report").code(2);
    assert!(!folder.join("report.html").exists());
}

#[test]
fn every_kind_of_run_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, words) in [
        ("several", "--task multilabel --label-key features"),
        ("numbers", "--task regression --label-key features"),
        ("sampled", "--mode sample --batch-size 8"),
        ("links", "--task link --mode sample --batch-size 8 --eval-every 1"),
    ] {
        train(folder, &format!("--epochs 2 --out {name} {words}"));
    }
    let html = page(folder, "several numbers sampled links");
    for title in ["F1 micro", "Mean squared error", "Accuracy", "Mean reciprocal rank"] {
        assert!(html.contains(&format!("<h3>{title}</h3>")), "{title} is missing");
    }
    assert!(!html.contains("Links are scored"));
    train(folder, "--epochs 1 --out plain --task link --batch-size 8");
    assert!(page(folder, "plain").contains("Links are scored by evaluations: with --eval-every 1"));
    sar(folder, "generate --nodes 300 --edges 900 --num-parts 1 --out g").success();
    sar(folder, "--part-json g/g.json --epochs 2 --hidden 4 --out alone").success();
    page(folder, "alone");
}

#[test]
fn a_confusion_matrix_of_many_classes_fits_its_card() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 1 --out run");
    let metrics = folder.join("run/metrics.jsonl");
    let epoch = std::fs::read_to_string(&metrics).unwrap();
    let epoch = epoch.lines().next().unwrap();
    for classes in [8, 16, 30, 60] {
        let counts: Vec<Vec<u64>> = (0..classes)
            .map(|row| (0..classes).map(|column| 123_456 * row * column).collect())
            .collect();
        let evaluation = serde_json::json!({"event": "evaluation", "test_confusion": counts});
        std::fs::write(&metrics, format!("{epoch}\n{evaluation}\n")).unwrap();
        let html = page(folder, "run");
        assert_eq!(unclosed(&html), Vec::<String>::new(), "elements are open");
        // The table is as wide as its card, whatever its cells hold, and the heading of a row as wide as three columns.
        let (_, table) = html
            .split_once(&format!(
                "<div class=\"fitted\" style=\"--n:{classes}\"><table class=\"matrix "
            ))
            .unwrap();
        let (size, table) = table.split_once("\">").unwrap();
        let (table, _) = table.split_once("</table></div>").unwrap();
        assert!(html.contains(".fitted .matrix{table-layout:fixed;width:100%;"));
        let rows: Vec<&str> = table.split("</tr>").filter(|row| !row.is_empty()).collect();
        assert_eq!(rows.len(), classes as usize + 1);
        // The narrowest card in which counts are shown; a telephone's at least.
        let narrowest = html
            .split_once(&format!("px){{.{size} td"))
            .map_or(300.0, |(css, _)| css.rsplit(':').next().unwrap().parse().unwrap());
        // A digit of the smallest font, 9 pixels, is about 5 pixels wide.
        let digits = (narrowest / (classes as f64 + 3.0) / 5.0) as usize;
        for row in &rows {
            let texts: Vec<&str> = row
                .split('>')
                .filter_map(|cell| cell.split_once("</t"))
                .map(|cell| cell.0)
                .collect();
            assert_eq!(texts.len(), classes as usize + 1, "{row}");
            for text in &texts[1..] {
                assert!(text.len() <= digits, "{text} in {size}, which has room for {digits}");
            }
        }
        let last = 123_456 * (classes - 1) * (classes - 1);
        assert!(html.contains(&format!("as {}: {last}\"", classes - 1)));
    }
}
