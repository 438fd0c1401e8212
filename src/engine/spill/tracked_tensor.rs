//! Tracking of tensors in the type in which they are held, or as entries.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::dtype::{ComputeDtype, SpillDtype};
use super::manager::PartitionDataManager;
use super::pointer::Pointer;
use super::shard::ShardPointer;
use super::tensor::{PointerTensor, TensorLayout, converted};
use super::value::Spill;
use crate::engine::tensor;
use crate::graph::{GraphShard, SortedEdges};
use crate::io::Dtype;
use crate::words::error::Result;

impl PartitionDataManager {
    /// Tracks a matrix with one row per node, in the type that [`held_kind`](Self::held_kind) returns (the value may
    /// have it already). `value` must be the only handle to its memory.
    ///
    /// # Errors
    /// If memory for a conversion runs out (`Tensor`).
    pub fn track_rows(&self, label: &str, value: Tensor) -> Result<PointerTensor> {
        let mut layout = value.layout();
        if layout.kind == Kind::BFloat16 {
            layout.kind = Kind::Float;
        }
        layout.held = self.held_kind(layout.shape.iter().skip(1).product(), layout.kind);
        let value =
            if layout.held == value.kind() { value } else { converted(&value, layout.held)? };
        Ok(self.track_as(label, layout, value))
    }

    /// Type in which rows of this width and type are held if they outlive an operation.
    pub fn held_kind(&self, width: i64, kind: Kind) -> Kind {
        let dtype = match self.compute_dtype.get() {
            ComputeDtype::F32 => self.spill_dtype.get(),
            ComputeDtype::Bf16 => SpillDtype::Bf16,
        };
        if kind == Kind::Float && dtype.narrows(width) { Kind::BFloat16 } else { kind }
    }

    /// Type in which recomputable rows and operands of products are held.
    pub fn computed_kind(&self, width: i64, kind: Kind) -> Kind {
        match self.compute_dtype.get() {
            ComputeDtype::F32 => kind,
            ComputeDtype::Bf16 => self.held_kind(width, kind),
        }
    }

    /// Tracks a tensor that never needs a file, because `recipe` computes it again with the same result. The recipe may
    /// return the type in which the tensor is [held](Self::computed_kind), which `value` must have.
    pub fn track_recipe(
        &self,
        label: &str,
        shape: &[i64],
        kind: Kind,
        value: Option<Tensor>,
        recipe: Rc<dyn Fn() -> Result<Tensor>>,
    ) -> PointerTensor {
        let layout = self.recipe_layout(shape, kind, None);
        self.track_made_in(label, layout, value, recipe)
    }

    /// Like [`track_recipe`](Self::track_recipe), for values that the narrower type `exact`, if given, represents
    /// exactly. Messages carry them in that type.
    pub fn track_exact(
        &self,
        label: &str,
        shape: &[i64],
        kind: Kind,
        exact: Option<Dtype>,
        recipe: Rc<dyn Fn() -> Result<Tensor>>,
    ) -> PointerTensor {
        let layout = self.recipe_layout(shape, kind, exact);
        self.track_made_in(label, layout, None, recipe)
    }

    /// Tracks a matrix by its entries: destinations are rows, sources are columns, and weights are values. Products use
    /// the entries. Other operations use the matrix, which is made again from the entries whenever it is used.
    ///
    /// `exact` is as in [`track_exact`](Self::track_exact).
    pub fn track_entries(
        &self,
        label: &str,
        entries: GraphShard,
        exact: Option<Dtype>,
    ) -> PointerTensor {
        let entries = self.track_shard(label, entries);
        let shape = [entries.num_destinations() as i64, entries.num_sources() as i64];
        let layout = self.recipe_layout(&shape, Kind::Float, exact);
        let layout = TensorLayout { entries: Some(entries.clone()), ..layout };
        self.track_made_in(label, layout, None, Rc::new(move || matrix(&*entries.by_dst()?)))
    }

    fn recipe_layout(&self, shape: &[i64], kind: Kind, exact: Option<Dtype>) -> TensorLayout {
        let kind = if kind == Kind::BFloat16 { Kind::Float } else { kind };
        let held = self.computed_kind(shape.iter().skip(1).product(), kind);
        // Rounded values differ.
        let exact = exact.filter(|_| held == Kind::Float);
        TensorLayout { shape: shape.to_vec(), kind, held, exact, entries: None }
    }

    fn track_made_in(
        &self,
        label: &str,
        layout: TensorLayout,
        value: Option<Tensor>,
        recipe: Rc<dyn Fn() -> Result<Tensor>>,
    ) -> PointerTensor {
        let held = layout.held;
        let recipe = Rc::new(move || {
            let value = recipe()?;
            if value.kind() == held { Ok(value) } else { converted(&value, held) }
        });
        self.track_made(label, layout, value, recipe)
    }
}

impl PointerTensor {
    /// The entries of a matrix that is held as such.
    pub fn entries(&self) -> Option<&ShardPointer> {
        self.layout().entries.as_ref()
    }

    /// The entries in these rows, ascending, of a matrix that is held as entries.
    ///
    /// # Errors
    /// If the entries or the list of rows cannot be read back (`Io`, `Corrupt`).
    pub fn entries_of_rows(&self, rows: &Pointer<Vec<u32>>) -> Result<Option<GraphShard>> {
        let Some(entries) = self.entries() else { return Ok(None) };
        let mut places = vec![u32::MAX; entries.num_destinations()];
        rows.pin()?.iter().zip(0..).for_each(|(row, place)| places[*row as usize] = place);
        let picked = entries.by_dst()?.edges_into(&places, |column| column);
        Ok(Some(picked.build(rows.len(), entries.num_sources(), true)?.0))
    }
}

fn matrix(entries: &SortedEdges) -> Result<Tensor> {
    let SortedEdges { ends, weights, .. } = entries;
    let width = ends.num_cols();
    let mut matrix = tensor::zeros(&[ends.num_rows() as i64, width as i64], Kind::Float)?;
    let mut values = tensor::slice_mut::<f32>(&mut matrix);
    let mut weights = weights.iter().flatten();
    for (i, row) in ends.rows().iter().enumerate() {
        for (column, weight) in ends.columns(i).iter().zip(&mut weights) {
            values[*row as usize * width + *column as usize] = *weight;
        }
    }
    drop(values);
    Ok(matrix)
}
