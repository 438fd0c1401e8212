//! Scalable inception graph networks: Frasca et al., "SIGN: Scalable inception graph neural networks", 2020.

use tch::Tensor;

use crate::engine::spill::Pointer;
use crate::engine::tape::{Graph, Init, Parameter, ParameterBuilder, Tape, Var};
use crate::nn::conv::hops::Hops;
use crate::nn::conv::layer::{Model, kept_rows};
use crate::nn::describe::{Describe, Facts, Graphs, HiddenLayers, Sizes};
use crate::nn::linear::{Linear, Network};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec};
use crate::words::error::{Error, Result};

/// The model of DGL's example `sign.py`: a perceptron, `hidden` wide, for each of X, ÂX, ..., Â^K X; their outputs side
/// by side; PReLU and dropout; a perceptron to the outputs. Perceptrons have `layers` linear layers with PReLU and
/// dropout between them. Â is defined as in [`Sgc`](crate::nn::Sgc).
///
/// State-dict keys: `inception_ffs.k.layers.i.weight` `[out, in]` and `.bias`, `project.layers.i.*`, and the slopes `prelu.weight`,
/// `inception_ffs.k.prelu.weight` and `project.prelu.weight` `[1]`, the last two with more than one layer.
///
/// The propagated features are constant: they are computed once, before training. A step needs no rows of other ranks.
///
/// ```
/// use sar::nn::{HiddenLayers, Sign, SignOptions, Sizes};
/// use sar::testing::{TestGraph, assert_near, model_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// // The propagated features are 0, 1, 2.12132 and 2.12132.
/// let layers = HiddenLayers { layers: 1, width: 1, dropout: 0.0 };
/// let sizes = Sizes { in_feats: 1, out_feats: 1, num_rels: 1, edge_feats: 0 };
/// let options = SignOptions { hops: 1, edge_weights: false };
/// let values: [(&str, &[f64]); 3] = [
///     ("inception_ffs.0.layers.0.weight", &[1.0]),
///     ("inception_ffs.1.layers.0.weight", &[1.0]),
///     ("project.layers.0.weight", &[1.0, 10.0]),
/// ];
/// let rows = model_output(&graph, 1, &features, &values, |p| Sign::new(p, layers, sizes, options))?;
/// assert_near(&rows, &[1.0, 12.0, 24.213203, 25.213203]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Sign {
    propagation: SignOptions,
    hops: Vec<Perceptron>,
    slope: Parameter,
    project: Perceptron,
    in_feats: i64,
    dropout: f64,
}

/// Options of a [`Sign`].
pub type SignOptions = Hops<3>;

/// Linear layers with PReLU and dropout between them.
struct Perceptron {
    layers: Vec<Linear>,
    slope: Option<Parameter>,
}

impl Perceptron {
    fn new(parameters: &mut ParameterBuilder, widths: &[i64]) -> Self {
        let layers = widths.windows(2).enumerate().map(|(i, width)| {
            parameters.scope(&format!("layers.{i}"), |p| Linear::xavier(p, width[0], width[1]))
        });
        let layers: Vec<_> = layers.collect();
        let slope = (layers.len() > 1).then(|| slope(parameters));
        Perceptron { layers, slope }
    }

    /// `first` is the index of the perceptron's first layer on the tape. `hidden` is given if the hidden layers count
    /// as the model's: the number of hidden layers before them.
    fn forward(
        &self,
        tape: &mut Tape<'_>,
        graph: &dyn Graph,
        x: Var,
        first: usize,
        dropout: f64,
        hidden: Option<usize>,
    ) -> Result<Var> {
        let mut x = x;
        for (i, layer) in self.layers.iter().enumerate() {
            tape.enter_layer(first + i);
            if let (Some(slope), true) = (self.slope, i > 0) {
                x = prelu(tape, graph, &x, slope, dropout)?;
                if hidden.is_some_and(|hidden| tape.ends_after(hidden + i)) {
                    return Ok(x);
                }
            }
            x = layer.forward(tape, x)?;
        }
        Ok(x)
    }
}

/// `torch.nn.PReLU` with one slope.
fn slope(parameters: &mut ParameterBuilder) -> Parameter {
    parameters.add("prelu.weight", &[1], Init::Constant(0.25))
}

