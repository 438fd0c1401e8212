//! A tensor with a row per node or edge, on disk.

use std::fs::{File, OpenOptions};
use std::marker::PhantomData;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use half::f16;

use super::partition_policy::PartitionPolicy;
use crate::engine::array::Array;
use crate::engine::comm::{Ranks, barrier, broadcast, is_first_here, spans_machines};
use crate::formats::dgl::npy::open_npy;
use crate::graph::PartitionBook;
use crate::io::{Dtype, IoCounters, new_private_file, npy_header, read_ranges};
use crate::load::{EdgeFeatures, NodeColumn};
use crate::words::error::{Error, Result};

/// Number of bytes filled or counted at a time.
const CHUNK: usize = 1 << 20;

/// An element type of distributed tensors. Truth values are bytes (`u8`), as in the masks of DGL's partitions.
pub trait DistElement: Pod + Default + PartialEq {
    /// Element type on disk.
    const DTYPE: Dtype;
}

macro_rules! element {
    ($($T:ty => $dtype:ident),*) => {
        $(impl DistElement for $T {
            const DTYPE: Dtype = Dtype::$dtype;
        })*
    };
}
element!(f16 => F16, f32 => F32, f64 => F64);
element!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64);

/// DGL's `DistTensor`: a dense tensor whose rows belong to the nodes or edges of a type. It is one `.npy` file with
/// rows in the order of ids, so each partition's rows are contiguous; any rank reads and writes any row. No rows are
/// kept in memory.
///
/// Clones are handles to the same tensor. Unless the tensor is persistent, its file is removed with the last handle in
/// the process that created it. Rows are not locked: a rank that reads a row while another rank writes it may see
/// either version or a mixture.
#[derive(Debug, Clone)]
pub struct DistTensor<T> {
    book: Arc<PartitionBook>,
    policy: PartitionPolicy,
    file: Arc<RowsFile>,
    /// Number of rows, then the dimensions of a row.
    shape: Vec<u64>,
    width: usize,
    element: PhantomData<T>,
}

#[derive(Debug)]
struct RowsFile {
    path: PathBuf,
    file: File,
    /// Offset of the first row in the file, in bytes.
    start: u64,
    temporary: bool,
}

