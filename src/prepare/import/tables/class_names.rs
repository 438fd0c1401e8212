//! Names of classes, next to a partition directory's JSON file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::io::read_if_there;
use crate::words::error::{Error, Result};

/// File with class names, one per line, where one node type has named classes.
pub(crate) const CLASS_NAMES: &str = "class_names.txt";
/// Folder with a file of class names per node type, where several have them.
const BY_TYPE: &str = "class_names";

/// Names of classes by node type. If only one type has them, the key may be empty.
pub type ClassNames = BTreeMap<String, Vec<String>>;

/// The class names in a folder where one node type has them; otherwise empty.
pub(crate) fn read_class_names(folder: &Path) -> Result<Vec<String>> {
    Ok(read(&folder.join(CLASS_NAMES))?.unwrap_or_default())
}

/// The file with a node type's class names in a folder where several types have them.
pub(crate) fn class_names_file(folder: &Path, ntype: &str) -> PathBuf {
    folder.join(BY_TYPE).join(format!("{}.txt", ntype.replace('/', "_")))
}

/// A node type's class names in a folder where several types have them.
pub(crate) fn class_names_of(folder: &Path, ntype: &str) -> Result<Option<Vec<String>>> {
    read(&class_names_file(folder, ntype))
}

/// All types' class names in a folder.
pub(crate) fn all_class_names(folder: &Path, ntypes: &[String]) -> Result<ClassNames> {
    let mut names = ClassNames::new();
    if let Some(of_one) = read(&folder.join(CLASS_NAMES))? {
        names.insert(String::new(), of_one);
    }
    for ntype in ntypes {
        if let Some(of_type) = class_names_of(folder, ntype)? {
            names.insert(ntype.clone(), of_type);
        }
    }
    Ok(names)
}

fn read(path: &Path) -> Result<Option<Vec<String>>> {
    Ok(read_if_there(path)?.map(|text| text.lines().map(str::to_owned).collect()))
}

/// The class names next to a partition directory's JSON file, or next to the file it links to; empty if there are none.
pub(crate) fn class_names_beside(json: &Path) -> Result<Vec<String>> {
    let names = read_class_names(json.parent().unwrap_or(Path::new("")))?;
    match fs::canonicalize(json).ok().as_deref().and_then(Path::parent) {
        Some(folder) if names.is_empty() => read_class_names(folder),
        _ => Ok(names),
    }
}

/// Writes class names, if there are any.
pub(crate) fn write_class_names(folder: &Path, names: &ClassNames) -> Result<()> {
    let write = |path: &Path, names: &[String]| {
        fs::write(path, names.join("\n") + "\n").map_err(|e| Error::io("write", path, e))
    };
    let mut types = names.iter();
    let Some((_, first)) = types.next() else { return Ok(()) };
    if types.len() == 0 {
        return write(&folder.join(CLASS_NAMES), first);
    }
    let by_type = folder.join(BY_TYPE);
    fs::create_dir(&by_type).map_err(|e| Error::io("create", &by_type, e))?;
    for (ntype, names) in names {
        write(&class_names_file(folder, ntype), names)?;
    }
    Ok(())
}
