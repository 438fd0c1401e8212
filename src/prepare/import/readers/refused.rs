//! Unsupported formats, and commands that convert them.

use super::input::Input;
use crate::error::Result;

/// Marks by which the start of a file shows its format.
enum Mark {
    /// The first bytes.
    First(&'static [u8]),
    /// A word near the beginning, preceded only by white space, comments and an XML declaration.
    Word(&'static [u8]),
    Other(fn(&[u8]) -> bool),
}

const ARROW: &str =
    "convert it in Python: pandas.read_feather(\"x.feather\").to_parquet(\"x.parquet\")";
const GRAPH: &str = "convert it in Python: networkx.write_edgelist(networkx.read_graphml(\"x.graphml\"), \"edges.txt\", \
                     data=False); other formats have a reader of their own, such as read_gml";
const HDF5: &str = "convert it in Python: numpy.save(\"x.npy\", h5py.File(\"x.h5\")[\"NAME\"][:])";
const MATLAB: &str =
    "convert it in Python: numpy.save(\"x.npy\", scipy.io.loadmat(\"x.mat\")[\"NAME\"])";
const NETWORKX: &str = "write it without them: networkx.write_edgelist(g, \"edges.txt\", data=False), or with numbers only: \
                        networkx.write_weighted_edgelist(g, \"edges.txt\")";
const PICKLE: &str = "pickles can run any code, so they are not read; save the arrays in Python: \
                      numpy.save(\"edges.npy\", edges)";
const SQLITE: &str =
    "export the table: sqlite3 -header -csv x.db \"SELECT * FROM edges\" > edges.csv";

/// Formats that are not read: name, mark, and the tool that converts them. The first match is named.
const REFUSED: [(&str, Mark, &str); 24] = [
    ("compressed by bzip2", Mark::First(b"BZh"), "decompress it: bunzip2 FILE"),
    ("compressed by xz", Mark::First(b"\xfd7zXZ\0"), "decompress it: unxz FILE"),
    ("compressed by lz4", Mark::First(b"\x04\x22\x4d\x18"), "decompress it: unlz4 FILE"),
    ("a 7z archive", Mark::First(b"7z\xbc\xaf\x27\x1c"), "unpack it: 7z x FILE"),
    (
        "text in UTF-16",
        Mark::Other(is_utf16),
        "encode it in UTF-8: iconv -f utf-16 -t utf-8 FILE > NEW",
    ),
    ("an HDF5 file", Mark::First(b"\x89HDF\r\n\x1a\n"), HDF5),
    ("a file of MATLAB", Mark::First(b"MATLAB 5.0 MAT-file"), MATLAB),
    ("an Arrow (Feather) file", Mark::First(b"ARROW1"), ARROW),
    ("an Arrow (Feather) file", Mark::First(b"\xff\xff\xff\xff"), ARROW),
    ("an ORC file", Mark::First(b"ORC"), "convert it to Parquet"),
    ("an Avro file", Mark::First(b"Obj\x01"), "convert it to Parquet"),
    ("an SQLite database", Mark::First(b"SQLite format 3\0"), SQLITE),
    ("a pickle", Mark::Other(|head| matches!(head, [0x80, 2..=5, ..])), PICKLE),
    (
        "a pointer of Git LFS",
        Mark::First(b"version https://git-lfs.github.com/"),
        "fetch the file that it stands for: git lfs pull",
    ),
    ("a web page", Mark::Word(b"<!DOCTYPE html"), "download the file itself"),
    ("a web page", Mark::Word(b"<html"), "download the file itself"),
    ("GraphML", Mark::Word(b"<graphml"), GRAPH),
    ("GEXF", Mark::Word(b"<gexf"), GRAPH),
    ("XML", Mark::Word(b"<?xml"), "convert it to a text of rows"),
    ("GML", Mark::Word(b"graph ["), GRAPH),
    ("GML", Mark::Word(b"graph\n["), GRAPH),
    ("a file of Pajek", Mark::Word(b"*vertices"), GRAPH),
    ("a file of Pajek", Mark::Word(b"*Vertices"), GRAPH),
    (
        "an edge list with dictionaries, as networkx writes it",
        Mark::Other(|head| head.split(|byte| *byte == b'\n').take(20).any(is_with_dictionary)),
        NETWORKX,
    ),
];

/// Whether the text has a UTF-16 byte order mark, or a 0 in every second byte.
fn is_utf16(head: &[u8]) -> bool {
    let is_printable = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => is_printable(*a) && is_printable(*b),
        _ => false,
    }
}

fn has_word(head: &[u8], word: &[u8]) -> bool {
    let head = &head[..head.len().min(1 << 10)];
    let at = head.windows(word.len()).position(|window| window == word);
    at.is_some_and(|at| {
        let before = head[..at].trim_ascii();
        before.is_empty() || before.starts_with(b"<") || before.starts_with(b"Creator")
    })
}

fn is_with_dictionary(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.ends_with(b"}")
        && !line.starts_with(b"{")
        && !line.starts_with(b"[")
        && line.windows(2).any(|pair| matches!(pair, [b' ' | b'\t' | b',', b'{']))
}

/// Refuses a file that is neither text nor in a supported format, by the name of its format.
///
/// # Errors
/// If the file has a refused format.
pub(crate) fn check(input: &Input) -> Result<()> {
    let head = &input.head[..];
    let has = |mark: &Mark| match mark {
        Mark::First(bytes) => head.starts_with(bytes),
        Mark::Word(word) => has_word(head, word),
        Mark::Other(has) => has(head),
    };
    match REFUSED.iter().find(|(_, mark, _)| has(mark)) {
        Some((name, _, hint)) => {
            Err(input.fail(format!("is {name}, which is not read")).with_hint(*hint))
        }
        None => Ok(()),
    }
}
