//! A layer that runs one layer per relation and merges their results.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::gcn::{GcnConv, GcnConvConfig, Norm};
use super::heads::mean_of_heads;
use super::layer::{Conv, ConvInput};
use super::rgcn::{RELU_XAVIER, RelationWeights, RgcnConvConfig, WeightNames, own_weight};
use crate::engine::tape::{
    Graph, HeteroGraph, HeteroGraphShardManager, Init, Parameter, ParameterBuilder, Relation, Tape,
    Var, Weight,
};
use crate::graph::CanonicalEtype;
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

choices! {
    /// How the results of several relations into one node type are merged.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RelationMerge {
        /// Sum of the results
        @default Sum = "sum",
        /// Mean of the results
        Mean = "mean",
        /// Largest value, column by column
        Max = "max",
        /// Smallest value, column by column
        Min = "min",
        ;
        /// Side by side, in the order of edge types: `relations * width` columns, the rows of DGL's `[relations, width]`
        Stack,
    }
}

/// `dgl.nn.HeteroGraphConv`: one layer per relation; results for one node type are merged. State-dict keys: the keys of
/// a relation's layer, prefixed with `mods.<relation>.`, or with `mods.('<src>', '<relation>', '<dst>').` where several
/// edge types share a relation name, as with DGL's canonical keys.
///
/// ```
/// use sar::nn::{Conv, GcnConv, GcnConvConfig, HeteroGraphConv, Norm, RelationMerge};
/// use sar::testing::{TestHeteroGraph, assert_near, hetero_output};
///
/// let graph = TestHeteroGraph::default()
///     .nodes("author", 2)
///     .nodes("paper", 2)
///     .edges("author", "writes", "paper", &[[0, 0], [1, 0], [1, 1]])
///     .edges("paper", "cites", "paper", &[[0, 1]]);
/// let config = GcnConvConfig {
///     in_feats: 1,
///     out_feats: 1,
///     norm: Norm::None,
///     edge_weights: false,
///     allow_zero_in_degree: true,
/// };
/// let values: [(&str, &[f64]); 2] = [("mods.writes.weight", &[1.0]), ("mods.cites.weight", &[10.0])];
/// let papers = hetero_output(
///     &graph,
///     &[&[&[1.0], &[2.0]], &[&[3.0], &[4.0]]],
///     &values,
///     |p, graph| {
///         HeteroGraphConv::new(p, graph, RelationMerge::Sum, |p, _| {
///             Ok(Some(Box::new(GcnConv::new(p, config)) as Box<dyn Conv>))
///         })
///     },
///     |conv, tape, graph, rows| {
///         let rows: Vec<_> = rows.into_iter().map(Some).collect();
///         let mut results = conv.forward(tape, graph, &rows)?;
///         Ok(results.swap_remove(1).expect("edges lead to papers"))
///     },
/// )?;
/// // 1 + 2 for the first paper; 2 + 10 * 3 for the second.
/// assert_near(&papers, &[3.0, 32.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct HeteroGraphConv {
    convs: Vec<Option<Box<dyn Conv>>>,
    merge: RelationMerge,
    /// Number of heads, side by side in the merged results, whose mean is the output.
    heads: i64,
    own: Option<OwnTerm>,
}

/// The term of the nodes' own rows, which is added after the merge.
struct OwnTerm {
    weight: Weight,
    bias: Parameter,
}

impl HeteroGraphConv {
    /// Creates the layer; `make` creates the layer of a relation, or returns `None` to leave the relation out.
    ///
    /// # Errors
    /// If `make` fails.
    pub fn new(
        parameters: &mut ParameterBuilder,
        graph: &HeteroGraphShardManager,
        merge: RelationMerge,
        mut make: impl FnMut(&mut ParameterBuilder, &Relation) -> Result<Option<Box<dyn Conv>>>,
    ) -> Result<Self> {
        let relations = graph.relations();
        let convs = relations.iter().map(|relation| {
            let key = format!("mods.{}", module_name(graph, relation));
            parameters.scope(&key, |parameters| make(parameters, relation))
        });
        Ok(HeteroGraphConv { convs: convs.collect::<Result<_>>()?, merge, heads: 1, own: None })
    }

