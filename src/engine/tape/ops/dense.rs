//! Dense products of matrices in the type they are held in, and sums over their rows.

use half::bf16;
use tch::{Kind, Tensor};

use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks, with_real};
use crate::kernels::{
    Matrix, matmul, matmul_bf16, matmul_bf16_in_place, matmul_in_place, matmul_over_rows,
    matmul_over_rows_bf16,
};
use crate::words::error::Result;

/// Whether a matrix has elements of bfloat16.
pub(in crate::engine::tape) fn is_narrow(x: &Tensor) -> bool {
    x.kind() == Kind::BFloat16
}

/// `y = x weight + bias`, or `y += x weight + bias`. Only products of bfloat16 may be written to a bfloat16 matrix.
pub(in crate::engine::tape) fn dense_product(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    y: &mut Tensor,
    add: bool,
) -> Result<()> {
    let weight = weight.f_contiguous()?;
    let [rows, columns] = [0, 1].map(|side| weight.size()[side] as usize);
    if is_narrow(x) {
        let weight = tensor::slice::<f32>(&weight);
        let weight = Matrix::new(&weight, rows, columns);
        let (x, bias) = (tensor::slice::<bf16>(x), bias.map(tensor::slice::<f32>));
        let bias = bias.as_deref();
        if is_narrow(y) {
            matmul_bf16(&x, weight, bias, &mut tensor::slice_mut::<bf16>(y), add);
        } else {
            matmul_bf16(&x, weight, bias, &mut tensor::slice_mut::<f32>(y), add);
        }
        return Ok(());
    }
    with_real!(x.kind(), T => {
        let weight = tensor::slice::<T>(&weight);
        let weight = Matrix::new(&weight, rows, columns);
        let bias = bias.map(tensor::slice::<T>);
        let bias = bias.as_deref();
        matmul(&tensor::slice::<T>(x), weight, bias, &mut tensor::slice_mut::<T>(y), add);
        Ok(())
    })
}

/// `x = x weight`, in place; `weight` is square.
pub(in crate::engine::tape) fn square_product(x: &mut Tensor, weight: &Tensor) -> Result<()> {
    let weight = weight.f_contiguous()?;
    let side = weight.size()[0] as usize;
    if is_narrow(x) {
        let weight = tensor::slice::<f32>(&weight);
        let weight = Matrix::new(&weight, side, side);
        matmul_bf16_in_place(&mut tensor::slice_mut::<bf16>(x), weight);
        return Ok(());
    }
    with_real!(x.kind(), T => {
        let weight = tensor::slice::<T>(&weight);
        let weight = Matrix::new(&weight, side, side);
        matmul_in_place(&mut tensor::slice_mut::<T>(x), weight);
        Ok(())
    })
}

/// aᵀ b, in a type wider than bfloat16.
pub(in crate::engine::tape) fn product_over_rows(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (m, n) = (a.size()[1], b.size()[1]);
    let (columns, shape) = ((m as usize, n as usize), [m, n]);
    if is_narrow(a) && is_narrow(b) {
        let (a, b) = (&tensor::slice::<bf16>(a), &tensor::slice::<bf16>(b));
        let product = matmul_over_rows_bf16(a, b, columns.0, columns.1);
        return Ok(Tensor::f_from_slice(&product)?.f_view(shape)?);
    }
    let [a, b] = [a, b].map(|x| Shared(x).wide_rows(0, x.size()[0]));
    let (a, b) = (a?, b?);
    with_real!(a.kind(), T => {
        let (a, b) = (&tensor::slice::<T>(&a), &tensor::slice::<T>(&b));
        let product = matmul_over_rows(a, b, columns.0, columns.1);
        Ok(Tensor::f_from_slice(&product)?.f_view(shape)?)
    })
}

/// The gradient of a bias: the sum over rows, in a type wider than bfloat16.
pub(in crate::engine::tape) fn column_sums(gy: &Tensor) -> Result<Tensor> {
    let [rows, columns] = [gy.size()[0], gy.size()[1]];
    let kind = if is_narrow(gy) { Kind::Float } else { gy.kind() };
    let gy = Shared(gy);
    let parts = map_row_blocks(rows, |start, len| {
        Ok(gy.wide_rows(start, len)?.f_sum_dim_intlist([0_i64].as_slice(), false, None)?)
    });
    total(parts?, &[columns], kind)
}

/// The sum of the blocks' parts, in their order.
pub(in crate::engine::tape) fn total(
    parts: Vec<Tensor>,
    shape: &[i64],
    kind: Kind,
) -> Result<Tensor> {
    let mut total = tensor::zeros(shape, kind)?;
    for part in parts {
        total = total.f_add_(&part)?;
    }
    Ok(total)
}
