//! Removal of folders left by killed processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::marked_folder::{MarkedFolder, PREFIX, UNFINISHED};
use crate::words::error::Error;

/// Age at which an unfinished folder is considered abandoned.
const ABANDONED: Duration = Duration::from_secs(60);

/// Results of sweeping a spill folder; only folders named like ours and not in use are listed.
#[derive(Debug, Default)]
pub struct Swept {
    /// Removed folders of dead processes.
    pub removed: Vec<PathBuf>,
    /// Folders that are not ours, with the reason; they are kept.
    pub foreign: Vec<(PathBuf, &'static str)>,
    /// Errors about folders that may be ours.
    pub failed: Vec<Error>,
}

/// Removes the folders of killed processes from `spill_dir`.
pub fn sweep(spill_dir: &Path) -> Swept {
    sweep_abandoned(spill_dir, ABANDONED)
}

fn sweep_abandoned(spill_dir: &Path, abandoned: Duration) -> Swept {
    let mut swept = Swept::default();
    let entries = match fs::read_dir(spill_dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return swept,
        Err(e) => {
            swept.failed.push(Error::io("look into", spill_dir, e));
            return swept;
        }
        Ok(entries) => entries,
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|ty| !ty.is_dir() && !ty.is_symlink());
        if is_file || !(name.starts_with(PREFIX) || name.starts_with(UNFINISHED)) {
            continue;
        }
        let path = entry.path();
        match MarkedFolder::look(&path, abandoned) {
            // Its run may have ended and removed it.
            Ok(MarkedFolder::Foreign(why)) if fs::symlink_metadata(&path).is_ok() => {
                swept.foreign.push((path, why));
            }
            Ok(MarkedFolder::InUse | MarkedFolder::Foreign(_)) => {}
            Ok(MarkedFolder::Dead(folder)) => match folder.remove(&path) {
                Ok(()) => swept.removed.push(path),
                Err(e) => swept.failed.push(Error::io("remove", &path, e)),
            },
            // Another process has removed it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => swept.failed.push(Error::io("look into", &path, e)),
        }
    }
    swept
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::marked_folder::CONTROL;
    use super::super::run_folder::RunFolder;
    use super::*;
    use crate::engine::turns::Control;

    /// Creates a folder like one that a killed process leaves.
    fn dead(path: &Path) {
        fs::create_dir(path).unwrap();
        Control::create(&path.join(CONTROL), 2, 1).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_living_run_keeps_its_folder_and_a_dead_one_loses_it() {
        let spill = tempfile::tempdir().unwrap();
        let (living, _control) = RunFolder::create(spill.path(), 2, 1).unwrap();
        let path = spill.path().join("sar-single-dead");
        dead(&path);
        fs::write(path.join("features-0.spill"), "x").unwrap();
        fs::create_dir_all(path.join("rank-0/deep/deeper")).unwrap();
        fs::write(path.join("rank-0/deep/file"), "x").unwrap();
        fs::create_dir(spill.path().join("of-another")).unwrap();

        assert_eq!(sweep(spill.path()).removed, [path]);
        assert!(living.path().join(CONTROL).exists());
        drop(living);
        assert_eq!(names(spill.path()), ["of-another"]);
    }

    #[test]
    fn only_folders_with_our_marker_are_removed() {
        let spill = tempfile::tempdir().unwrap();
        let spill = spill.path();
        let mine = |name: &str| {
            let path = spill.join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("thesis.tex"), "years of work").unwrap();
            path
        };
        mine("sar-single-without");
        mine(".sar-single-without");
        fs::write(mine("sar-single-text").join(CONTROL), "my own control file").unwrap();
        fs::write(mine("sar-single-empty").join(CONTROL), "").unwrap();
        fs::write(mine(".sar-single-empty").join(CONTROL), "").unwrap();
        fs::create_dir(mine("sar-single-folder").join(CONTROL)).unwrap();
        let fifo = mine("sar-single-fifo").join(CONTROL);
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        // A marker in another place has no effect.
        let elsewhere = tempfile::tempdir().unwrap();
        dead(&elsewhere.path().join("d"));
        symlink(elsewhere.path().join("d/control"), mine("sar-single-link").join(CONTROL)).unwrap();
        symlink(elsewhere.path().join("d"), spill.join("sar-single-linked")).unwrap();
        fs::create_dir(spill.join("sar-single-nothing")).unwrap();
        fs::write(spill.join("sar-single-notes.txt"), "not a folder").unwrap();
        let before = names(spill);

        let swept = sweep_abandoned(spill, Duration::ZERO);
        assert!(swept.removed.is_empty() && swept.failed.is_empty(), "{swept:?}");
        assert_eq!(swept.foreign.len(), 10, "{swept:?}");
        assert_eq!(names(spill), before);
        assert!(elsewhere.path().join("d/control").exists());
        let why = |name: &str| {
            let found = swept.foreign.iter().find(|(path, _)| path.ends_with(name));
            found.unwrap().1
        };
        assert_eq!(why("sar-single-without"), "it has no control file");
        assert_eq!(why("sar-single-fifo"), "its control file is not a regular file");
        assert_eq!(why("sar-single-link"), "its control file is a symbolic link");
        assert_eq!(why("sar-single-linked"), "it is a symbolic link");
        assert_eq!(why("sar-single-text"), "its control file is not from sar-single");
    }

