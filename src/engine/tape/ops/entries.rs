//! Products with a matrix that is held as its entries.

use tch::{Kind, Tensor};

use super::aggregate::{Factors, spmm};
use crate::engine::tensor;
use crate::graph::SortedEdges;
use crate::words::error::Result;

/// `x weight + bias`, added to `onto` if it is given. A row of the result depends on no other row of `x`. Products with a
/// `bfloat16` weight are summed in single precision.
pub(super) fn entries_product(
    x: &SortedEdges,
    weight: &Tensor,
    bias: Option<&Tensor>,
    onto: Option<Tensor>,
) -> Result<Tensor> {
    let weight = weight.f_contiguous()?;
    let size = [x.ends.num_rows() as i64, weight.size()[1]];
    let kind = if weight.kind() == Kind::BFloat16 { Kind::Float } else { weight.kind() };
    let mut y = onto.map_or_else(|| tensor::zeros(&size, kind), Ok)?;
    if let Some(bias) = bias {
        y = y.f_add_(bias)?;
    }
    spmm(&x.ends, &Factors::of_edges(x, true)?, &weight, &mut y)?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;
    use crate::graph::ShardBuilder;

    #[test]
    fn products_with_entries_are_those_with_the_matrix() {
        let dense = Tensor::from_slice(&[0_f32, 2., 0., 0., 0., 0., -1., 0., 0.5, 0., 0., 3.]);
        let dense = dense.view([4, 3]);
        let mut entries = ShardBuilder::default();
        entries.push_matrix(0, 3, &tensor::slice::<f32>(&dense));
        let (entries, _) = entries.build(4, 3, true).unwrap();
        let options = (Kind::Float, Device::Cpu);
        let (weight, bias) = (Tensor::arange(6, options).view([3, 2]), Tensor::ones([2], options));
        let onto = Tensor::arange(8, options).view([4, 2]);
        let wanted = dense.matmul(&weight) + &bias + &onto;
        let y = entries_product(&entries.by_dst, &weight, Some(&bias), Some(onto)).unwrap();
        assert_eq!(y, wanted);
        let gradient = entries_product(&entries.by_src, &wanted, None, None).unwrap();
        assert_eq!(gradient, dense.tr().matmul(&wanted));
        let narrow = wanted.to_kind(Kind::BFloat16);
        assert_eq!(entries_product(&entries.by_src, &narrow, None, None).unwrap(), gradient);
        // A matrix of zeros has no weights.
        let (none, _) = ShardBuilder::default().build(4, 3, true).unwrap();
        let y = entries_product(&none.by_dst, &weight, None, None).unwrap();
        assert_eq!(y, Tensor::zeros([4, 2], options));
    }
}
