//! libtorch's tensors in collectives.

use tch::{Kind, Tensor};

use crate::engine::array::{ArrayLayout, Elements};
use crate::engine::tensor;
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Tensors on the CPU.
impl Elements for Tensor {
    fn array_layout(&self) -> Result<ArrayLayout> {
        let kind = self.kind();
        let dtype = DTYPES.iter().find(|(of_tensor, _)| *of_tensor == kind);
        let dtype =
            dtype.ok_or_else(|| Error::internal(format!("tensors of {kind:?} are never sent")))?;
        Ok(ArrayLayout { dtype: dtype.1, shape: self.size() })
    }

    fn read_elements<R>(&self, read: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        read(&tensor::bytes(&self.f_contiguous()?))
    }

    fn from_elements(
        layout: &ArrayLayout,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let kind = DTYPES.iter().find(|(_, dtype)| *dtype == layout.dtype);
        let kind = kind
            .ok_or_else(|| Error::internal(format!("tensors of {} do not exist", layout.dtype)))?;
        let mut value = tensor::empty(&layout.shape, kind.0)?;
        write(&mut tensor::bytes_mut(&mut value))?;
        Ok(value)
    }
}

const DTYPES: [(Kind, Dtype); 10] = [
    (Kind::Uint8, Dtype::U8),
    (Kind::Int8, Dtype::I8),
    (Kind::Int16, Dtype::I16),
    (Kind::Int, Dtype::I32),
    (Kind::Int64, Dtype::I64),
    (Kind::Half, Dtype::F16),
    (Kind::Float, Dtype::F32),
    (Kind::Double, Dtype::F64),
    (Kind::Bool, Dtype::Bool),
    (Kind::BFloat16, Dtype::BF16),
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tch::Device;

    use super::*;
    use crate::engine::array::Array;
    use crate::engine::comm::{FileGroup, NoHooks, ProcessGroup, ReduceOp, all_gather, all_reduce};
    use crate::engine::turns::Control;

    /// Runs `work` on each rank, in its own thread.
    fn on_ranks<R: Send>(world: usize, work: impl Fn(&FileGroup) -> R + Sync) -> Vec<R> {
        let control = Arc::new(Control::in_memory(world, world).unwrap());
        let groups = FileGroup::in_memory(&control);
        std::thread::scope(|scope| {
            let work = &work;
            let threads = groups.into_iter().map(|group| scope.spawn(move || work(&group)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Values that differ between ranks in every type, with rows and columns swapped in memory.
    fn values(rank: usize, kind: Kind) -> Tensor {
        let values = Tensor::arange(30, (Kind::Double, Device::Cpu)) * 1.37 + rank as f64 * 0.731;
        values.view([5, 6]).transpose(0, 1).to_kind(kind)
    }

    fn bits(tensor: &Tensor) -> Vec<u8> {
        tensor.read_elements(|bytes| Ok(bytes.to_vec())).unwrap()
    }

    #[test]
    fn tensors_and_arrays_are_the_same_in_messages() {
        for (kind, dtype) in DTYPES {
            on_ranks(2, |group| {
                let sent = values(group.rank(), kind);
                let arrays: Vec<Array> = if group.rank() == 0 {
                    all_gather(group, sent.shallow_clone(), &NoHooks).unwrap();
                    return;
                } else {
                    let layout = ArrayLayout::new(dtype, &[6, 5]);
                    let mine = Array::from_elements(&layout, |bytes| {
                        bytes.copy_from_slice(&bits(&sent));
                        Ok(())
                    });
                    all_gather(group, mine.unwrap(), &NoHooks).unwrap()
                };
                for (rank, array) in arrays.iter().enumerate() {
                    assert_eq!(array.layout(), &ArrayLayout::new(dtype, &[6, 5]));
                    assert_eq!(array.bytes(), bits(&values(rank, kind)), "{kind:?}");
                }
            });
        }
    }

    #[test]
    fn reductions_give_the_bits_that_libtorch_gives() {
        for (kind, _) in DTYPES {
            for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min] {
                let wide =
                    if matches!(kind, Kind::Half | Kind::Float | Kind::Double | Kind::BFloat16) {
                        Kind::Double
                    } else {
                        Kind::Int64
                    };
                let mut expected = values(0, kind).to_kind(wide);
                for rank in 1..3 {
                    let next = values(rank, kind).to_kind(wide);
                    expected = match op {
                        ReduceOp::Sum => expected + next,
                        ReduceOp::Max => expected.maximum(&next),
                        ReduceOp::Min => expected.minimum(&next),
                    };
                }
                let expected = bits(&expected.to_kind(kind));
                let reduce = |group: &FileGroup| {
                    let sent = vec![values(group.rank(), kind)];
                    bits(&all_reduce(group, sent, op, &NoHooks).unwrap()[0])
                };
                for reduced in on_ranks(3, reduce) {
                    assert_eq!(reduced, expected, "{op:?} of {kind:?}");
                }
            }
        }
    }

    #[test]
    fn types_that_only_one_side_has_are_named() {
        let complex = Tensor::zeros([1], (Kind::ComplexFloat, Device::Cpu));
        let error = complex.array_layout().unwrap_err().to_string();
        assert_eq!(error, "internal error: tensors of ComplexFloat are never sent");
        let unsigned = ArrayLayout::new(Dtype::U32, &[1]);
        let error = Tensor::from_elements(&unsigned, |_| Ok(())).unwrap_err().to_string();
        assert_eq!(error, "internal error: tensors of uint32 do not exist");
    }
}
