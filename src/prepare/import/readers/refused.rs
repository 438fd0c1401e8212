//! Unsupported formats, and commands that convert them.

use serde::de::IgnoredAny;

use super::graph_texts::{
    is_dimacs, is_linqs_edges, is_linqs_nodes, is_n_triples, is_turtle, is_ucinet,
};
use super::input::Input;
use crate::formats::dgl::magic::{GRAPH_FILE, TENSOR_FILE};
use crate::words::error::Result;

/// Marks by which the start of a file shows its format.
enum Mark {
    /// The first bytes.
    First(&'static [u8]),
    /// A word near the beginning, preceded only by white space, comments and an XML declaration.
    Word(&'static [u8]),
    /// Text in a JSON object, written without white space.
    Json(&'static [u8]),
    Other(fn(&[u8]) -> bool),
}

/// The command that converts a file which a function of networkx reads.
macro_rules! networkx {
    ($read:literal) => {
        concat!(
            "convert it in Python: networkx.write_edgelist(networkx.",
            $read,
            ", \"edges.txt\", data=False, delimiter=\"\\t\")"
        )
    };
}

const ARROW: &str =
    "convert it in Python: pandas.read_feather(\"x.feather\").to_parquet(\"x.parquet\")";
const ARROW_STREAM: &str = "convert it in Python: pyarrow.parquet.write_table(\
                            pyarrow.ipc.open_stream(open(\"x.arrow\", \"rb\")).read_all(), \"x.parquet\")";
const DGL_GRAPH: &str = "partition it in Python, dgl.distributed.partition_graph(dgl.load_graphs(\"x.bin\")[0][0], \"g\", 1, \"parts\"), \
                         and pass ‹part_json=parts/g.json›";
const DGL_TENSORS: &str = "save its tensors in Python: numpy.save(\"x.npy\", dgl.data.utils.load_tensors(\"x.dgl\")[\"NAME\"].numpy())";
const DIMACS: &str = "keep its edges, with nodes from 0: awk '/^[ae] / {print $2 - 1, $3 - 1}' FILE > edges.txt; \
                      those in lines that begin with e have no direction: pass ‹undirected›";
const DOT: &str = networkx!("nx_pydot.read_dot(\"x.dot\")");
const EXCEL: &str =
    "convert it in Python: pandas.read_excel(\"x.xls\").to_csv(\"x.csv\", index=False)";
const GDF: &str = "keep its edges: sed '1,/^edgedef>/d' FILE | cut -d , -f 1,2 > edges.csv; the lines before are nodes; \
                   edges have no direction, unless a column directed says so: pass ‹undirected›";
const GML: &str = networkx!("read_gml(\"x.gml\")");
const HDF5: &str = "convert it in Python: numpy.save(\"x.npy\", h5py.File(\"x.h5\")[\"NAME\"][:])";
const LINQS_EDGES: &str = "keep its edges: awk -F '\\t' 'NR > 2 {sub(/.*:/, \"\", $2); sub(/.*:/, \"\", $4); print $2, $4}' FILE > edges.txt";
const LINQS_NODES: &str = "convert it in Python: pandas.DataFrame(dict(word.split(\"=\", 1) for word in (\"id=\" + line.strip()).split(\"\\t\")) \
                           for line in list(open(\"x.tab\"))[2:]).drop(columns=\"summary\").fillna(0).to_csv(\"x.csv\", index=False)";
const MATLAB: &str = "convert it in Python: numpy.save(\"x.npy\", scipy.io.loadmat(\"x.mat\")[\"NAME\"]), or, if the matrix is \
                      sparse, scipy.sparse.save_npz(\"x.npz\", scipy.io.loadmat(\"x.mat\")[\"NAME\"])";
const N_TRIPLES: &str = "keep the triples of nodes: awk -v OFS='\\t' '$3 ~ /^[<_]/ {print $1, $2, $3}' FILE > triples.tsv, and pass \
                         ‹relation_column=2›";
const NETWORKX: &str = "write it without them: networkx.write_edgelist(g, \"edges.txt\", data=False), or with numbers only: \
                        networkx.write_weighted_edgelist(g, \"edges.txt\")";
const NODE_LINK: &str = "make tables of its lists in Python: pandas.DataFrame(json.load(open(\"x.json\"))[\"links\"])\
                         .to_csv(\"edges.csv\", index=False); the list of edges is called links or edges, that of nodes nodes";
const PAJEK: &str = networkx!("read_pajek(\"x.net\")");
const PICKLE: &str = "pickles can run any code, so they are not read; save the arrays in Python: \
                      numpy.save(\"x.npy\", x)";
const SQLITE: &str =
    "export the table: sqlite3 -header -csv x.db \"SELECT * FROM edges\" > edges.csv";
const STATA: &str =
    "convert it in Python: pandas.read_stata(\"x.dta\").to_csv(\"x.csv\", index=False)";
const TURTLE: &str = "keep the triples of nodes in Python: open(\"triples.tsv\", \"w\").writelines(f\"{s}\\t{p}\\t{o}\\n\" for s, p, o in \
                      rdflib.Graph().parse(\"x.ttl\") if not isinstance(o, rdflib.Literal)), and pass ‹relation_column=2›";
const UCINET: &str =
    "convert it in Python: igraph.Graph.Read_DL(\"x.dl\").write_ncol(\"edges.txt\", weights=None)";

/// Formats that are not read: name, mark, and the tool that converts them. The first match is named.
const REFUSED: &[(&str, Mark, &str)] = &[
    ("compressed by bzip2", Mark::First(b"BZh"), "decompress it: bunzip2 FILE"),
    ("compressed by xz", Mark::First(b"\xfd7zXZ\0"), "decompress it: unxz FILE"),
    ("compressed by lz4", Mark::First(b"\x04\x22\x4d\x18"), "decompress it: unlz4 FILE"),
    ("compressed by lzma", Mark::First(b"\x5d\0\0"), "decompress it: unlzma FILE"),
    ("compressed by compress", Mark::First(b"\x1f\x9d"), "decompress it: uncompress FILE"),
    (
        "compressed twice",
        Mark::First(b"\x1f\x8b"),
        "decompress it once: gunzip FILE, or unzip FILE",
    ),
    ("a tar archive", Mark::Other(is_tar), "unpack it: tar -xf FILE"),
    ("a 7z archive", Mark::First(b"7z\xbc\xaf\x27\x1c"), "unpack it: 7z x FILE"),
    (
        "text in UTF-32",
        Mark::First(b"\xff\xfe\0\0"),
        "encode it in UTF-8: iconv -f utf-32 -t utf-8 FILE > NEW",
    ),
    (
        "text in UTF-16",
        Mark::Other(is_utf16),
        "encode it in UTF-8: iconv -f utf-16 -t utf-8 FILE > NEW",
    ),
    ("an HDF5 file", Mark::First(b"\x89HDF\r\n\x1a\n"), HDF5),
    ("a file of MATLAB", Mark::First(b"MATLAB 5.0 MAT-file"), MATLAB),
    ("an Arrow (Feather) file", Mark::First(b"ARROW1"), ARROW),
    ("a stream of Arrow", Mark::First(b"\xff\xff\xff\xff"), ARROW_STREAM),
    ("an ORC file", Mark::First(b"ORC"), "convert it to Parquet"),
    ("an Avro file", Mark::First(b"Obj\x01"), "convert it to Parquet"),
    ("an SQLite database", Mark::First(b"SQLite format 3\0"), SQLITE),
    ("a file of Stata", Mark::Other(is_stata), STATA),
    ("a pickle", Mark::Other(is_pickle), PICKLE),
    ("an old workbook of Excel, or of another program", Mark::First(b"\xd0\xcf\x11\xe0"), EXCEL),
    ("a graph of DGL", Mark::First(&GRAPH_FILE.to_le_bytes()), DGL_GRAPH),
    ("a file of DGL's tensors", Mark::First(&TENSOR_FILE.to_le_bytes()), DGL_TENSORS),
    (
        "a pointer of Git LFS",
        Mark::First(b"version https://git-lfs.github.com/"),
        "fetch the file that it stands for: git lfs pull",
    ),
    ("RDF in N-Triples", Mark::Other(is_n_triples), N_TRIPLES),
    ("RDF in Turtle", Mark::Other(is_turtle), TURTLE),
    ("a web page", Mark::Word(b"<!DOCTYPE html"), "download the file itself"),
    ("a web page", Mark::Word(b"<html"), "download the file itself"),
    (
        "a table in HTML",
        Mark::Other(is_html_table),
        "convert it in Python: pandas.read_html(\"x.html\")[0].to_csv(\"x.csv\", index=False)",
    ),
    ("the error of a server", Mark::Word(b"<Error><Code>"), "download the file itself"),
    ("GraphML", Mark::Word(b"<graphml"), networkx!("read_graphml(\"x.graphml\")")),
    ("GEXF", Mark::Word(b"<gexf"), networkx!("read_gexf(\"x.gexf\")")),
    ("XML", Mark::Word(b"<?xml"), "convert it to a text of rows"),
    ("GML", Mark::Other(is_gml), GML),
    ("a file of Pajek", Mark::Word(b"*vertices"), PAJEK),
    ("graph6", Mark::First(b">>graph6<<"), networkx!("read_graph6(\"x.g6\")")),
    ("sparse6", Mark::First(b">>sparse6<<"), networkx!("read_sparse6(\"x.s6\")")),
    ("a file of LEDA", Mark::Word(b"LEDA.GRAPH"), networkx!("read_leda(\"x.lgr\")")),
    ("a file of Graphviz", Mark::Other(is_dot), DOT),
    ("a graph in GDF", Mark::Word(b"nodedef>"), GDF),
    ("a graph of DIMACS", Mark::Other(is_dimacs), DIMACS),
    ("a graph of UCINET", Mark::Other(is_ucinet), UCINET),
    ("a list of edges of LINQS", Mark::Other(is_linqs_edges), LINQS_EDGES),
    ("a table of nodes of LINQS", Mark::Other(is_linqs_nodes), LINQS_NODES),
    (
        "a graph in JSON",
        Mark::Json(b"\"adjacency\":[["),
        networkx!("adjacency_graph(json.load(open(\"x.json\")))"),
    ),
    (
        "a graph in JSON",
        Mark::Json(b"\"elements\":{"),
        networkx!("cytoscape_graph(json.load(open(\"x.json\")))"),
    ),
    (
        "a tree in JSON",
        Mark::Json(b"\"children\":[{"),
        networkx!("tree_graph(json.load(open(\"x.json\")))"),
    ),
    ("a graph in JSON", Mark::Json(b"\"nodes\":[{"), NODE_LINK),
    ("a graph in JSON", Mark::Json(b"\"links\":[{"), NODE_LINK),
    ("a graph in JSON", Mark::Json(b"\"edges\":[{"), NODE_LINK),
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

/// Whether the first record of an archive begins, with the mark that POSIX asks for.
fn is_tar(head: &[u8]) -> bool {
    head.get(257..).is_some_and(|head| head.starts_with(b"ustar")) && head[..257].contains(&0)
}

/// Whether the bytes begin like a pickle of any protocol.
fn is_pickle(head: &[u8]) -> bool {
    let starts = [&b"(dp0\n"[..], b"(dp1\n", b"(lp0\n", b"(lp1\n", b"cnumpy.core.multiarray\n"];
    matches!(head, [0x80, 2..=5, ..] | [b'}' | b']', b'q', 0, ..])
        || starts.iter().any(|start| head.starts_with(start))
}

/// Whether the bytes begin like a file of Stata, of any version since 8.
fn is_stata(head: &[u8]) -> bool {
    head.starts_with(b"<stata_dta>") || matches!(head, [0x71..=0x73, 1 | 2, 1, 0, ..])
}

/// Whether the text begins with a table's tag, and not with a name such as `<table_1>`.
fn is_html_table(head: &[u8]) -> bool {
    const TAG: &[u8] = b"<table";
    head.trim_ascii_start().split_at_checked(TAG.len()).is_some_and(|(tag, rest)| {
        tag.eq_ignore_ascii_case(TAG)
            && rest.first().is_some_and(|byte| *byte == b'>' || byte.is_ascii_whitespace())
    })
}

fn has_word(head: &[u8], word: &[u8]) -> bool {
    let head = &head[..head.len().min(1 << 10)];
    let at = head.windows(word.len()).position(|window| window.eq_ignore_ascii_case(word));
    at.is_some_and(|at| is_beginning(&head[..at]))
}

/// Whether the text before a format's mark is white space, comments or an XML declaration.
fn is_beginning(before: &[u8]) -> bool {
    let before = before.trim_ascii();
    before.is_empty() || [&b"<"[..], b"Creator", b"#"].iter().any(|s| before.starts_with(s))
}

/// Whether the text has the word `graph` with a bracket behind it. Words such as `[x]` behind other white space than a
/// blank or the end of a line are names.
fn is_gml(head: &[u8]) -> bool {
    const WORD: &[u8] = b"graph";
    let head = &head[..head.len().min(1 << 10)];
    let is_open = |rest: &[u8]| {
        let has_bracket =
            |rest: &[u8]| matches!(rest, [b'[', next, ..] if next.is_ascii_whitespace());
        rest.starts_with(b" [")
            || rest.starts_with(b"\n[")
            || rest.first().is_some_and(u8::is_ascii_whitespace)
                && has_bracket(rest.trim_ascii_start())
    };
    let is_word = |at: &usize| head[*at..].strip_prefix(WORD).is_some_and(is_open);
    (0..head.len()).find(is_word).is_some_and(|at| is_beginning(&head[..at]))
}

/// Whether the text is a single JSON object that contains `mark`, without regard to white space.
fn has_json(head: &[u8], mark: &[u8]) -> bool {
    let mut objects = serde_json::Deserializer::from_slice(head).into_iter::<IgnoredAny>();
    let is_one = head.trim_ascii_start().starts_with(b"{")
        && match objects.next() {
            Some(Ok(_)) => head[objects.byte_offset()..].trim_ascii().is_empty(),
            _ => true,
        };
    let bare = || head.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    is_one && bare().collect::<Vec<u8>>().windows(mark.len()).any(|window| window == mark)
}

/// Whether the text is a graph in Graphviz's language: `strict digraph "name" {`, after comments.
fn is_dot(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"//")).unwrap_or_default();
    let first = first.strip_prefix(b"strict").unwrap_or(first).trim_ascii();
    let name = first.strip_prefix(b"digraph").or_else(|| first.strip_prefix(b"graph"));
    name.is_some_and(|name| {
        let brace = name.iter().position(|byte| *byte == b'{');
        name.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'{')
            && brace.is_some_and(|at| !name[..at].contains(&b','))
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
pub(crate) fn check(input: &Input) -> Result<()> {
    let head = &input.head[..];
    let has = |mark: &Mark| match mark {
        Mark::First(bytes) => head.starts_with(bytes),
        Mark::Word(word) => has_word(head, word),
        Mark::Json(mark) => has_json(head, mark),
        Mark::Other(has) => has(head),
    };
    match REFUSED.iter().find(|(_, mark, _)| has(mark)) {
        Some((name, _, hint)) => {
            Err(input.fail(format!("is {name}, which is not read")).with_hint(*hint))
        }
        None => Ok(()),
    }
}