impl Drop for RowsFile {
    fn drop(&mut self) {
        if self.temporary {
            // A destructor cannot report an error; the folder's owner removes the file with the folder.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Name, place and shape of a distributed tensor.
#[derive(Debug, Clone)]
pub struct DistTensorConfig<'a> {
    /// Folder of its file.
    pub folder: &'a Path,
    /// Name of the tensor and of its file; `None` generates a name. A tensor without a name cannot be persistent; other
    /// ranks can open it only through [`DistTensor::on_all_ranks`].
    pub name: Option<&'a str>,
    /// Sizes of the dimensions of a row; empty for one element per row.
    pub row_shape: &'a [usize],
    /// The nodes or edges to which its rows belong.
    pub policy: PartitionPolicy,
    /// Whether its file outlives all handles.
    pub persistent: bool,
}

impl<T: DistElement> DistTensor<T> {
    /// Creates a tensor of zeros. One rank calls this; the others [`open`](Self::open) the tensor after a barrier.
    ///
    /// # Errors
    /// If the name is empty or cannot be a file name, the tensor exists already, it is persistent without a name, or the file
    /// cannot be created.
    pub fn create(book: &Arc<PartitionBook>, config: &DistTensorConfig<'_>) -> Result<Self> {
        let anonymous;
        let name = match config.name {
            Some(name) => name,
            None if config.persistent => {
                let problem = "a tensor that outlives its handles needs one";
                return Err(Error::config("name", problem));
            }
            None => {
                anonymous = anonymous_name();
                &anonymous
            }
        };
        let path = path(config.folder, name)?;
        let shape = config.shape(book);
        let header = npy_header(T::DTYPE, &shape)?;
        let refused = |e| Error::io("create", &path, e);
        let mut options = new_private_file();
        if config.persistent {
            // The umask applies, as for any file of a user.
            options.mode(0o666);
        }
        let file = options.open(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => Error::input(&path, "", "exists already")
                .with_hint("open the tensor instead of creating it, or give it another name"),
            _ => refused(e),
        })?;
        let start = header.len() as u64;
        let rows = RowsFile { path: path.clone(), file, start, temporary: !config.persistent };
        rows.file.write_all_at(&header, 0).map_err(refused)?;
        let bytes = shape.iter().product::<u64>() * size_of::<T>() as u64;
        // A hole in the file reads as zeros and takes no space.
        rows.file.set_len(start + bytes).map_err(refused)?;
        Ok(Self::with(book, config.policy, rows, shape))
    }

    /// Like [`create`](Self::create), and fills the rows with `init(index of the first row, rows)`.
    ///
    /// # Errors
    /// As for [`create`](Self::create), or if the rows cannot be written (`Io`, `OutOfDisk`).
    pub fn create_with(
        book: &Arc<PartitionBook>,
        config: &DistTensorConfig<'_>,
        mut init: impl FnMut(u64, &mut [T]),
    ) -> Result<Self> {
        let tensor = Self::create(book, config)?;
        for rows in tensor.chunks(0..tensor.len()) {
            let mut values = vec![T::default(); (rows.end - rows.start) as usize * tensor.width];
            init(rows.start, &mut values);
            tensor.write_range(rows.start, &values)?;
        }
        Ok(tensor)
    }

    /// Opens a tensor that another rank, or an earlier run, has created.
    ///
    /// # Errors
    /// If it has no name, the file does not exist, or has another shape or element type.
    pub fn open(book: &Arc<PartitionBook>, config: &DistTensorConfig<'_>) -> Result<Self> {
        let name = config.name.ok_or_else(|| {
            Error::config("name", "a tensor without one cannot be found")
                .with_hint("make it with DistTensor::on_all_ranks")
        })?;
        let path = path(config.folder, name)?;
        let shape = config.shape(book);
        let start = start_of_rows::<T>(&path, &shape)?;
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|e| Error::unreadable(&path, &e))?;
        let rows = RowsFile { path, file, start, temporary: false };
        Ok(Self::with(book, config.policy, rows, shape))
    }

    /// Creates the tensor on rank 0, filled by `init`, unless it exists already, and opens it on the others: DGL's
    /// constructor. All ranks call this. Two collectives, and one more on several machines. There, the first rank of each
    /// machine creates the machine's own file, so the folder must be local to the machine.
    ///
    /// # Errors
    /// As for [`create`](Self::create) and [`open`](Self::open).
    pub fn on_all_ranks(
        book: &Arc<PartitionBook>,
        config: &DistTensorConfig<'_>,
        mut init: impl FnMut(u64, &mut [T]),
        Ranks { group, hooks }: Ranks<'_>,
    ) -> Result<Self> {
        let exists = |name: &str| Ok::<_, Error>(path(config.folder, name)?.exists());
        let mut created = if group.rank() == 0 && !config.name.map_or(Ok(false), exists)? {
            Some(Self::create_with(book, config, &mut init)?)
        } else {
            None
        };
        let name = created.as_ref().map(Self::name).or(config.name).unwrap_or_default();
        let name = Array::from_slice(&[name.len() as i64], name.as_bytes())?;
        let is_new = Array::from_slice(&[1], &[u8::from(created.is_some())])?;
        let sent = broadcast(group, vec![name, is_new], 0, hooks)?;
        let name = String::from_utf8_lossy(sent[0].bytes()).into_owned();
        let config = DistTensorConfig { name: Some(&name), ..config.clone() };
        if spans_machines(group) {
            let is_new = sent[1].bytes() == [1] && is_first_here(group) && created.is_none();
            if is_new {
                created = Some(Self::create_with(book, &config, init)?);
            }
            barrier(group, hooks)?;
        }
        let tensor = created.map_or_else(|| Self::open(book, &config), Ok)?;
        // The rank that has created a file may drop its handle, and thereby the file, as soon as all ranks have opened it.
        barrier(group, hooks)?;
        Ok(tensor)
    }

    fn with(
        book: &Arc<PartitionBook>,
        policy: PartitionPolicy,
        file: RowsFile,
        shape: Vec<u64>,
    ) -> Self {
        let width = shape[1..].iter().product::<u64>() as usize;
        let (book, file, element) = (book.clone(), Arc::new(file), PhantomData);
        DistTensor { book, policy, file, shape, width, element }
    }