/// PReLU followed by dropout.
fn prelu(
    tape: &mut Tape<'_>,
    graph: &dyn Graph,
    x: &Var,
    slope: Parameter,
    dropout: f64,
) -> Result<Var> {
    let x = tape.segment("prelu", &[x], &[slope], |x, slope| Ok(x[0].f_prelu(&slope[0])?))?;
    tape.dropout(graph.destination_ids(), &x, dropout)
}

impl Sign {
    /// Creates the model with perceptrons of these layers.
    ///
    /// # Errors
    /// If `hops`, the number of layers or the hidden width is 0.
    pub fn new(
        parameters: &mut ParameterBuilder,
        layers: HiddenLayers,
        sizes: Sizes,
        options: SignOptions,
    ) -> Result<Self> {
        layers.check()?;
        let propagation = options.checked()?;
        let (hops, width) = (options.hops, layers.width);
        let perceptrons = (0..=hops).map(|hop| {
            let widths = layers.widths(sizes.in_feats, width);
            let name = format!("inception_ffs.{hop}");
            parameters.scope(&name, |p| Perceptron::new(p, &widths))
        });
        let perceptrons: Vec<_> = perceptrons.collect();
        let widths = layers.widths((hops as i64 + 1) * width, sizes.out_feats);
        Ok(Sign {
            propagation,
            hops: perceptrons,
            slope: slope(parameters),
            project: parameters.scope("project", |p| Perceptron::new(p, &widths)),
            in_feats: sizes.in_feats,
            dropout: layers.dropout,
        })
    }
}

impl Model for Sign {
    /// X, ÂX, ..., Â^K X side by side.
    fn precompute<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        rows: Option<&Pointer<Vec<u32>>>,
    ) -> Result<Var> {
        let mut all = vec![kept_rows(tape, &x, rows)?];
        self.propagation.run(tape, graph, x, |tape, x| {
            all.push(kept_rows(tape, x, rows)?);
            Ok(())
        })?;
        let all: Vec<_> = all.iter().collect();
        let all = tape.segment("propagated", &all, &[], |x, _| Ok(Tensor::f_cat(x, 1)?))?;
        tape.store(&all)
    }

    /// Uses only the destinations of its graph, because `x` is the result of [`precompute`](Model::precompute).
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var> {
        let [graph] = graphs else {
            return Err(Error::config("graphs", format!("{} graphs for SIGN", graphs.len())));
        };
        let x = tape.destinations(*graph, &x)?;
        let (layers, in_feats) = (self.project.layers.len(), self.in_feats);
        let mut outputs = Vec::new();
        for (hop, perceptron) in self.hops.iter().enumerate() {
            let first = hop as i64 * in_feats;
            let own = tape.segment("hop", &[&x], &[], move |x, _| {
                Ok(x[0].f_narrow(1, first, in_feats)?.f_contiguous()?)
            })?;
            outputs.push(perceptron.forward(
                tape,
                *graph,
                own,
                hop * layers,
                self.dropout,
                None,
            )?);
        }
        let outputs: Vec<_> = outputs.iter().collect();
        let all = tape.segment("joined", &outputs, &[], |x, _| Ok(Tensor::f_cat(x, 1)?))?;
        let number = self.hops.len() * layers;
        tape.enter_layer(number);
        let all = prelu(tape, *graph, &all, self.slope, self.dropout)?;
        if tape.ends_after(1) {
            return Ok(all);
        }
        self.project.forward(tape, *graph, all, number + 1, self.dropout, Some(1))
    }
}

impl Describe for Sign {
    type Options = SignOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[ModelOption::HOPS],
        edge_weights: EdgeWeights::Normalised,
        output_key: "project.layers.{last}.weight",
        relations: false,
        ..ModelSpec::stack(
            "sign",
            "Perceptrons on features that are propagated once (DGL's sign.py)",
        )
    };

    fn facts(options: &SignOptions) -> Facts {
        Facts {
            edge_weights: options.edge_weights,
            graphs: Graphs::Total(1),
            precomputed: Some(options.hops + 1),
            steps: options.hops,
            ..Facts::default()
        }
    }
}
