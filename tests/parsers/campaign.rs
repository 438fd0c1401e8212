//! Many inputs for one format.

use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::guard::{BUFFERS, limit, watch};
use crate::mutate::{Syntax, mutate};
use crate::watchdog::Watchdog;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Numbers of inputs for a fixed seed, and for one that is new in every run.
const FIXED: u64 = 1500;
const NEW: u64 = 500;

/// Number of files that are kept because reading them took new paths.
const KEPT: usize = 20_000;

/// Number of different failures after which a run ends.
const FAILURES: usize = 12;

/// A function that reads an input; the number selects one of several ways.
pub(crate) type Read = Rc<dyn Fn(u64) -> sar::Result<()>>;

/// A wrapper around a mutated file, such as an archive.
pub(crate) type Pack = Rc<dyn Fn(&[u8]) -> Vec<u8>>;

/// A sound file, its place, and its reader.
#[derive(Clone)]
pub(crate) struct Seed {
    pub(crate) content: Vec<u8>,
    pub(crate) syntax: Syntax,
    pub(crate) pack: Option<Pack>,
    pub(crate) file: PathBuf,
    pub(crate) read: Read,
    /// Size of buffers of a fixed size, in bytes.
    pub(crate) buffers: usize,
}

impl Seed {
    pub(crate) fn new(content: Vec<u8>, syntax: Syntax, file: &Path, read: Read) -> Self {
        Seed { content, syntax, pack: None, file: file.to_owned(), read, buffers: BUFFERS }
    }

    pub(crate) fn packed(self, pack: Pack) -> Self {
        Seed { pack: Some(pack), ..self }
    }

    fn packed_file(&self, content: &[u8]) -> Vec<u8> {
        self.pack.as_ref().map_or_else(|| content.to_owned(), |pack| pack(content))
    }
}

/// A file to be changed: a seed's, or one derived from it.
struct Start {
    seed: usize,
    content: Vec<u8>,
}

struct Campaign<'a> {
    format: &'a str,
    seeds: &'a [Seed],
    /// The seeds' files in their sound form.
    sound: Vec<Vec<u8>>,
    /// The seed whose file is changed at present.
    changed: Option<usize>,
    starts: Vec<Start>,
    watchdog: Watchdog,
    coverage: Coverage,
    failures: BTreeMap<String, String>,
    accepted: u64,
    slowest: (Duration, u64),
}

/// Reads mutated files of a format: as many as the environment says (`SAR_PARSER_INPUTS`, `SAR_PARSER_SEED`), or the one that
/// it names (`SAR_PARSER_INPUT`).
pub(crate) fn run(format: &str, seeds: &[Seed]) {
    let starts = seeds.iter().enumerate();
    let starts = starts.map(|(seed, s)| Start { seed, content: s.content.clone() }).collect();
    let mut campaign = Campaign {
        format,
        seeds,
        sound: seeds.iter().map(|seed| seed.packed_file(&seed.content)).collect(),
        changed: None,
        starts,
        watchdog: Watchdog::new(format),
        coverage: Coverage::new(),
        failures: BTreeMap::new(),
        accepted: 0,
        slowest: (Duration::ZERO, 0),
    };
    campaign.read_sound_files();
    if let Ok(path) = std::env::var("SAR_PARSER_INPUT") {
        campaign.replay(Path::new(&path));
    } else {
        for (first, inputs) in plan() {
            campaign.read_mutated(first, inputs);
        }
    }
    let failures: Vec<&String> = campaign.failures.values().collect();
    assert!(failures.is_empty(), "{format}: {failures:#?}");
}

