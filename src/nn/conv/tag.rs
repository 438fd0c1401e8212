//! Topology-adaptive graph convolution: Du et al., "Topology adaptive graph convolutional networks", 2017.

use std::rc::Rc;

use super::hops::Hops;
use super::layer::{Conv, ConvInput, aggregates_first};
use super::symmetric_norm::SymmetricNorm;
use crate::engine::tape::{
    DerivedWeight, Graph, Init, Parameter, ParameterBuilder, Tape, Var, Weight,
};
use crate::nn::describe::{Describe, Facts, Graphs, Place, StackLayer};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec};
use crate::words::error::{Error, Result};

/// Configuration of a [`TagConv`].
#[derive(Debug, Clone, Copy)]
pub struct TagConvConfig {
    /// Width of the input.
    pub in_feats: i64,
    /// Width of the output.
    pub out_feats: i64,
    /// Number of steps of propagation, k.
    pub hops: usize,
    /// Whether messages are multiplied by normalised edge weights.
    pub edge_weights: bool,
}

/// `dgl.nn.TAGConv`: `y = W [x, Âx, ..., Â^k x] + b`, the k + 1 matrices side by side. Â is D^-1/2 A D^-1/2, D being
/// the in-degrees, at least 1; with edge weights, the entries of Â are the normalised weights. State-dict keys:
/// `lin.weight` `[out, (k + 1) * in]`, `lin.bias` `[out]`.
///
/// Each step takes its own graph; on the full graph, one graph serves all steps.
///
/// ```
/// use sar::nn::{TagConv, TagConvConfig};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let config = TagConvConfig { in_feats: 1, out_feats: 1, hops: 2, edge_weights: false };
/// let values: [(&str, &[f64]); 1] = [("lin.weight", &[1.0, 10.0, 100.0])];
/// let rows = layer_output(&graph, &features, &values, |p| TagConv::new(p, config))?;
/// assert_near(&rows, &[1.0, 12.0, 94.923882, 175.213203]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct TagConv {
    config: TagConvConfig,
    /// Parts of the weight, one per power of Â.
    weights: Vec<Weight>,
    bias: Parameter,
    norm: SymmetricNorm,
}

impl TagConv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    pub fn new(parameters: &mut ParameterBuilder, config: TagConvConfig) -> Self {
        let TagConvConfig { in_feats, out_feats, hops, edge_weights } = config;
        let columns = (hops as i64 + 1) * in_feats;
        let normal =
            parameters.either(Init::XavierNormal { gain: 2f64.sqrt() }, Init::linear(in_feats));
        let weight = parameters.add("lin.weight", &[out_feats, columns], normal);
        // DGL leaves biases as nn.Linear initialises them.
        let bias = parameters.either(Init::linear(columns), Init::Zeros);
        let bias = parameters.add("lin.bias", &[out_feats], bias);
        let part = |hop: i64| {
            Weight::Derived(Rc::new(DerivedWeight::new(vec![weight], move |w| {
                Ok(w[0].f_narrow(1, hop * in_feats, in_feats)?.f_tr()?.f_contiguous()?)
            })))
        };
        let weights = (0..=hops as i64).map(part).collect();
        let norm = SymmetricNorm { edge_weights, factor: 1.0, out_degrees: false };
        TagConv { config, weights, bias, norm }
    }

    /// Computes the powers of Â first, then their products with the parts of the weight.
    fn powers<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], src: Var) -> Result<Var> {
        let mut powers = vec![src.clone()];
        let mut last = src;
        for graph in graphs {
            last = self.norm.propagate(tape, *graph, last, None)?;
            for power in &mut powers {
                *power = tape.destinations(*graph, power)?;
            }
            powers.push(last.clone());
        }
        let mut sum = tape.linear(&last, &self.weights[powers.len() - 1], Some(self.bias), None)?;
        powers.pop();
        drop(last);
        for (power, weight) in powers.into_iter().zip(&self.weights) {
            sum = tape.linear(&power, weight, None, Some(sum))?;
        }
        Ok(sum)
    }

    /// Computes the products first, by Horner's scheme: x W_0 + Â (x W_1 + Â (x W_2 + ...)).
    fn products<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], src: Var) -> Result<Var> {
        let mut x = src;
        let mut weights = self.weights.iter().rev();
        let mut sum = None;
        for (graph, weight) in graphs.iter().zip(&mut weights) {
            let inner = tape.linear(&x, weight, None, sum)?;
            x = tape.destinations(*graph, &x)?;
            sum = Some(self.norm.propagate(tape, *graph, inner, None)?);
        }
        let bias = Some(self.bias);
        match weights.next() {
            Some(weight) => tape.linear(&x, weight, bias, sum),
            None => Err(Error::internal("a layer without weights")),
        }
    }
}

impl Conv for TagConv {
    /// Takes the destinations' own features from the sources' rows.
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let TagConvConfig { in_feats, out_feats, hops, .. } = self.config;
        let ConvInput { graph, further, src, dst, .. } = input;
        drop(dst);
        let graphs = match further.len() {
            0 => vec![graph; hops],
            _ => std::iter::once(graph).chain(further).collect(),
        };
        if graphs.len() != hops {
            let problem = format!("{} graphs for {hops} steps", graphs.len());
            return Err(Error::internal(problem));
        }
        if aggregates_first(graph, &src, in_feats, out_feats) {
            self.powers(tape, &graphs, src)
        } else {
            self.products(tape, &graphs, src)
        }
    }
}

/// Options of a stack of [`TagConv`]s.
pub type TagOptions = Hops<2>;

impl Describe for TagConv {
    type Options = TagOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[ModelOption::HOPS],
        edge_weights: EdgeWeights::Normalised,
        output_key: "convs.{last}.lin.weight",
        relations: false,
        ..ModelSpec::stack("tag", "Topology-adaptive graph convolution (TAGConv)")
    };

    fn facts(options: &TagOptions) -> Facts {
        Facts {
            edge_weights: options.edge_weights,
            in_degrees: true,
            sums: true,
            graphs: Graphs::PerLayer(options.hops),
            ..Facts::default()
        }
    }
}

impl StackLayer for TagConv {
    fn make(options: &TagOptions, parameters: &mut ParameterBuilder, place: Place) -> Result<Self> {
        let TagOptions { hops, edge_weights } = *options;
        let Place { in_feats, out_feats, .. } = place;
        Ok(TagConv::new(parameters, TagConvConfig { in_feats, out_feats, hops, edge_weights }))
    }
}
