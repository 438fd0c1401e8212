//! Message passing with user-defined messages: compared with the built-in operations, and as a layer.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

use std::rc::Rc;

use sar::Result;
use sar::engine::tape::{
    Aggregation, EdgeBatch, Graph, Init, Parameter, ParameterBuilder, Propagation, Reduce, Tape,
    Var, Weight,
};
use sar::nn::{
    AttentionConfig, Conv, ConvInput, GatConv, GinConv, GinConvConfig, HeadMerge, Mlp, RgcnConv,
};
use sar::nn::{Regularizer, RgcnConvConfig};
use sar::testing::{TestGraph, check_layer, on_ranks};
use tch::{Kind, Tensor};

/// Messages from all inputs: `tanh(src W) * weight + dst[..out] * (type + 1)`.
struct Everything {
    weight: Parameter,
    out_feats: i64,
    reduce: Reduce,
}

impl Conv for Everything {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let (parameters, width) = ([self.weight], self.out_feats);
        let inputs = Propagation { src, dst, edge: None, parameters: &parameters };
        tape.propagate(graph, inputs, self.reduce, move |edges: &EdgeBatch<'_>| {
            let left = edges.src.f_mm(&edges.parameters[0])?.f_tanh()?.f_mul(edges.weight)?;
            let factor = edges.etype.f_add_scalar(1)?.f_to_kind(left.kind())?.f_unsqueeze(1)?;
            Ok(left.f_add(&edges.dst.f_narrow(1, 0, width)?.f_mul(&factor)?)?)
        })
    }
}

#[test]
fn any_message_and_reduction_makes_a_layer() {
    for reduce in [Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min] {
        check_layer(|parameters, in_feats, out_feats| {
            let init = Init::XavierUniform { gain: 1.0 };
            let weight = parameters.add("weight", &[in_feats, out_feats], init);
            Ok(Everything { weight, out_feats, reduce })
        })
        .unwrap();
    }
}

#[test]
fn the_layers_of_this_library_pass_the_check() {
    for reduce in [Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min] {
        check_layer(|parameters, in_feats, out_feats| {
            let mlp = |p: &mut ParameterBuilder| Mlp::new(p, &[in_feats, 6, out_feats]);
            let config = GinConvConfig { reduce, learn_eps: true, edge_weights: false };
            Ok(GinConv::new(parameters, mlp, config))
        })
        .unwrap();
    }
    check_layer(|parameters, in_feats, out_feats| {
        let config = AttentionConfig {
            in_feats,
            out_feats: out_feats / 2,
            heads: 2,
            feat_drop: 0.2,
            attn_drop: 0.3,
            negative_slope: 0.2,
            residual: true,
            merge: HeadMerge::Concat,
        };
        Ok(GatConv::new(parameters, config))
    })
    .unwrap();
    check_layer(|parameters, in_feats, out_feats| {
        let regularizer = Regularizer::Basis(2);
        let config = RgcnConvConfig { in_feats, out_feats, num_rels: 3, regularizer };
        RgcnConv::new(parameters, config)
    })
    .unwrap();
}

/// A layer whose output depends on how the graph is cut.
struct CountsOwnNodes;

impl Conv for CountsOwnNodes {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let ConvInput { graph, src, .. } = input;
        let factor = graph.num_sources() as f64;
        tape.segment("wrong", &[&src], &[], move |x, _| {
            Ok(x[0].f_narrow(1, 0, 4)?.f_mul_scalar(factor)?)
        })
    }
}

/// A layer whose gradient is not its derivative.
struct LosesGradient;

impl Conv for LosesGradient {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let src = input.src;
        tape.segment("wrong", &[&src], &[], |x, _| {
            let x = x[0].f_narrow(1, 0, 4)?;
            Ok(x.f_add(&x.f_detach()?)?)
        })
    }
}

#[test]
fn a_layer_that_is_wrong_does_not_pass() {
    let error = check_layer(|_, _, _| Ok(CountsOwnNodes)).unwrap_err().to_string();
    assert!(error.contains("in partitions that begin at"), "{error}");
    let error = check_layer(|_, _, _| Ok(LosesGradient)).unwrap_err().to_string();
    assert!(error.contains("finite differences"), "{error}");
}