/// First input and number of inputs of each run.
fn plan() -> Vec<(u64, u64)> {
    let number = |name: &str| Some(std::env::var(name).ok()?.parse::<u64>().unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let new = now.as_nanos() as u64 % (1 << 53);
    match (number("SAR_PARSER_SEED"), number("SAR_PARSER_INPUTS")) {
        (Some(seed), inputs) => vec![(seed, inputs.unwrap_or(1))],
        (None, Some(inputs)) => vec![(new, inputs)],
        (None, None) => vec![(0, FIXED), (new, NEW)],
    }
}

impl Campaign<'_> {
    fn read_sound_files(&mut self) {
        let seeds = self.seeds;
        for (at, seed) in seeds.iter().enumerate() {
            for way in 0..8 {
                let limit = self.put(at, None);
                let sound = watch(way, limit, || (seed.read)(way));
                let path = seed.file.display();
                if sound != Ok(true) {
                    let error = (seed.read)(way).err().map(|e| e.to_string());
                    panic!("{}: seed {at} for {path}: {sound:?} {error:?}", self.format);
                }
            }
        }
    }

    fn read_mutated(&mut self, first: u64, inputs: u64) {
        let start = Instant::now();
        for input in first..first + inputs {
            let mut dice = Dice::new(input);
            let (seed, content) = self.make(&mut dice);
            let way = dice.number();
            self.read(input, seed, &content, way);
            if self.failures.len() >= FAILURES {
                break;
            }
        }
        let (format, accepted, kept) = (self.format, self.accepted, self.starts.len());
        let (longest, slowest) = self.slowest;
        println!(
            "{format}: {inputs} inputs from seed {first} in {:.1} s; {accepted} were sound, input {slowest} took \
             {longest:.0?}, {kept} files to start from{}",
            start.elapsed().as_secs_f64(),
            self.coverage.summary()
        );
    }

    /// Chooses a file and changes it.
    fn make(&self, dice: &mut Dice) -> (usize, Vec<u8>) {
        // Half of them come from sound files, evenly; the others from files that took new paths, mostly recent ones.
        let newest = self.starts.len() - dice.below(self.starts.len().min(64)) - 1;
        let at = match dice.below(4) {
            0 | 1 => dice.below(self.seeds.len()),
            2 => dice.below(self.starts.len()),
            _ => newest,
        };
        let start = &self.starts[at];
        let other = &self.starts[dice.below(self.starts.len())].content;
        let seed = &self.seeds[start.seed];
        (start.seed, mutate(dice, &start.content, other, &seed.syntax))
    }

    fn read(&mut self, input: u64, at: usize, content: &[u8], way: u64) {
        let seeds = self.seeds;
        let seed = &seeds[at];
        let limit = self.put(at, Some(content));
        self.coverage.start();
        let (outcome, took) =
            self.watchdog.time(input, || watch(input, limit, || (seed.read)(way)));
        let is_new = self.coverage.finds_new();
        self.slowest = self.slowest.max((took, input));
        match outcome {
            Ok(sound) => self.accepted += u64::from(sound),
            Err(problem) => self.keep_failure(input, at, content, way, &problem),
        }
        if is_new && self.starts.len() < KEPT {
            self.starts.push(Start { seed: at, content: content.to_vec() });
        }
    }

    /// Writes a seed's file, changed or sound; returns the limit of memory for reading it. No other file is changed then, as
    /// files of a directory are read together.
    fn put(&mut self, at: usize, changed: Option<&[u8]>) -> usize {
        let seed = &self.seeds[at];
        if let Some(last) = self.changed.filter(|last| self.seeds[*last].file != seed.file) {
            fs::write(&self.seeds[last].file, &self.sound[last]).unwrap();
        }
        let packed = changed.map(|content| seed.packed_file(content));
        let file = packed.as_ref().unwrap_or(&self.sound[at]);
        fs::write(&seed.file, file).unwrap();
        self.changed = Some(at);
        limit(seed.buffers, file.len())
    }

    /// Writes the input to a file and remembers the failure, once for each kind.
    fn keep_failure(&mut self, input: u64, at: usize, content: &[u8], way: u64, problem: &str) {
        let kind: String = problem.chars().filter(|c| !c.is_ascii_digit()).take(160).collect();
        if self.failures.contains_key(&kind) {
            return;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parsers");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.{at}.{way}", self.format));
        fs::write(&path, content).unwrap();
        let text = format!(
            "input {input} {problem}; again: SAR_PARSER_SEED={input} or, where coverage chose the file, SAR_PARSER_INPUT={}",
            path.display()
        );
        eprintln!("{}: {text}", self.format);
        self.failures.insert(kind, text);
    }

    /// Reads a file that [`keep_failure`](Self::keep_failure) wrote; its name says how.
    fn replay(&mut self, path: &Path) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let [format, at, way] = name.split('.').collect::<Vec<_>>()[..] else { panic!("{name}") };
        if format == self.format {
            let content = fs::read(path).unwrap();
            self.read(0, at.parse().unwrap(), &content, way.parse().unwrap());
        }
    }
}
