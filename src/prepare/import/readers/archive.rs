//! Zip archives of arrays.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use zip::read::ZipFile;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::input::Input;
use crate::formats::dgl::file::InputFile;
use crate::formats::dgl::npy::{NpyArray, read_npy};
use crate::io::{UnnamedWriter, open_input};
use crate::words::error::{Error, Result};

/// Number of bytes unpacked at a time.
const BUFFER: usize = 256 << 10;

/// Largest number of bytes read of a small array's file.
const START: u64 = 1 << 10;

/// Extension of arrays.
const ARRAY: &str = ".npy";

/// Archives without arrays: end of a member's name, format, and the command that converts it.
const ARCHIVES: [(&str, &str, &str); 3] = [
    (
        "data.pkl",
        "a file of torch",
        "save its tensors in Python: numpy.save(\"x.npy\", torch.load(\"x.pt\").numpy())",
    ),
    (
        "xl/workbook.xml",
        "a workbook of Excel",
        "convert it in Python: pandas.read_excel(\"x.xlsx\").to_csv(\"x.csv\", index=False)",
    ),
    ("", "a zip archive of several files", "unpack it: unzip FILE"),
];

/// Whether a file is a zip archive.
pub(super) fn is_archive(input: &Input) -> bool {
    input.head.starts_with(b"PK\x03\x04")
}

/// An archive of arrays.
pub(super) struct Archive<'p> {
    path: &'p Path,
    zip: ZipArchive<File>,
    /// Names of the members, with the extension of arrays.
    members: Vec<String>,
}

impl<'p> Archive<'p> {
    pub(super) fn open(path: &'p Path) -> Result<Self> {
        let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
        let zip = ZipArchive::new(file).map_err(|e| unzippable(path, &e))?;
        let members = zip.file_names().map(|name| name.map(Cow::into_owned));
        let members = members.collect::<Result<_, ZipError>>().map_err(|e| unzippable(path, &e))?;
        Ok(Archive { path, zip, members })
    }

    /// Refuses an archive without arrays, by the name of its format.
    pub(super) fn check(&self) -> Result<()> {
        let has = |end: &str| self.members.iter().any(|name| name.ends_with(end));
        if has(ARRAY) {
            return Ok(());
        }
        let found = ARCHIVES.iter().find(|(member, _, _)| has(member));
        let (_, format, hint) = found.unwrap_or(&ARCHIVES[ARCHIVES.len() - 1]);
        Err(Error::input(self.path, "", format!("is {format}, which is not read")).with_hint(*hint))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| stem(member))
    }

    /// Whether the archive has an array with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    fn member(&mut self, name: &str) -> Result<ZipFile<'_, File>> {
        let member = self.members.iter().find(|member| stem(member) == name);
        self.zip.by_name(member.map_or(name, |name| name)).map_err(|e| unzippable(self.path, &e))
    }

    /// Reads an array. A compressed array is unpacked into an unnamed file; any other stays where it is.
    pub(super) fn read(&mut self, name: &str, folder: &Path) -> Result<NpyArray> {
        let path = self.path;
        let open = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
        // Errors name the array of an archive with several.
        let shown = if self.members.len() > 1 { path.join(name) } else { path.to_owned() };
        let mut stored = self.member(name)?;
        if let (CompressionMethod::Stored, Some(start)) =
            (stored.compression(), stored.data_start())
        {
            let file = InputFile::from_open(&shown, open)?;
            return read_npy(&file, start..file.len().min(start.saturating_add(stored.size())));
        }
        let mut unpacked = UnnamedWriter::create(folder)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            // A member that fails to unpack, or fails its checksum, is an error of the user's file; a failure to write
            // is ours.
            let len = stored.read(&mut buffer).map_err(|e| Error::unreadable(path, &e))?;
            if len == 0 {
                break;
            }
            unpacked.write(&buffer[..len])?;
        }
        let unpacked = InputFile::from_open(&shown, unpacked.finish()?.file)?;
        read_npy(&unpacked, 0..unpacked.len())
    }

    /// The first bytes of a small array's file.
    pub(super) fn start(&mut self, name: &str) -> Result<Vec<u8>> {
        let (path, mut bytes) = (self.path, Vec::new());
        let read = self.member(name)?.take(START).read_to_end(&mut bytes);
        read.map_err(|e| Error::unreadable(path, &e))?;
        Ok(bytes)
    }
}

fn stem(name: &str) -> &str {
    name.strip_suffix(ARRAY).unwrap_or(name)
}

fn unzippable(path: &Path, error: &ZipError) -> Error {
    Error::input(path, "", format!("is not a readable .npz file: {error}"))
}