    /// This layer, with the mean of the heads after the merge: `.mean(1)` of DGL's `[nodes, heads, out]`. The relations'
    /// layers leave their heads side by side.
    pub(in crate::nn) fn with_mean_of_heads(self, heads: i64) -> Self {
        HeteroGraphConv { heads, ..self }
    }

    /// Creates a relational graph convolution, `RelGraphConvLayer` of DGL's example `rgcn-hetero`: a [`GcnConv`] per
    /// relation with [`Norm::Right`] and no bias, whose weights may share bases or blocks. The result is their merge `+
    /// W_loop x_v + b`.
    ///
    /// State-dict keys: `weight` `[rels, in, out]` (bases: `basis.weight` `[bases, in, out]` and `basis.w_comp` `[rels, bases]`;
    /// blocks: `weight` as in [`RgcnConv`](super::rgcn::RgcnConv)), `h_bias` `[out]`, `loop_weight` `[in, out]`.
    ///
    /// # Errors
    /// If the number of relations is not that of the graph, or a width is not a multiple of the number of blocks.
    pub fn relational(
        parameters: &mut ParameterBuilder,
        graph: &HeteroGraphShardManager,
        merge: RelationMerge,
        config: RgcnConvConfig,
    ) -> Result<Self> {
        let RgcnConvConfig { in_feats, out_feats, num_rels, .. } = config;
        if num_rels != graph.relations().len() {
            let problem = format!("{num_rels} weights for {} relations", graph.relations().len());
            return Err(Error::config("relations", problem));
        }
        let names = WeightNames {
            weight: "weight",
            bases: "basis.weight",
            coefficients: "basis.w_comp",
            init: |_| RELU_XAVIER,
        };
        let weights = RelationWeights::new(parameters, config, names)?;
        let mean = GcnConvConfig {
            in_feats,
            out_feats,
            norm: Norm::Right,
            edge_weights: false,
            allow_zero_in_degree: true,
        };
        let convs = (0..num_rels).map(|relation| {
            let conv = GcnConv::with_weight(weights.of_relation(relation), mean);
            Some(Box::new(conv) as Box<dyn Conv>)
        });
        let bias = parameters.add("h_bias", &[out_feats], Init::Zeros);
        let own = Some(OwnTerm { weight: own_weight(parameters, config), bias });
        Ok(HeteroGraphConv { convs: convs.collect(), merge, heads: 1, own })
    }

