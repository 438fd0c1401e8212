//! The README and the book are checked: their commands run, their links lead somewhere, and no flag is left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::common::repository;

/// All pages for readers: those at the root, and those of the book.
fn pages() -> Vec<PathBuf> {
    let root = ["README", "ARCHITECTURE", "BENCHMARKS", "CHANGELOG", "CONTRIBUTING"];
    let mut pages: Vec<PathBuf> =
        root.iter().map(|name| repository(&format!("{name}.md"))).collect();
    collect(&repository("docs"), &mut pages);
    pages.sort();
    pages
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The code blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    text.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The text outside code blocks.
fn prose(text: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

fn run_blocks(pages: &[PathBuf]) {
    let binary = Path::new(env!("CARGO_BIN_EXE_sar-single"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for page in pages {
        for block in blocks(&read(page), "sh") {
            let folder = tempfile::tempdir().unwrap();
            let output = Command::new("sh")
                .args(["-e", "-c", block])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("TMPDIR", folder.path())
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}:\n{block}\n{error}", page.display());
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn the_readmes_commands_work_in_an_empty_folder() {
    run_blocks(&[repository("README.md")]);
}

#[test]
fn the_books_commands_work_in_an_empty_folder() {
    let book = repository("docs");
    let pages = pages().into_iter().filter(|page| page.starts_with(&book));
    let commands = pages.filter(|page| !blocks(&read(page), "sh").is_empty());
    run_blocks(&commands.collect::<Vec<_>>());
}

#[test]
fn rust_in_the_book_is_included_from_examples() {
    for page in pages() {
        for block in blocks(&read(&page), "rust") {
            let included = block.trim().strip_prefix("{{#include ");
            let target = included.and_then(|rest| rest.strip_suffix("}}")).unwrap_or_else(|| {
                panic!("{}: write Rust to examples/ and include it:\n{block}", page.display())
            });
            assert!(target.contains("/examples/"), "{}: {target}", page.display());
            assert!(page.parent().unwrap().join(target).is_file(), "{}: {target}", page.display());
        }
    }
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let source = repository("docs/src");
    let summary = read(&source.join("SUMMARY.md"));
    let mut pages = Vec::new();
    collect(&source, &mut pages);
    for page in pages {
        let name = page.strip_prefix(&source).unwrap().to_str().unwrap();
        let listed = summary.contains(&format!("({name})"));
        assert!(listed || name == "SUMMARY.md", "{name} is missing in SUMMARY.md");
    }
}

/// The targets of a page's links, in the form `](target)`.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    targets.map(str::to_owned).collect()
}

/// The anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> Vec<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// `make dist`, the wheel and the notes of a release carry one version.
#[test]
fn the_version_is_the_newest_release_of_the_changelog() {
    let version = env!("CARGO_PKG_VERSION");
    let python = read(&repository("python/Cargo.toml"));
    assert!(python.contains(&format!("\nversion = \"{version}\"\n")), "python/Cargo.toml");
    let changes = read(&repository("CHANGELOG.md"));
    let release = |line: &&str| line.starts_with("## ") && *line != "## Unreleased";
    let newest = changes.lines().find(release).unwrap();
    assert!(newest.starts_with(&format!("## {version} - 20")), "CHANGELOG.md has {newest}");
    let notes = Command::new("make").args(["-s", "notes"]).current_dir(repository("")).output();
    let notes = String::from_utf8(notes.unwrap().stdout).unwrap();
    assert!(notes.starts_with(newest) && changes.contains(&notes), "make notes: {notes}");
    assert_eq!(notes.matches("\n## ").count(), 0, "make notes shows other releases, too");
}

#[test]
fn links_lead_to_files_and_headings() {
    let book = repository("docs/src");
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let target = match file {
                "" => page.clone(),
                _ => page.parent().unwrap().join(file),
            };
            let Ok(target) = target.canonicalize() else {
                wrong.push(format!("{}: {link} does not exist", page.display()));
                continue;
            };
            // mdBook copies only what is below its source folder.
            if page.starts_with(&book) && !target.starts_with(book.canonicalize().unwrap()) {
                wrong.push(format!("{}: {link} leaves the book", page.display()));
            }
            if !anchor.is_empty() && !anchors(&read(&target)).iter().any(|a| a == anchor) {
                wrong.push(format!("{}: {link}: no such heading", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_command_reference_names_every_flag() {
    let commands = [
        "generate",
        "partition",
        "inspect",
        "export",
        "plan",
        "predict",
        "correct-and-smooth",
        "clean",
        "completions",
        "manual",
        "status",
        "pause",
        "continue",
        "train",
    ];
    let mut missing = Vec::new();
    for command in commands {
        let mut help = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        if command != "train" {
            help.arg(command);
        }
        let help = help.arg("--help-all").output().unwrap().stdout;
        let mut page = read(&repository(&format!("docs/src/commands/{command}.md")));
        if command == "plan" {
            // It takes the flags of a run, which are described once.
            page.push_str(&read(&repository("docs/src/commands/train.md")));
        }
        // A flag's own line is indented by at most six spaces; the text below it by ten.
        for line in String::from_utf8(help).unwrap().lines() {
            let flag = line.trim_start();
            if line.len() - flag.len() > 6 || !flag.starts_with("--") {
                continue;
            }
            let name = flag.split([' ', ',']).next().unwrap();
            if name == "--help-all" {
                continue;
            }
            let named = page.match_indices(name).any(|(at, _)| {
                let next = page[at + name.len()..].chars().next();
                next.is_none_or(|c| !c.is_alphanumeric() && c != '-')
            });
            if !named {
                missing.push(format!("{command}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
