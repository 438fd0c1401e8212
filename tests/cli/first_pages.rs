//! The program alone, and the first pages of help.

use std::process::Command;

use super::program::Program;

/// The text that a command line prints.
fn printed(words: &[&str]) -> String {
    let output = Program::new().args(words).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn width(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

#[test]
fn the_program_alone_shows_examples_that_run() {
    let text = printed(&[]);
    assert!((12..=16).contains(&text.lines().count()), "{text}");
    assert!(width(&text) <= 80, "{text}");
    let folder = tempfile::tempdir().unwrap();
    let examples: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("  sar-single ")).collect();
    assert_eq!(examples.len(), 3, "{text}");
    for example in examples {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        command.args(example.split(' ')).current_dir(&folder).env("TMPDIR", folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The flags of a page of help.
fn flags(page: &str) -> Vec<&str> {
    let lines = page.lines().filter(|line| line.starts_with("  "));
    let words =
        lines.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    words.collect()
}

#[test]
fn first_pages_of_help_fit_a_screen() {
    let training: &[&str] = &[];
    let mut commands = vec![&["partition"][..]];
    if cfg!(feature = "torch") {
        commands.extend([training, &["plan"], &["train"]]);
    }
    for command in commands {
        let page = printed(&[command, &["--help"]].concat());
        assert!(page.lines().count() <= 45, "{} lines:\n{page}", page.lines().count());
        assert!(width(&page) <= 80, "{page}");
        assert!(page.contains("--help-all") && page.contains("\nExamples:\n"), "{page}");
        assert_eq!(page, printed(&[command, &["-h"]].concat()));
        let shown = flags(&page).len();
        assert!((20..=32).contains(&shown), "{shown} flags:\n{page}");
        let all = printed(&[command, &["--help-all"]].concat());
        let all = flags(&all);
        assert!(all.len() > shown + 10, "{command:?}: {} flags", all.len());
        for flag in flags(page.split("\nExamples:").next().unwrap()) {
            assert!(all.contains(&flag), "{command:?}: {flag}");
        }
    }
}

#[test]
fn manual_pages_have_the_groups_of_help_all() {
    let folder = tempfile::tempdir().unwrap();
    printed(&["manual", folder.path().to_str().unwrap()]);
    let mut commands = vec![("sar-single-partition", &["partition"][..])];
    if cfg!(feature = "torch") {
        commands.extend([("sar-single", &[][..]), ("sar-single-plan", &["plan"])]);
    }
    for (name, command) in commands {
        let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
        let help = printed(&[command, &["--help-all"]].concat());
        let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with([' ', '-']);
        let groups = help.lines().filter(is_heading).map(|line| line.trim_end_matches(':'));
        let groups: Vec<&str> = groups.filter(|name| *name != "Commands").collect();
        assert!(groups.len() > 3, "{groups:?}");
        for group in groups {
            let group = group.to_uppercase();
            let headings = [format!("\n.SH {group}\n"), format!("\n.SH \"{group}\"\n")];
            assert!(headings.iter().any(|heading| page.contains(heading)), "{name}: {group}");
        }
        // The usage does not list all flags.
        let (_, synopsis) = page.split_once(".SH SYNOPSIS\n").unwrap();
        let synopsis = synopsis.split(".SH ").next().unwrap();
        assert!(synopsis.contains("[FLAGS]") && synopsis.len() < 300, "{synopsis}");
    }
}
