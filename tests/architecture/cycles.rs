//! No files import in a circle.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::source::{files, program, split_at_depth_0};

/// A module path without `crate`.
type Module = Vec<String>;

/// The source tree: files by module, and the imports of each.
struct Tree {
    files: HashMap<Module, String>,
    /// By module: paths that it names, absolute.
    paths: HashMap<Module, Vec<Module>>,
    /// By module: names that it hands on, and what they stand for.
    handed_on: HashMap<Module, HashMap<String, Module>>,
}

impl Tree {
    fn read() -> Self {
        let mut tree =
            Tree { files: HashMap::new(), paths: HashMap::new(), handed_on: HashMap::new() };
        for (path, content) in files("src") {
            let inside = path.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
            let inside = inside.strip_suffix("/mod").unwrap_or(inside);
            let module: Module = match inside {
                "lib" => Vec::new(),
                _ => inside.split('/').map(ToOwned::to_owned).collect(),
            };
            let program = program(&content);
            let (mut paths, mut handed_on) = (Vec::new(), HashMap::new());
            for import in imports(&program) {
                for (name, leaf) in leaves(import.tree) {
                    let leaf = absolute(&module, &leaf);
                    if import.public {
                        handed_on.insert(name, leaf.clone());
                    }
                    paths.push(leaf);
                }
            }
            paths.extend(inline_paths(&program).map(|path| absolute(&module, &path)));
            tree.paths.insert(module.clone(), paths);
            tree.handed_on.insert(module.clone(), handed_on);
            tree.files.insert(module, path);
        }
        tree
    }

    /// The file that a path leads to, through all that is handed on.
    fn file_of(&self, path: &[String]) -> Option<&str> {
        let len = (0..=path.len()).rev().find(|len| self.files.contains_key(&path[..*len]))?;
        let (module, rest) = path.split_at(len);
        if let Some(name) = rest.first()
            && let Some(target) = self.handed_on[module].get(name)
            && target.as_slice() != path
        {
            let target = [target.as_slice(), &rest[1..]].concat();
            return self.file_of(&target);
        }
        Some(&self.files[module])
    }

    /// For each file the files that it imports from; files that only list modules do not count.
    fn graph(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let lists = |path: &str| path.ends_with("/mod.rs") || path == "src/lib.rs";
        let mut graph = BTreeMap::new();
        for (module, file) in self.files.iter().filter(|(_, file)| !lists(file)) {
            let used = self.paths[module].iter().filter_map(|path| self.file_of(path));
            let used = used.filter(|used| used != file && !lists(used)).collect();
            graph.insert(file.as_str(), used);
        }
        graph
    }
}

/// A `use` declaration.
struct Import<'p> {
    public: bool,
    tree: &'p str,
}

fn imports(program: &str) -> impl Iterator<Item = Import<'_>> {
    program.match_indices("use ").filter_map(|(at, _)| {
        let line = &program[program[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        let public = line.trim_start().starts_with("pub");
        let plain = line.trim().is_empty() || public;
        let tree = program[at + 4..].split_once(';')?.0;
        plain.then_some(Import { public, tree })
    })
}

/// The names and paths of a tree of imports.
fn leaves(tree: &str) -> Vec<(String, Module)> {
    let tree = tree.trim();
    if let Some((prefix, rest)) = tree.split_once('{') {
        let prefix: Module = segments(prefix.trim().trim_end_matches("::"));
        let inner = split_at_depth_0(rest).into_iter().flat_map(leaves);
        return inner
            .map(|(name, leaf)| {
                let leaf = leaf.into_iter().filter(|segment| segment != "self");
                (name, prefix.iter().cloned().chain(leaf).collect())
            })
            .collect();
    }
    let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
    let path = segments(path);
    let name = if name.is_empty() { path.last().cloned().unwrap_or_default() } else { name.into() };
    vec![(name, path)]
}

fn segments(path: &str) -> Module {
    path.split("::").map(|segment| segment.trim().to_owned()).collect()
}

/// Paths that a program names without a `use`.
fn inline_paths(program: &str) -> impl Iterator<Item = Module> {
    ["crate::", "super::"].into_iter().flat_map(move |root| {
        program.match_indices(root).map(move |(at, _)| {
            let rest = &program[at..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            segments(rest[..end.unwrap_or(rest.len())].trim_end_matches(':'))
        })
    })
}

/// A path from the crate's root; paths into other crates lead nowhere.
fn absolute(module: &[String], path: &[String]) -> Module {
    let mut base = module.to_vec();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("crate") => return rest[1..].to_vec(),
        Some("self") => rest = &rest[1..],
        Some("super") => {
            while rest.first().is_some_and(|segment| segment == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // A child of a module that hands it on, or another crate.
        _ => {}
    }
    base.extend(rest.iter().cloned());
    base
}

/// Groups of files of which each imports from each other, if by detours.
fn cycles<'g>(graph: &BTreeMap<&'g str, BTreeSet<&'g str>>) -> BTreeSet<Vec<&'g str>> {
    let reached = |from: &'g str| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(file) = left.pop() {
            left.extend(graph.get(file).into_iter().flatten().filter(|next| seen.insert(**next)));
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|file| (*file, reached(file))).collect();
    let of_file = |file: &'g str| -> Vec<&'g str> {
        graph
            .keys()
            .copied()
            .filter(|o| reached[file].contains(o) && reached[o].contains(file))
            .collect()
    };
    graph.keys().map(|file| of_file(file)).filter(|cycle| cycle.len() > 1).collect()
}

#[test]
fn no_files_import_in_a_circle() {
    let tree = Tree::read();
    let graph = tree.graph();
    let edges: usize = graph.values().map(BTreeSet::len).sum();
    assert!(edges > 2 * graph.len(), "{edges} imports of {} files: most are missed", graph.len());
    let found: Vec<_> = cycles(&graph)
        .into_iter()
        .map(|files| {
            let inside = |file: &&&str| files.contains(*file);
            let imports = files.iter().map(|file| {
                let used: Vec<_> = graph[file].iter().filter(inside).collect();
                format!("{file} uses {used:?}")
            });
            imports.collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn circles_are_found() {
    let graph = BTreeMap::from([
        ("a", BTreeSet::from(["b"])),
        ("b", BTreeSet::from(["c", "d"])),
        ("c", BTreeSet::from(["a"])),
        ("d", BTreeSet::from(["e"])),
        ("e", BTreeSet::from(["d"])),
    ]);
    assert_eq!(cycles(&graph), BTreeSet::from([vec!["a", "b", "c"], vec!["d", "e"]]));
    let found = leaves("crate::a::{self, b::{C, D as E}}");
    let names: Vec<_> =
        found.iter().map(|(name, path)| format!("{name}: {}", path.join("::"))).collect();
    assert_eq!(names, ["self: crate::a", "C: crate::a::b::C", "E: crate::a::b::D"]);
}
