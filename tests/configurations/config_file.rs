//! `--config`: a run's configuration gives the defaults of flags.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use sar::cli::{configuration, definition};
use sar::nn::ModelKind;
use sar::run::config::{RunConfig, TargetTypes};
use tempfile::TempDir;

use super::case::cases;

/// The configuration of `sar-single --config FILE` with more flags.
fn with(file: &Path, more: &[&str]) -> Result<RunConfig, String> {
    let words = [OsString::from("sar-single"), "--config".into(), file.into()];
    let words = words.into_iter().chain(more.iter().map(OsString::from));
    let parsed = configuration(&mut definition(), words).map_err(|e| e.to_string())?;
    parsed.map_err(|e| e.to_string())
}

fn write(folder: &TempDir, config: &RunConfig) -> std::path::PathBuf {
    let file = folder.path().join("config.toml");
    fs::write(&file, config.to_toml().unwrap()).unwrap();
    file
}

#[test]
fn every_configuration_comes_back_but_for_its_results_folder() {
    let folder = TempDir::new().unwrap();
    for case in cases() {
        let file = write(&folder, &case.config);
        let read = with(&file, &["--out", "/tmp/elsewhere"]);
        let mut read = read.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(read.out, Path::new("/tmp/elsewhere"));
        read.out.clone_from(&case.config.out);
        assert_eq!(read, case.config, "{}", case.name);
    }
}

#[test]
fn flags_override_the_file() {
    let folder = TempDir::new().unwrap();
    let gcn = cases()
        .into_iter()
        .map(|case| case.config)
        .find(|config| matches!(config.model.kind, ModelKind::Gcn(_)) && config.sampling.is_none());
    let config = gcn.unwrap();
    let file = write(&folder, &config);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("gcn_norm"), "{text}");
    // The file's own options of another model are left out.
    let gat = ["--model", "gat", "--heads", "2", "--epochs", "7", "--resident", "3"];
    let read = with(&file, &gat).unwrap();
    assert!(matches!(read.model.kind, ModelKind::Gat(_)), "{:?}", read.model.kind);
    assert_eq!((read.epochs, read.resident), (7, Some(3)));
    assert_eq!(read.seed, config.seed);
    // Flags on the command line are checked as without a file.
    let refused = with(&file, &["--heads", "2"]).unwrap_err();
    assert!(refused.contains("--heads has no effect with --model gcn"), "{refused}");
    let refused = with(&file, &["--hidden", "many"]).unwrap_err();
    assert!(refused.contains("many"), "{refused}");
}

#[test]
fn the_predicted_type_comes_back() {
    let folder = TempDir::new().unwrap();
    let case = cases().into_iter().find(|case| case.config.relations.is_some()).unwrap();
    let mut config = case.config;
    for names in [vec!["author", "paper"], vec!["paper"]] {
        config.relations.as_mut().unwrap().target = Some(TargetTypes::new(names));
        let file = write(&folder, &config);
        assert_eq!(with(&file, &[]).unwrap().relations, config.relations);
    }
    let file = write(&folder, &config);
    // One type is a text, as in files of earlier versions.
    assert!(fs::read_to_string(&file).unwrap().contains("target = \"paper\""));
    let read = with(&file, &["--target-type", "author,field"]).unwrap().relations.unwrap();
    assert_eq!(read.target, Some(TargetTypes::new(["author", "field"])));
}

#[test]
fn switches_of_the_file_can_be_switched_off() {
    let folder = TempDir::new().unwrap();
    let plain = |config: &RunConfig| config.sampling.is_none() && config.relations.is_none();
    let mut config = cases().into_iter().map(|case| case.config).find(plain).unwrap();
    (config.mfg, config.one_shot) = (true, false);
    let file = write(&folder, &config);
    assert!(with(&file, &[]).unwrap().mfg);
    assert!(with(&file, &["--mfg"]).unwrap().mfg);
    let read = with(&file, &["--mfg=false", "--one-shot"]).unwrap();
    assert!(!read.mfg && read.one_shot);
    let refused = with(&file, &["--mfg=maybe"]).unwrap_err();
    assert!(refused.contains("maybe"), "{refused}");
}

#[test]
fn what_is_not_a_configuration_is_refused() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing.toml");
    let refused = with(&missing, &[]).unwrap_err();
    assert!(refused.contains("missing.toml"), "{refused}");
    fs::write(&missing, "seed = 1\n").unwrap();
    let refused = with(&missing, &[]).unwrap_err();
    assert!(refused.contains("is not the configuration of a run: "), "{refused}");
    fs::write(&missing, "seed = 1\n{\n").unwrap();
    let refused = with(&missing, &[]).unwrap_err();
    assert!(refused.contains(": line 2: ") && !refused.contains('|'), "{refused}");
}
