//! One feature of one type of nodes or edges.

use crate::formats::dgl::array::ArrayRef;

/// A named table with a row per inner node (or inner edge) of one type. It is read by ranges of rows.
#[derive(Clone, Debug)]
pub struct Feature {
    pub(crate) ty: usize,
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) array: ArrayRef,
}

impl Feature {
    /// Id of the node type or edge type.
    pub fn ty(&self) -> usize {
        self.ty
    }

    /// The key in the file, such as `paper/feat`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The name without the type, such as `feat`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is the feature of a type with this name.
    pub(crate) fn is_of(&self, ty: usize, name: &str) -> bool {
        self.ty == ty && self.name == name
    }

    /// The table. Row `j` belongs to the `j`-th inner node of the type in ascending order of ids, or to the inner edge
    /// of the type with [`row`](crate::formats::dgl::InnerEdge::row) `j`.
    pub fn array(&self) -> &ArrayRef {
        &self.array
    }
}
