//! Output of a layer or a model on a small graph.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::graph::TestGraph;
use super::ranks::{RankContext, on_ranks};
use crate::engine::tape::{Graph, ParameterBuilder, ParameterSet, Tape, Var};
use crate::nn::{Conv, ConvInput, Model};
use crate::words::error::{Error, Result};

/// Values of parameters, by name; all other parameters are 0.
pub(super) type ParameterValues<'v> = [(&'v str, &'v [f64])];

/// The rows that a layer computes for the nodes of a graph, one after the other, in double precision. `features` has a row per
/// node. Each partition of the graph is a rank of its own.
///
/// # Errors
/// If a parameter does not exist or has another number of values, or the layer fails.
pub fn layer_output<L: Conv>(
    graph: &TestGraph,
    features: &[&[f64]],
    values: &ParameterValues<'_>,
    make: impl Fn(&mut ParameterBuilder) -> L + Sync,
) -> Result<Vec<f64>> {
    rows_output(graph, features, values, make, |layer, tape, full, x| {
        let input = ConvInput { initial: Some(x.clone()), ..ConvInput::new(full, x.clone(), x) };
        layer.forward(tape, input)
    })
}

/// As [`layer_output`], for a model that takes `num_graphs` graphs.
///
/// # Errors
/// As [`layer_output`].
pub fn model_output<M: Model>(
    graph: &TestGraph,
    num_graphs: usize,
    features: &[&[f64]],
    values: &ParameterValues<'_>,
    make: impl Fn(&mut ParameterBuilder) -> Result<M> + Sync,
) -> Result<Vec<f64>> {
    on_each_rank(graph, features, values, make, |model, tape, full, x| {
        let x = model.precompute(tape, full, x, None)?;
        model.forward(tape, &vec![full; num_graphs], x)
    })
}

/// As [`layer_output`], for anything with parameters: `forward` computes rows with it.
///
/// # Errors
/// As [`layer_output`].
pub fn rows_output<T>(
    graph: &TestGraph,
    features: &[&[f64]],
    values: &ParameterValues<'_>,
    make: impl Fn(&mut ParameterBuilder) -> T + Sync,
    forward: impl for<'a> Fn(&T, &mut Tape<'a>, &'a dyn Graph, Var) -> Result<Var> + Sync,
) -> Result<Vec<f64>> {
    on_each_rank(graph, features, values, |parameters| Ok(make(parameters)), forward)
}

/// Panics if two lists differ by more than 1e-5 anywhere.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn assert_near(found: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
    let same = found.len() == expected.len() && found.iter().zip(expected).all(near);
    assert!(same, "{found:?}, not {expected:?}");
}

fn on_each_rank<T>(
    graph: &TestGraph,
    features: &[&[f64]],
    values: &ParameterValues<'_>,
    make: impl Fn(&mut ParameterBuilder) -> Result<T> + Sync,
    forward: impl for<'a> Fn(&T, &mut Tape<'a>, &'a dyn Graph, Var) -> Result<Var> + Sync,
) -> Result<Vec<f64>> {
    let work = |context: RankContext| {
        let full = graph.on(&context)?;
        let (made, parameters) = filled(&context, values, &make)?;
        let x = context.manager.track("features", rows(graph, context.rank, features)?);
        let mut tape = Tape::evaluation(&context.manager, &parameters);
        let x = tape.input(&x);
        let y = forward(&made, &mut tape, &full, x)?;
        Ok(Vec::try_from(y.pin()?.f_flatten(0, -1)?)?)
    };
    let ranks: Vec<Vec<f64>> = on_ranks(graph.boundaries.len() - 1, 1, work)?;
    Ok(ranks.concat())
}

/// The result of `make`, and its parameters set to these values.
pub(super) fn filled<T>(
    context: &RankContext,
    values: &ParameterValues<'_>,
    make: &impl Fn(&mut ParameterBuilder) -> Result<T>,
) -> Result<(T, Rc<ParameterSet>)> {
    let mut builder = ParameterBuilder::new(0);
    let made = make(&mut builder)?;
    let parameters = Rc::new(builder.finish(&context.manager, Kind::Double)?);
    let flat = parameters.flat().pin()?.f_zeros_like()?;
    for entry in parameters.state().filter(|entry| entry.name.ends_with("running_var")) {
        let _ones = parameters.part(&flat, entry)?.f_fill_(1.0)?;
    }
    for (name, values) in values {
        let entry = parameters.state().find(|entry| entry.name == *name);
        let unknown = || Error::config("values", format!("there is no parameter {name}"));
        let part = parameters.part(&flat, entry.ok_or_else(unknown)?)?;
        let size = part.size();
        part.f_view_(&size)?.f_copy_(&Tensor::f_from_slice(values)?.f_view(&*size)?)?;
    }
    parameters.set_flat(flat)?;
    Ok((made, parameters))
}

fn rows(graph: &TestGraph, rank: usize, features: &[&[f64]]) -> Result<Tensor> {
    let nodes = graph.nodes(rank);
    let width = features.first().map_or(0, |row| row.len()) as i64;
    let own = features
        .get(nodes.start as usize..nodes.end as usize)
        .ok_or_else(|| Error::config("features", format!("there are {} rows", features.len())))?;
    Ok(Tensor::f_from_slice(&own.concat())?.f_view([own.len() as i64, width])?)
}
