//! The values that a pickle of a graph file may hold.

use crate::io::Dtype;

/// Index of a value in its pickle.
pub(crate) type Index = usize;

/// A value of a pickle. Each byte of a pickle may become one, so values are small; large parts are boxed.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    None,
    Bool,
    Int(i64),
    Text(&'a str),
    Tuple(Vec<Index>),
    Dict(Vec<(Index, Index)>),
    Class(Class),
    Storage(Box<PickleStorage<'a>>),
    Tensor(Box<Tensor<'a>>),
    Object { class: Class, state: Option<Index> },
}

/// The classes and functions that a pickle may name; all others are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    FusedCsc,
    ScriptObject,
    RebuildTensor,
    OrderedDict,
    Storage(Dtype),
}

impl Class {
    pub(crate) fn known(module: &str, name: &str) -> Option<Self> {
        match (module, name) {
            ("dgl.graphbolt.impl.fused_csc_sampling_graph", "FusedCSCSamplingGraph") => {
                Some(Class::FusedCsc)
            }
            ("torch", "ScriptObject") => Some(Class::ScriptObject),
            ("torch._utils", "_rebuild_tensor_v2") => Some(Class::RebuildTensor),
            ("collections", "OrderedDict") => Some(Class::OrderedDict),
            ("torch", storage) => storage_dtype(storage).map(Class::Storage),
            _ => None,
        }
    }
}

fn storage_dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "LongStorage" => Dtype::I64,
        "IntStorage" => Dtype::I32,
        "ShortStorage" => Dtype::I16,
        "CharStorage" => Dtype::I8,
        "ByteStorage" => Dtype::U8,
        "BoolStorage" => Dtype::Bool,
        "FloatStorage" => Dtype::F32,
        "DoubleStorage" => Dtype::F64,
        "HalfStorage" => Dtype::F16,
        "BFloat16Storage" => Dtype::BF16,
        _ => return None,
    })
}

/// A range of elements in a member of the archive.
#[derive(Clone, Debug)]
pub(crate) struct PickleStorage<'a> {
    pub(crate) dtype: Dtype,
    /// Key of the member.
    pub(crate) key: &'a str,
    /// Number of elements.
    pub(crate) len: u64,
}

/// A view of a storage; offset and strides count elements.
#[derive(Clone, Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) storage: PickleStorage<'a>,
    pub(crate) offset: u64,
    pub(crate) size: Vec<u64>,
    pub(crate) stride: Vec<u64>,
}
