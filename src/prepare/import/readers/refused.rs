//! Unsupported formats, and commands that convert them.

use super::input::Input;
use crate::error::Result;

/// A format that is not read.
struct Refused {
    name: &'static str,
    has: fn(&[u8]) -> bool,
    hint: &'static str,
}

const GRAPH: &str = "convert it in Python: networkx.write_edgelist(networkx.read_graphml(\"x.graphml\"), \"edges.txt\", \
                     data=False); other formats have a reader of their own, such as read_gml";
const PICKLE: &str = "pickles can run any code, so they are not read; save the arrays in Python: \
                      numpy.save(\"edges.npy\", edges)";

/// The formats. The first one that a file has is named.
const REFUSED: [Refused; 18] = [
    refused("compressed by bzip2", |head| head.starts_with(b"BZh"), "decompress it: bunzip2 FILE"),
    refused("compressed by xz", |head| head.starts_with(b"\xfd7zXZ\0"), "decompress it: unxz FILE"),
    refused(
        "compressed by lz4",
        |head| head.starts_with(b"\x04\x22\x4d\x18"),
        "decompress it: unlz4 FILE",
    ),
    refused("a 7z archive", |head| head.starts_with(b"7z\xbc\xaf\x27\x1c"), "unpack it: 7z x FILE"),
    refused("text in UTF-16", is_utf16, "encode it in UTF-8: iconv -f utf-16 -t utf-8 FILE > NEW"),
    refused(
        "an HDF5 file",
        |head| head.starts_with(b"\x89HDF\r\n\x1a\n"),
        "convert it in Python: numpy.save(\"x.npy\", h5py.File(\"x.h5\")[\"NAME\"][:])",
    ),
    refused(
        "a file of MATLAB",
        |head| head.starts_with(b"MATLAB 5.0 MAT-file"),
        "convert it in Python: numpy.save(\"x.npy\", scipy.io.loadmat(\"x.mat\")[\"NAME\"])",
    ),
    refused(
        "an Arrow (Feather) file",
        |head| head.starts_with(b"ARROW1") || head.starts_with(b"\xff\xff\xff\xff"),
        "convert it in Python: pandas.read_feather(\"x.feather\").to_parquet(\"x.parquet\")",
    ),
    refused("an ORC file", |head| head.starts_with(b"ORC"), "convert it to Parquet"),
    refused("an Avro file", |head| head.starts_with(b"Obj\x01"), "convert it to Parquet"),
    refused(
        "an SQLite database",
        |head| head.starts_with(b"SQLite format 3\0"),
        "export the table: sqlite3 -header -csv x.db \"SELECT * FROM edges\" > edges.csv",
    ),
    refused("a pickle", |head| matches!(head, [0x80, 2..=5, ..]), PICKLE),
    refused("GraphML", |head| has_tag(head, b"<graphml"), GRAPH),
    refused("GEXF", |head| has_tag(head, b"<gexf"), GRAPH),
    refused("XML", |head| has_tag(head, b"<?xml"), "convert it to a text of rows"),
    refused("GML", |head| has_tag(head, b"graph [") || has_tag(head, b"graph\n["), GRAPH),
    refused(
        "a file of Pajek",
        |head| has_tag(head, b"*vertices") || has_tag(head, b"*Vertices"),
        GRAPH,
    ),
    refused(
        "an edge list with dictionaries, as networkx writes it",
        |head| head.split(|byte| *byte == b'\n').take(20).any(is_with_dictionary),
        "write it without them: networkx.write_edgelist(g, \"edges.txt\", data=False), or with numbers only: \
         networkx.write_weighted_edgelist(g, \"edges.txt\")",
    ),
];

const fn refused(name: &'static str, has: fn(&[u8]) -> bool, hint: &'static str) -> Refused {
    Refused { name, has, hint }
}

/// Whether text has a byte order mark of UTF-16, or a 0 in every second byte.
fn is_utf16(head: &[u8]) -> bool {
    let is_printable = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => is_printable(*a) && is_printable(*b),
        _ => false,
    }
}

/// Whether a file names its format near its beginning, after only white space, comments and a declaration of XML.
fn has_tag(head: &[u8], tag: &[u8]) -> bool {
    let head = &head[..head.len().min(1 << 10)];
    let at = head.windows(tag.len()).position(|window| window == tag);
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

/// Refuses a file that is not text, nor of another format that is read, by the name of its format.
///
/// # Errors
/// If the file has a refused format.
pub(crate) fn check(input: &Input) -> Result<()> {
    match REFUSED.iter().find(|format| (format.has)(&input.head)) {
        Some(format) => {
            Err(input.fail(format!("is {}, which is not read", format.name)).with_hint(format.hint))
        }
        None => Ok(()),
    }
}
