//! Update rules for single rows.

/// An update rule with separate state for each row.
pub trait SparseRule {
    /// Name of the rule.
    const NAME: &'static str;

    /// Suffixes of the names of the rule's state tensors; whether each tensor's rows are as wide as the embedding's
    /// (otherwise they have one element).
    const STATES: &'static [(&'static str, bool)];

    /// Updates one row and its state.
    fn update(&self, gradient: &[f32], state: &mut [&mut [f32]], row: &mut [f32]);

    /// The rule's constants, which are stored with saved state.
    fn constants(&self) -> Vec<(&'static str, f64)>;
}

/// Adagrad (Duchi, Hazan and Singer 2011) as DGL computes it: sum += g²; row -= lr·g / (√sum + eps).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adagrad {
    /// Learning rate.
    pub lr: f64,
    /// Constant that is added to the denominator.
    pub eps: f64,
}

impl Adagrad {
    /// Adagrad with DGL's default eps, 1e-10.
    pub fn new(lr: f64) -> Self {
        Adagrad { lr, eps: 1e-10 }
    }
}

impl SparseRule for Adagrad {
    const NAME: &'static str = "SparseAdagrad";
    const STATES: &'static [(&'static str, bool)] = &[("sum", true)];

    fn update(&self, gradient: &[f32], state: &mut [&mut [f32]], row: &mut [f32]) {
        let [sums] = state else { return };
        let (lr, eps) = (self.lr as f32, self.eps as f32);
        for ((g, sum), value) in gradient.iter().zip(sums.iter_mut()).zip(row) {
            *sum += g * g;
            *value -= lr * g / (sum.sqrt() + eps);
        }
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        vec![("lr", self.lr), ("eps", self.eps)]
    }
}

/// Adam (Kingma and Ba 2015) as DGL computes it, with a step counter per row: a row's bias correction depends on the
/// number of its own updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// Learning rate.
    pub lr: f64,
    /// Decay rates of the two moments.
    pub betas: (f64, f64),
    /// Constant that is added to the denominator.
    pub eps: f64,
}

impl Adam {
    /// Adam with DGL's defaults: betas (0.9, 0.999), eps 1e-8.
    pub fn new(lr: f64) -> Self {
        Adam { lr, betas: (0.9, 0.999), eps: 1e-8 }
    }
}

impl SparseRule for Adam {
    const NAME: &'static str = "SparseAdam";
    const STATES: &'static [(&'static str, bool)] =
        &[("step", false), ("mem", true), ("power", true)];

    fn update(&self, gradient: &[f32], state: &mut [&mut [f32]], row: &mut [f32]) {
        let [steps, mems, powers] = state else { return };
        steps[0] += 1.0;
        let (beta1, beta2) = (self.betas.0 as f32, self.betas.1 as f32);
        let [correction1, correction2] = [beta1, beta2].map(|beta| 1.0 - beta.powf(steps[0]));
        let (lr, eps) = (self.lr as f32, self.eps as f32);
        let moments = mems.iter_mut().zip(powers.iter_mut());
        for ((g, (mem, power)), value) in gradient.iter().zip(moments).zip(row) {
            *mem = beta1 * *mem + (1.0 - beta1) * g;
            *power = beta2 * *power + (1.0 - beta2) * g * g;
            *value -= lr * (*mem / correction1) / ((*power / correction2).sqrt() + eps);
        }
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        vec![("lr", self.lr), ("beta1", self.betas.0), ("beta2", self.betas.1), ("eps", self.eps)]
    }
}