    #[test]
    fn links_in_a_dead_folder_are_not_followed() {
        let spill = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("thesis.tex"), "years of work").unwrap();
        let path = spill.path().join("sar-single-dead");
        dead(&path);
        symlink(elsewhere.path(), path.join("folder")).unwrap();
        symlink(elsewhere.path().join("thesis.tex"), path.join("file")).unwrap();
        symlink("nowhere", path.join("dangling")).unwrap();
        assert_eq!(sweep(spill.path()).removed, [path]);
        assert_eq!(names(elsewhere.path()), ["thesis.tex"]);
    }

    #[test]
    fn what_belongs_to_another_user_stays() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files away");
            return;
        }
        let spill = tempfile::tempdir().unwrap();
        let (folder, file) = (spill.path().join("sar-single-a"), spill.path().join("sar-single-b"));
        dead(&folder);
        dead(&file);
        std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
        std::os::unix::fs::chown(file.join(CONTROL), Some(65534), None).unwrap();
        let mut swept = sweep(spill.path());
        assert!(swept.removed.is_empty() && swept.failed.is_empty(), "{swept:?}");
        swept.foreign.sort();
        let theirs = [
            (folder, "it belongs to another user"),
            (file, "its control file belongs to another user"),
        ];
        assert_eq!(swept.foreign, theirs);
    }

    /// The next sweep removes the folder at whatever point the process was killed (abandoned folders after a minute).
    #[test]
    fn a_folder_that_was_half_made_or_half_removed_goes() {
        let spill = tempfile::tempdir().unwrap();
        let spill = spill.path();
        fs::create_dir(spill.join(".sar-single-bare")).unwrap();
        fs::create_dir(spill.join(".sar-single-empty")).unwrap();
        File::create(spill.join(".sar-single-empty/control")).unwrap();
        fs::create_dir(spill.join(".sar-single-cut")).unwrap();
        fs::write(spill.join(".sar-single-cut/control"), "SA").unwrap();
        dead(&spill.join(".sar-single-unlocked"));
        let young = sweep(spill);
        assert!(young.removed.is_empty() && young.foreign.is_empty(), "{young:?}");
        assert_eq!(sweep_abandoned(spill, Duration::ZERO).removed.len(), 4);
        assert_eq!(fs::read_dir(spill).unwrap().count(), 0);
    }

    /// A removal stops at a file that cannot be removed; the marker still exists, so the next removal continues.
    #[test]
    fn the_marker_goes_last() {
        let spill = tempfile::tempdir().unwrap();
        let path = spill.path().join("sar-single-dead");
        dead(&path);
        let inside = path.join("rank-0");
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("0.spill"), "x").unwrap();
        let chmod = |mode| fs::set_permissions(&inside, Permissions::from_mode(mode)).unwrap();
        chmod(0o500);
        if rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED in part: root removes what is not writable");
        } else {
            let swept = sweep(spill.path());
            assert!(swept.removed.is_empty() && swept.failed.len() == 1, "{swept:?}");
            assert!(path.join(CONTROL).exists());
        }
        chmod(0o700);
        assert_eq!(sweep(spill.path()).removed, [path]);
    }
}
