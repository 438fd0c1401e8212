//! Small graphs, cut by the program itself from text files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::process::{Status, run};
use super::random::Random;

/// Number of different graphs of each kind.
pub(crate) const POOL: u64 = 80;

/// A partition directory.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    pub(crate) json: PathBuf,
    pub(crate) parts: u64,
}

/// The user's files, which `partition` reads.
pub(crate) struct Files {
    pub(crate) graph: Graph,
    pub(crate) arguments: Vec<String>,
}

impl Graph {
    /// The `number`-th graph of the pool, which is created if it does not exist.
    pub(crate) fn of_pool(folder: &Path, number: u64, hetero: bool) -> Graph {
        let name = format!("{}{number}", if hetero { "typed" } else { "plain" });
        let folder = folder.join(name);
        let files = Files::write(&folder, number, hetero);
        if files.graph.json.exists() {
            return files.graph;
        }
        let arguments = files.partition(&folder.join("parts"));
        let ended = run(&arguments, &[], &[]);
        assert_eq!(ended.status, Status::Code(0), "{arguments:?}\n{}", ended.stderr);
        files.graph
    }
}

impl Files {
    /// Writes the files of a graph into a folder.
    pub(crate) fn write(folder: &Path, number: u64, hetero: bool) -> Files {
        let mut random = Random::new(number, if hetero { "typed graph" } else { "plain graph" });
        let parts = random.pick(&[1, 2, 2, 3, 3, 4]);
        let nodes = if random.chance(20) { random.between(4, 9) } else { random.between(10, 50) };
        let json = folder.join("parts/g.json");
        let graph = Graph { json, parts };
        let mut files = Files { graph, arguments: Vec::new() };
        if folder.exists() {
            return files;
        }
        fs::create_dir_all(folder).unwrap();
        let others = random.between(2, 20);
        if hetero {
            files.edges(folder, &mut random, ("a:r1:b", nodes, others));
            files.edges(folder, &mut random, ("b:r2:a", others, nodes));
            files.edges(folder, &mut random, ("a:r3:a", nodes, nodes));
            files.nodes(folder, &mut random, ("a", nodes));
            if random.chance(50) {
                let wide = random.between(1, 5) as usize;
                let rows = rows(&mut random, others, wide);
                files.file(folder, "--node-data", "b/feat", &rows);
            }
            files.push(&["--num-nodes", &format!("b={others}")]);
            files.assignment(folder, &mut random, ("b=", others));
            files.assignment(folder, &mut random, ("a=", nodes));
        } else {
            files.edges(folder, &mut random, ("", nodes, nodes));
            files.nodes(folder, &mut random, ("", nodes));
            files.assignment(folder, &mut random, ("", nodes));
        }
        files
    }

    /// The command that cuts the graph.
    pub(crate) fn partition(&self, out: &Path) -> Vec<String> {
        let mut command = vec!["sar-single".to_owned(), "partition".to_owned()];
        command.extend(self.arguments.iter().cloned());
        let parts = self.graph.parts.to_string();
        let out = out.display().to_string();
        command.extend(
            ["--method", "file", "--num-parts", &parts, "--memory", "256MiB", "--out", &out]
                .map(str::to_owned),
        );
        command
    }

    fn push(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(|text| (*text).to_owned()));
    }

    /// Writes a file and passes it as `flag name=file`.
    fn file(&mut self, folder: &Path, flag: &str, name: &str, content: &str) {
        let path = folder.join(format!("{}.txt", name.replace('/', "-")));
        fs::write(&path, content).unwrap();
        self.push(&[flag, &format!("{name}={}", path.display())]);
    }

    fn edges(
        &mut self,
        folder: &Path,
        random: &mut Random,
        (edge_type, sources, destinations): (&str, u64, u64),
    ) {
        let count = random.between(nodes_times(sources, 1), nodes_times(sources, 5));
        let mut text = String::new();
        for _ in 0..count {
            let weight = random.small_number().abs() + 0.125;
            let (src, dst) = (random.below(sources), random.below(destinations));
            writeln!(text, "{src} {dst} {weight}").unwrap();
        }
        let path = folder.join(format!("edges-{}.txt", edge_type.replace(':', "-")));
        fs::write(&path, text).unwrap();
        let path = path.display();
        let named =
            if edge_type.is_empty() { path.to_string() } else { format!("{edge_type}={path}") };
        self.push(&["--edges", &named]);
        if !self.arguments.iter().any(|text| text == "--edge-columns") {
            self.push(&["--edge-columns", "weight"]);
        }
    }

    /// Features, labels and masks of the nodes of a type.
    fn nodes(&mut self, folder: &Path, random: &mut Random, (ty, count): (&str, u64)) {
        let name =
            |name: &str| if ty.is_empty() { name.to_owned() } else { format!("{ty}/{name}") };
        let wide = random.between(1, 6) as usize;
        let features = rows(random, count, wide);
        self.file(folder, "--node-data", &name("feat"), &features);
        let classes = random.between(2, 4);
        let labels = lines(count, || random.below(classes).to_string());
        self.file(folder, "--node-data", &name("label"), &labels);
        let several = lines(count, || format!("{} {}", random.below(2), random.below(2)));
        self.file(folder, "--node-data", &name("several"), &several);
        let targets = rows(random, count, 1);
        self.file(folder, "--node-data", &name("target"), &targets);
        let mut parts = [String::new(), String::new(), String::new()];
        for node in 0..count {
            // At least one of each; some nodes are in no part.
            let part = if node < 3 { node } else { random.pick(&[0, 0, 0, 1, 2, 3]) };
            if let Some(list) = parts.get_mut(part as usize) {
                writeln!(list, "{node}").unwrap();
            }
        }
        for (part, list) in ["train", "val", "test"].into_iter().zip(parts) {
            self.file(folder, "--split", &name(part), &list);
        }
    }

    /// Partitions of nodes: some even, some empty, some of one node.
    fn assignment(&mut self, folder: &Path, random: &mut Random, (ty, count): (&str, u64)) {
        let parts = self.graph.parts;
        let shape = random.below(4);
        let lonely = random.below(parts);
        let mut node = 0;
        let text = lines(count, || {
            let even = random.below(parts);
            node += 1;
            let part = match shape {
                // One partition has one node.
                1 if node == 1 => lonely,
                // It has nothing, or nothing else.
                0 | 1 if even == lonely => (lonely + 1) % parts,
                _ => even,
            };
            part.to_string()
        });
        let path = folder.join(format!("assignment-{}.txt", ty.trim_end_matches('=')));
        fs::write(&path, text).unwrap();
        self.push(&["--assignment", &format!("{ty}{}", path.display())]);
    }
}

fn nodes_times(nodes: u64, times: u64) -> u64 {
    (nodes * times).max(1)
}

fn rows(random: &mut Random, count: u64, width: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        let row: Vec<String> =
            (0..width).map(|_| format!("{:.8}", random.small_number())).collect();
        writeln!(text, "{}", row.join(" ")).unwrap();
    }
    text
}

fn lines(count: u64, mut line: impl FnMut() -> String) -> String {
    let mut text = String::new();
    for _ in 0..count {
        text += &line();
        text.push('\n');
    }
    text
}
