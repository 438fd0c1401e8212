//! Scores of pairs of nodes.

use tch::Tensor;

use crate::engine::tape::{Init, Parameter, ParameterBuilder, ParameterSet, Tape, Var, Weight};
use crate::words::error::Result;

/// How the rows of two nodes become a score; a larger score makes an edge more likely. Each score is an inner product
/// `<T(h_u), h_v>` with a linear function T of the source's row.
pub enum LinkScore {
    /// Inner product, `<h_u, h_v>`.
    Dot,
    /// Bilinear product with a learned matrix, `<h_u W, h_v>`.
    Bilinear(Parameter),
    /// `sum(h_u * w_r * h_v)` with a vector w for each edge type r (Yang et al. 2015; R-GCN's).
    DistMult(EtypeVectors),
    /// The real part of `sum(h_u * w_r * conj(h_v))`, with a vector for each edge type (Trouillon et al. 2016). The first half of a
    /// row holds real parts, the second half imaginary ones.
    ComplEx(EtypeVectors),
}

/// A learned vector for each edge type.
#[derive(Debug, Clone, Copy)]
pub struct EtypeVectors {
    parameter: Parameter,
    count: i64,
}

impl LinkScore {
    /// The bilinear score of rows of width `dim`. State-dict key: `weight` `[dim, dim]`.
    pub fn bilinear(parameters: &mut ParameterBuilder, dim: i64) -> Self {
        let init = Init::XavierUniform { gain: 1.0 };
        LinkScore::Bilinear(parameters.add("weight", &[dim, dim], init))
    }

    /// `DistMult` for `etypes` edge types. State-dict key: `weight` `[etypes, dim]`.
    pub fn dist_mult(parameters: &mut ParameterBuilder, etypes: i64, dim: i64) -> Self {
        LinkScore::DistMult(EtypeVectors::new(parameters, etypes, dim))
    }

    /// `ComplEx` for `etypes` edge types and an even width. State-dict key: `weight` `[etypes, dim]`.
    pub fn compl_ex(parameters: &mut ParameterBuilder, etypes: i64, dim: i64) -> Self {
        LinkScore::ComplEx(EtypeVectors::new(parameters, etypes, dim))
    }

    /// Whether scores of pairs of different edge types differ.
    pub fn tells_etypes_apart(&self) -> bool {
        match self {
            LinkScore::DistMult(vectors) | LinkScore::ComplEx(vectors) => vectors.count > 1,
            _ => false,
        }
    }

    /// Scores of pairs, `[pairs, 1]`, from the rows of `h` (`[nodes, dim]`) that `sources` and `destinations` (`int64 [pairs]`)
    /// name. `etypes` (`int64 [pairs, 1]`) has the edge type of each pair, where [they matter](Self::tells_etypes_apart).
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn forward(
        &self,
        tape: &mut Tape<'_>,
        h: &Var,
        [sources, destinations]: [&Tensor; 2],
        etypes: Option<&Var>,
    ) -> Result<Var> {
        let source = tape.pick_rows(h, sources)?;
        let destination = tape.pick_rows(h, destinations)?;
        let turned = match self {
            LinkScore::Dot => source,
            LinkScore::Bilinear(weight) => {
                tape.linear(&source, &Weight::InOut(*weight), None, None)?
            }
            LinkScore::DistMult(vectors) => {
                vectors.relate(tape, &source, etypes, |h, w| Ok(h.f_mul(w)?))?
            }
            LinkScore::ComplEx(vectors) => {
                vectors.relate(tape, &source, etypes, complex_product)?
            }
        };
        tape.segment("score", &[&turned, &destination], &[], |h, _| {
            let product = h[0].f_mul(&h[1])?;
            Ok(product.f_sum_dim_intlist([1_i64].as_slice(), true, h[0].kind())?)
        })
    }

    /// Rows whose inner products with rows of destinations are the scores of these `sources` (`[pairs, dim]`); with `etypes` as in
    /// [`forward`](Self::forward).
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a parameter cannot be read back (`Io`, `Corrupt`).
    pub fn queries(
        &self,
        parameters: &ParameterSet,
        sources: &Tensor,
        etypes: Option<&Tensor>,
    ) -> Result<Tensor> {
        match self {
            LinkScore::Dot => Ok(sources.shallow_clone()),
            LinkScore::Bilinear(weight) => Ok(sources.f_matmul(&parameters.value(*weight)?)?),
            LinkScore::DistMult(vectors) => {
                Ok(sources.f_mul(&of_pairs(&parameters.value(vectors.parameter)?, etypes)?)?)
            }
            LinkScore::ComplEx(vectors) => {
                complex_product(sources, &of_pairs(&parameters.value(vectors.parameter)?, etypes)?)
            }
        }
    }

    /// Rows whose inner products with rows of sources are the scores of these `destinations`, as [`queries`](Self::queries).
    ///
    /// # Errors
    /// As for [`queries`](Self::queries).
    pub fn queries_of_destinations(
        &self,
        parameters: &ParameterSet,
        destinations: &Tensor,
        etypes: Option<&Tensor>,
    ) -> Result<Tensor> {
        match self {
            LinkScore::Dot | LinkScore::DistMult(_) => {
                self.queries(parameters, destinations, etypes)
            }
            LinkScore::Bilinear(weight) => {
                Ok(destinations.f_matmul(&parameters.value(*weight)?.f_tr()?)?)
            }
            LinkScore::ComplEx(vectors) => {
                let vectors = of_pairs(&parameters.value(vectors.parameter)?, etypes)?;
                let [real, imaginary] = halves(&vectors)?;
                let conjugates = Tensor::f_cat(&[real, imaginary.f_neg()?], 1)?;
                complex_product(destinations, &conjugates)
            }
        }
    }
}

impl EtypeVectors {
    /// Vectors with DGL's initial distribution.
    fn new(parameters: &mut ParameterBuilder, count: i64, dim: i64) -> Self {
        let init = Init::XavierUniform { gain: 2f64.sqrt() };
        EtypeVectors { parameter: parameters.add("weight", &[count, dim], init), count }
    }

    /// Each source's row, combined with its edge type's vector.
    fn relate(
        self,
        tape: &mut Tape<'_>,
        source: &Var,
        etypes: Option<&Var>,
        combined: fn(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Var> {
        let inputs: Vec<&Var> = [source].into_iter().chain(etypes).collect();
        tape.segment("relation", &inputs, &[self.parameter], move |h, vectors| {
            combined(&h[0], &of_pairs(&vectors[0], h.get(1))?)
        })
    }
}

/// The vector of each pair, by its edge type, or the only one.
fn of_pairs(vectors: &Tensor, etypes: Option<&Tensor>) -> Result<Tensor> {
    Ok(match etypes {
        Some(etypes) => vectors.f_index_select(0, &etypes.f_flatten(0, -1)?)?,
        None => vectors.shallow_clone(),
    })
}

/// The real and the imaginary parts of rows.
fn halves(rows: &Tensor) -> Result<[Tensor; 2]> {
    let half = rows.size()[1] / 2;
    Ok([rows.f_narrow(1, 0, half)?, rows.f_narrow(1, half, half)?])
}

/// Products of complex numbers.
fn complex_product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let [a, b] = [halves(a)?, halves(b)?];
    let real = a[0].f_mul(&b[0])?.f_sub(&a[1].f_mul(&b[1])?)?;
    let imaginary = a[0].f_mul(&b[1])?.f_add(&a[1].f_mul(&b[0])?)?;
    Ok(Tensor::f_cat(&[real, imaginary], 1)?)
}
