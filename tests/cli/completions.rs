//! Completions and manual pages.

use std::process::Command;

fn sar() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sar-single"))
}

fn script(shell: &str) -> String {
    let output = sar().args(["completions", shell]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The words that bash offers after these.
fn completed(words: &str) -> String {
    let program = format!(
        "{}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n\
         _sar__single sar-single \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
         echo \"${{COMPREPLY[@]}}\"\n",
        script("bash")
    );
    let output = Command::new("bash").args(["-c", &program]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn bash_completes_commands_and_flags() {
    assert_eq!(completed("sar-single insp"), "inspect");
    assert_eq!(completed("sar-single partition --num-p"), "--num-parts");
}

#[test]
fn every_shell_gets_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = script(shell);
        for command in ["generate", "partition", "inspect", "export", "clean"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(sar().args(["completions", "tcsh"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn a_manual_page_per_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert!(sar().arg("manual").arg(&pages).status().unwrap().success());
    let page = std::fs::read_to_string(pages.join("sar-single-partition.1")).unwrap();
    assert!(page.contains("\\-\\-num\\-parts"), "{page}");
    let file = pages.join("sar-single.1");
    let refused = sar().arg("manual").arg(&file).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("sar-single.1"), "{error}");
}
