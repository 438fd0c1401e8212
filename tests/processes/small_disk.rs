//! A file system of a fixed size.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted file system in memory, which is unmounted when it is dropped.
pub(crate) struct SmallDisk {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts a file system of `bytes` bytes; `None` where this user may not mount.
    pub(crate) fn mount(bytes: u64) -> Option<Self> {
        Self::mount_kind("tmpfs", bytes)
    }

    /// Mounts a file system without a size, which cannot reserve.
    pub(crate) fn mount_simple() -> Option<Self> {
        Self::mount_kind("ramfs", 0)
    }

    fn mount_kind(kind: &str, bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", kind, "-o", &format!("size={bytes}"), kind])
            .arg(&path)
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            eprintln!("SKIPPED: a file system of a fixed size can be mounted by root only");
            return None;
        }
        Some(SmallDisk { path, _folder: folder })
    }

    pub(crate) fn make_read_only(&self) {
        let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&self.path).status();
        assert!(remount.is_ok_and(|status| status.success()));
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of files and folders on it.
    pub(crate) fn entries(&self) -> usize {
        std::fs::read_dir(&self.path).unwrap().count()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.path).status();
        // A test that fails reports the reason itself.
        assert!(std::thread::panicking() || unmounted.is_ok_and(|status| status.success()));
    }
}
