//! Reservation of disk space for the files of a run, before it starts.

use std::io;
use std::path::{Path, PathBuf};

use crate::event::Event;
use crate::io::Reserve;
use crate::platform::free_space;
use crate::words::error::{Error, ErrorKind, Result};
use crate::words::size::size;

/// Name of the file that reserves the space, in the run's folder.
const FILE: &str = "reserve";
/// Remedy for a disk that is too small.
pub(in crate::run) const REMEDY: &str =
    "free space there, or name a folder on a larger disk with ‹spill_dir›";

/// Reserves disk space; returns the file of the [`Reserve`], or `None` if the file system cannot reserve space.
pub(in crate::run) fn reserve(
    folder: &Path,
    bytes: u64,
    observe: &mut dyn FnMut(&Event),
) -> Result<Option<PathBuf>> {
    let path = folder.join(FILE);
    let Err(error) = Reserve::create(&path, bytes) else { return Ok(Some(path)) };
    let disk = folder.parent().unwrap_or(folder).display();
    let bytes_text = size(bytes);
    let problem = match (error.kind(), free_space(folder)) {
        (io::ErrorKind::Unsupported, _) => {
            observe(&Event::Note(format!(
                "the file system of {disk} cannot reserve space; {bytes_text} should stay free"
            )));
            return Ok(None);
        }
        (io::ErrorKind::StorageFull, Some(free)) => {
            format!("files of the run take {bytes_text}, but {disk} has {} free", size(free))
        }
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
            format!("files of the run take {bytes_text}, for which {disk} has no room: {error}")
        }
        _ => return Err(Error::io("reserve disk space in", &path, error)),
    };
    Err(Error::new(ErrorKind::OutOfDisk, problem).with_hint(REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_one_clear_error() {
        let spill = tempfile::tempdir().unwrap();
        let folder = spill.path().join("sar-single-x");
        std::fs::create_dir(&folder).unwrap();
        let much = 2 * free_space(&folder).unwrap();
        let error = reserve(&folder, much, &mut |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDisk);
        let text = error.to_string();
        assert!(text.contains(&size(much)), "{text}");
        assert!(text.contains(&format!("but {} has ", spill.path().display())), "{text}");
        assert!(error.hint().unwrap().contains("spill_dir"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }
}