/// DGL's `u_mul_e` with messages `[edges, heads, width]`: each head's rows times the edge's weight for that head.
#[test]
fn messages_of_more_dimensions_are_rows_taken_apart() {
    const HEADS: i64 = 3;
    const WIDTH: i64 = 2;
    let edges: Vec<_> = (0..400_u32).map(|i| (i * 7 % 20, i * i % 17, 1.0)).collect();
    let graph = TestGraph { edges: edges.clone(), types: vec![], boundaries: vec![0, 9, 20] };
    let factor = |edge: usize, head: i64| ((edge as i64 * 5 + head * 3) % 7) as f64;
    let row = |node: u32| (0..HEADS * WIDTH).map(move |i| f64::from(node) * 0.5 + i as f64);
    let sums = on_ranks(2, 1, |context| {
        let full = graph.on(&context)?;
        let parameters = Rc::new(ParameterBuilder::new(0).finish(&context.manager, Kind::Double)?);
        let values: Vec<f64> = graph.nodes(context.rank).flat_map(row).collect();
        let x = Tensor::from_slice(&values).view([-1, HEADS * WIDTH]);
        let of_edges: Vec<f64> = full
            .edge_ids()?
            .iter()
            .flat_map(|edge| (0..HEADS).map(move |head| factor(*edge as usize, head)))
            .collect();
        let of_edges = Tensor::from_slice(&of_edges).view([-1, HEADS]);
        let mut tape = Tape::evaluation(&context.manager, &parameters);
        let x = tape.input(&context.manager.track("x", x));
        let edge = tape.input(&context.manager.track("edge", of_edges));
        let inputs = Propagation { src: x.clone(), dst: x, edge: Some(edge), parameters: &[] };
        let messages = |e: &EdgeBatch<'_>| {
            let rows = e.src.f_view([-1, HEADS, WIDTH])?;
            Ok(rows.f_mul(&e.edge.f_unsqueeze(-1)?)?.f_flatten(1, 2)?)
        };
        let sums = tape.propagate(&full, inputs, Reduce::Sum, messages)?;
        Ok(Vec::<f64>::try_from(sums.pin()?.f_flatten(0, 1)?)?)
    });
    let mut expected = vec![0.0; 20 * (HEADS * WIDTH) as usize];
    for (edge, (source, destination, _)) in edges.into_iter().enumerate() {
        for (i, value) in row(source).enumerate() {
            let place = destination as usize * (HEADS * WIDTH) as usize + i;
            expected[place] += value * factor(edge, i as i64 / WIDTH);
        }
    }
    for (ours, expected) in sums.unwrap().concat().into_iter().zip(expected) {
        assert!((ours - expected).abs() < 1e-9, "{ours} {expected}");
    }
}

#[test]
fn copied_rows_are_the_built_in_aggregation() {
    let edges: Vec<_> = (0..20_000_u32).map(|i| (i * 7 % 50, i * i % 30, 1.0)).collect();
    let graph = TestGraph { edges, types: vec![], boundaries: vec![0, 20, 50] };
    let differences = on_ranks(2, 1, |context| {
        let full = graph.on(&context)?;
        let parameters = Rc::new(ParameterBuilder::new(0).finish(&context.manager, Kind::Double)?);
        let nodes = graph.nodes(context.rank);
        let values: Vec<f64> = nodes.flat_map(|v| [f64::from(v), f64::from(v * v % 13)]).collect();
        let x = context.manager.track("x", Tensor::from_slice(&values).view([-1, 2]));
        let mut tape = Tape::evaluation(&context.manager, &parameters);
        let x = tape.input(&x);
        let mut worst: f64 = 0.0;
        for reduce in [Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min] {
            let (src, dst) = (x.clone(), x.clone());
            let inputs = Propagation { src, dst, edge: None, parameters: &[] };
            let copied = |edges: &EdgeBatch<'_>| Ok(edges.src.shallow_clone());
            let ours = tape.propagate(&full, inputs, reduce, copied)?;
            let theirs = tape.aggregate(&full, x.clone(), Aggregation::new(reduce))?;
            let difference = ours.pin()?.f_sub(&*theirs.pin()?)?.f_abs()?.f_max()?;
            worst = worst.max(difference.f_double_value(&[])?);
        }
        Ok(worst)
    });
    assert!(differences.unwrap().into_iter().all(|d| d < 1e-9));
}

#[test]
fn shapes_and_types_that_do_not_fit_are_named() {
    let graph = TestGraph { edges: vec![(0, 1, 1.0)], types: vec![], boundaries: vec![0, 2] };
    let found = on_ranks(1, 1, |context| {
        let (full, manager) = (graph.on(&context)?, &context.manager);
        let mut builder = ParameterBuilder::new(0);
        let weight = Weight::InOut(builder.add("weight", &[4, 2], Init::Zeros));
        let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
        let table = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]).view([2, 2]);
        // A view is copied, because files hold contiguous tensors.
        let column = manager.track("degrees", table.select(1, 1));
        manager.precall_func()?;
        manager.callback_func()?;
        assert_eq!(Vec::<f32>::try_from(&*column.pin()?)?, [2.0, 4.0]);

        let mut tape = Tape::evaluation(manager, &parameters);
        let column = tape.input(&column);
        let double = tape.input(&manager.track("x", table.to_kind(Kind::Double).repeat([1, 2])));
        let narrow = tape.input(&manager.track("x", table));
        let inputs =
            Propagation { src: narrow.clone(), dst: narrow.clone(), edge: None, parameters: &[] };
        let message = |e: &EdgeBatch<'_>| Ok(e.src.f_to_kind(Kind::Double)?);
        let errors = [
            tape.linear(&column, &weight, None, None).err(),
            tape.aggregate(&full, column, Aggregation::new(Reduce::Sum)).err(),
            tape.linear(&double, &weight, None, None).err(),
            tape.linear(&narrow, &weight, None, None).err(),
            tape.propagate(&full, inputs, Reduce::Sum, message).err(),
        ];
        Ok(errors.map(|error| error.unwrap().to_string()))
    });
    let found = found.unwrap().remove(0);
    let expected = [
        "degrees: has shape [2], but this operation takes a row per node",
        "degrees: has shape [2], but this operation takes a row per node",
        "linear: x is Double [2, 4], which does not fit the weight, Float [4, 2]",
        "linear: x is Float [2, 2], which does not fit the weight, Float [4, 2]",
        "message function: returned Double, but rows of sources are Float",
    ];
    assert_eq!(found, expected);
}