    /// Maps one value per node type, `[sources of the type, width of the type]`, to `[destinations of the type, out]`;
    /// on the full graph both have a row per own node of the rank. As in DGL, a relation is skipped if its source type
    /// has no value, and a type without incoming relations has no result.
    ///
    /// # Errors
    /// If a relation's destinations have no value, or results for one type differ in width.
    pub fn forward<'a, G: Graph>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a HeteroGraph<G>,
        inputs: &[Option<Var>],
    ) -> Result<Vec<Option<Var>>> {
        self.forward_into(tape, graph, inputs, &vec![true; graph.ntypes().len()])
    }

    /// [`forward`](HeteroGraphConv::forward) for the `wanted` node types only; other types have no result. All
    /// relations [share their pauses](Tape::join).
    pub(in crate::nn) fn forward_into<'a, G: Graph>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a HeteroGraph<G>,
        inputs: &[Option<Var>],
        wanted: &[bool],
    ) -> Result<Vec<Option<Var>>> {
        let own = |(ntype, x): (usize, &Option<Var>)| match x {
            Some(x) if wanted[ntype] => graph.destinations(tape, ntype, x).map(Some),
            _ => Ok(None),
        };
        let own = inputs.iter().enumerate().map(own).collect::<Result<Vec<_>>>()?;
        let (mut begun, mut types) = (Vec::new(), Vec::new());
        for (i, (conv, relation)) in self.convs.iter().zip(graph.relations()).enumerate() {
            let (Some(conv), Some(src)) = (conv, &inputs[relation.src_type]) else { continue };
            if !wanted[relation.dst_type] {
                continue;
            }
            let dst = own[relation.dst_type].clone().ok_or_else(|| {
                let problem =
                    format!("edge type {} has destinations without input", relation.etype);
                Error::config("inputs", problem)
            })?;
            tape.enter_relation(Some(i));
            let input = ConvInput::new(&relation.graph, src.clone(), dst);
            begun.push(conv.begin(tape, input)?);
            types.push(relation.dst_type);
        }
        tape.enter_relation(None);
        let own = if self.own.is_some() { own } else { Vec::new() };
        let mut results: Vec<Vec<Var>> = graph.ntypes().iter().map(|_| Vec::new()).collect();
        for (ntype, result) in types.into_iter().zip(tape.join(begun)?) {
            results[ntype].push(result);
        }
        let mut merged = Vec::new();
        for results in results {
            let result = self.merge.apply(tape, &results)?;
            merged.push(result.map(|y| self.averaged(tape, y)).transpose()?);
        }
        if let Some(OwnTerm { weight, bias }) = &self.own {
            for (result, own) in merged.iter_mut().zip(own) {
                *result = match (result.take(), own) {
                    (Some(sum), Some(own)) => {
                        Some(tape.linear(&own, weight, Some(*bias), Some(sum))?)
                    }
                    (result, _) => result,
                };
            }
        }
        Ok(merged)
    }

    /// The mean of the heads of merged results.
    fn averaged(&self, tape: &mut Tape<'_>, y: Var) -> Result<Var> {
        let heads = self.heads;
        if heads == 1 {
            return Ok(y);
        }
        tape.segment("heads", &[&y], &[], move |x, _| mean_of_heads(&x[0], heads))
    }
}

impl RelationMerge {
    /// Whether a mean of columns may precede the merge as well as follow it.
    pub(in crate::nn) fn is_linear(self) -> bool {
        matches!(self, RelationMerge::Sum | RelationMerge::Mean)
    }

    fn apply(self, tape: &mut Tape<'_>, results: &[Var]) -> Result<Option<Var>> {
        let (first, others) = match results {
            [] => return Ok(None),
            [only] => return Ok(Some(only.clone())),
            [first, others @ ..] => (first, others),
        };
        if self != RelationMerge::Stack && others.iter().any(|y| y.width() != first.width()) {
            let widths: Vec<i64> = results.iter().map(Var::width).collect();
            let problem = format!(
                "the results of the relations into one node type have the widths {widths:?}"
            );
            return Err(Error::config("relations", problem));
        }
        let inputs: Vec<&Var> = results.iter().collect();
        let merged = tape.segment("relations", &inputs, &[], move |x, _| {
            let stacked = || Tensor::f_stack(x, 0);
            Ok(match self {
                RelationMerge::Sum => {
                    stacked()?.f_sum_dim_intlist([0_i64].as_slice(), false, None)?
                }
                RelationMerge::Mean => stacked()?.f_mean_dim([0_i64].as_slice(), false, None)?,
                RelationMerge::Max => stacked()?.f_max_dim(0, false)?.0,
                RelationMerge::Min => stacked()?.f_min_dim(0, false)?.0,
                RelationMerge::Stack => Tensor::f_cat(x, 1)?,
            })
        })?;
        Ok(Some(merged))
    }
}

/// The key of a relation's layer in DGL's module.
pub(in crate::nn) fn module_name(graph: &HeteroGraphShardManager, relation: &Relation) -> String {
    let CanonicalEtype { src, rel, dst } = &relation.etype;
    if graph.relations().iter().filter(|other| other.etype.rel == *rel).count() == 1 {
        rel.clone()
    } else {
        format!("('{src}', '{rel}', '{dst}')")
    }
}