    /// Name of the tensor and of its file.
    pub fn name(&self) -> &str {
        self.file.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.shape[0]
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        T::DTYPE
    }

    /// Number of rows, then the sizes of the dimensions of a row.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The rows as a column of the graph's nodes for loaders: `g.ndata["x"] = tensor` in DGL. The column sees later
    /// writes. Rows with several dimensions are read flat.
    ///
    /// # Errors
    /// If the rows belong to edges, or the file cannot be opened.
    pub fn node_column(&self, counters: IoCounters) -> Result<NodeColumn> {
        let PartitionPolicy::Nodes(ntype) = self.policy else {
            let problem = format!("{} belongs to edges", self.name());
            return Err(Error::config("node data", problem));
        };
        let rows = open_npy(&self.file.path)?;
        NodeColumn::of_type(&self.book, ntype, &rows, counters)
    }

    /// The rows as features of the graph's edges for loaders: `g.edata["x"] = tensor` in DGL. The features see later
    /// writes. Rows with several dimensions are read flat, and all element types as floating-point numbers.
    ///
    /// # Errors
    /// If the rows belong to nodes, or the file cannot be opened.
    pub fn edge_features(&self, counters: IoCounters) -> Result<EdgeFeatures> {
        let PartitionPolicy::Edges(etype) = self.policy else {
            let problem = format!("{} belongs to nodes", self.name());
            return Err(Error::config("edge data", problem));
        };
        let rows = open_npy(&self.file.path)?;
        EdgeFeatures::of_rows(&self.book, etype, &rows, counters)
    }

    /// Number of elements per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Path of the tensor's file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The nodes or edges to which its rows belong.
    pub fn policy(&self) -> PartitionPolicy {
        self.policy
    }

    /// The owners of its rows.
    pub fn book(&self) -> &Arc<PartitionBook> {
        &self.book
    }

    /// The rows of a partition.
    pub fn rows_of(&self, part: usize) -> Range<u64> {
        self.policy.rows_of(&self.book, part)
    }

    /// Reads rows (type-wise ids in any order, repetitions allowed), `[ids.len(), width]`. Neighbouring rows are read together.
    ///
    /// # Errors
    /// If a row does not exist or the file cannot be read.
    pub fn read(&self, ids: &[u64]) -> Result<Vec<T>> {
        let order = self.sorted(ids)?;
        let row = (self.width * size_of::<T>()) as u64;
        let range = |i: usize| {
            let start = self.file.start + ids[order[i] as usize] * row;
            start..start + row
        };
        let mut values = vec![T::default(); ids.len() * self.width];
        let read = read_ranges(&self.file.file, order.len(), range, |i, bytes| {
            let place = order[i] as usize * self.width;
            bytemuck::cast_slice_mut(&mut values[place..place + self.width]).copy_from_slice(bytes);
        });
        read.map_err(|e| Error::io("read", &self.file.path, e))?;
        Ok(values)
    }

    /// Writes rows (type-wise ids in any order), `[ids.len(), width]`. The last value of a duplicate id wins.
    ///
    /// # Errors
    /// If a row does not exist, the number of values is wrong, or the file cannot be written.
    pub fn write(&self, ids: &[u64], values: &[T]) -> Result<()> {
        if values.len() != ids.len() * self.width {
            let problem =
                format!("{} values for {} rows of {}", values.len(), ids.len(), self.width);
            return Err(Error::config("values", problem));
        }
        let order = self.sorted(ids)?;
        let id = |i: &u32| ids[*i as usize];
        let mut buffer: Vec<T> = Vec::new();
        for run in order.chunk_by(|a, b| id(b) - id(a) <= 1) {
            buffer.clear();
            for same in run.chunk_by(|a, b| id(a) == id(b)) {
                let last = same[same.len() - 1] as usize * self.width;
                buffer.extend_from_slice(&values[last..last + self.width]);
            }
            self.write_range(id(&run[0]), &buffer)?;
        }
        Ok(())
    }

