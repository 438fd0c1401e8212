//! Graph isomorphism network: Xu, Hu, Leskovec and Jegelka, "How powerful are graph neural networks?", ICLR 2019.

use super::layer::Conv;
use crate::engine::tape::{
    Aggregation, Graph, Init, Parameter, ParameterBuilder, Reduce, Tape, Var,
};
use crate::error::Result;
use crate::nn::linear::Network;

/// `dgl.nn.GINConv`: `y_v = f((1 + eps) x_v + reduce_{u in N(v)} w_uv x_u)` with any inner network f. State-dict keys: those of
/// f below `apply_func`, and `eps` `[1]` if it is learned (otherwise it is 0).
pub struct GinConv {
    apply: Box<dyn Network>,
    eps: Option<Parameter>,
    reduce: Reduce,
    edge_weights: bool,
}

impl GinConv {
    /// Creates the layer around the network that `apply` creates. With `edge_weights`, messages of a sum are multiplied by edge
    /// weights.
    pub fn new<N: Network + 'static>(
        parameters: &mut ParameterBuilder,
        apply: impl FnOnce(&mut ParameterBuilder) -> N,
        reduce: Reduce,
        (learn_eps, edge_weights): (bool, bool),
    ) -> Self {
        let eps = learn_eps.then(|| parameters.add("eps", &[1], Init::Zeros));
        let apply = Box::new(parameters.scope("apply_func", apply));
        GinConv { apply, eps, reduce, edge_weights }
    }
}

impl Conv for GinConv {
    fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        src: Var,
        dst: Var,
    ) -> Result<Var> {
        let own = match self.eps {
            Some(eps) => tape.segment("own", &[&dst], &[eps], |x, eps| {
                Ok(x[0].f_mul(&eps[0].f_add_scalar(1)?)?)
            })?,
            None => dst,
        };
        let reduction = Aggregation::new(self.reduce).weighted(self.edge_weights);
        let sum = match self.reduce {
            Reduce::Sum | Reduce::Mean => tape.aggregate(graph, src, reduction.onto(own))?,
            Reduce::Max | Reduce::Min => {
                let neighbours = tape.aggregate(graph, src, reduction)?;
                tape.segment("sum", &[&own, &neighbours], &[], |x, _| Ok(x[0].f_add(&x[1])?))?
            }
        };
        self.apply.forward(tape, sum)
    }
}