    /// Reads consecutive rows from row `first` on into `out`.
    ///
    /// # Errors
    /// If a row does not exist or the file cannot be read.
    pub fn read_from(&self, first: u64, out: &mut [T]) -> Result<()> {
        let at = self.place(first, out.len())?;
        let read = self.file.file.read_exact_at(bytemuck::cast_slice_mut(out), at);
        read.map_err(|e| Error::io("read", &self.file.path, e))
    }

    /// Writes consecutive rows from row `first` on.
    ///
    /// # Errors
    /// If a row does not exist or the file cannot be written.
    pub fn write_from(&self, first: u64, values: &[T]) -> Result<()> {
        self.place(first, values.len())?;
        self.write_range(first, values)
    }

    /// Offset in the file, in bytes, of `values` values from row `first` on.
    fn place(&self, first: u64, values: usize) -> Result<u64> {
        let width = self.width.max(1);
        let end = first + (values / width) as u64;
        if !values.is_multiple_of(width) || end > self.len() {
            let problem = format!("{values} values from row {first} on are not rows of {width}");
            return Err(Error::config("rows", problem));
        }
        Ok(self.file.start + first * (self.width * size_of::<T>()) as u64)
    }

    /// Number of elements that are not 0.
    ///
    /// # Errors
    /// If the file cannot be read (`Io`).
    pub fn count_nonzero(&self) -> Result<u64> {
        let mut count = 0;
        for rows in self.chunks(0..self.len()) {
            let values = self.read(&rows.collect::<Vec<_>>())?;
            count += values.iter().filter(|value| **value != T::default()).count() as u64;
        }
        Ok(count)
    }

    /// Checks that a file has this tensor's shape and element type.
    pub(super) fn check_copy(&self, path: &Path) -> Result<()> {
        start_of_rows::<T>(path, &self.shape).map(drop)
    }

    /// Writes part of the file, including its header.
    pub(super) fn write_bytes(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let RowsFile { path, file, .. } = &*self.file;
        file.write_all_at(bytes, at).map_err(|e| Error::io("write", path, e))
    }

    /// Indices into `ids`, by ascending id; equal ids keep their order.
    fn sorted(&self, ids: &[u64]) -> Result<Vec<u32>> {
        if let Some(id) = ids.iter().find(|id| **id >= self.len()) {
            let problem = format!("there is no row {id}; ids are below {}", self.len());
            return Err(Error::config("ids", problem));
        }
        let mut order: Vec<u32> = (0..ids.len() as u32).collect();
        order.sort_by_key(|i| ids[*i as usize]);
        Ok(order)
    }

    pub(super) fn write_range(&self, first: u64, values: &[T]) -> Result<()> {
        let at = self.file.start + first * (self.width * size_of::<T>()) as u64;
        self.write_bytes(at, bytemuck::cast_slice(values))
    }

    pub(super) fn chunks(&self, rows: Range<u64>) -> impl Iterator<Item = Range<u64>> + use<T> {
        let step = (CHUNK / (self.width * size_of::<T>()).max(1)).max(1);
        let end = rows.end;
        rows.step_by(step).map(move |start| start..end.min(start + step as u64))
    }
}

/// Offset of the rows in a tensor's file, which must have this shape.
fn start_of_rows<T: DistElement>(path: &Path, expected: &[u64]) -> Result<u64> {
    let array = open_npy(path)?;
    if array.dtype() != T::DTYPE || array.shape() != expected {
        let (dtype, shape) = (array.dtype(), array.shape());
        let problem = format!("is {dtype} {shape:?}, not {} {expected:?}", T::DTYPE);
        return Err(Error::input(path, "", problem));
    }
    Ok(array.offset())
}

impl DistTensorConfig<'_> {
    fn shape(&self, book: &PartitionBook) -> Vec<u64> {
        let row = self.row_shape.iter().map(|size| *size as u64);
        std::iter::once(self.policy.num_rows(book)).chain(row).collect()
    }
}

/// A name that no other tensor has, in this process or another.
fn anonymous_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("anonymous-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn path(folder: &Path, name: &str) -> Result<PathBuf> {
    let file_name = Path::new(name).file_name().and_then(|n| n.to_str());
    if file_name != Some(name) {
        return Err(Error::config("name", format!("{name:?} cannot be the name of a file")));
    }
    Ok(folder.join(format!("{name}.npy")))
}
