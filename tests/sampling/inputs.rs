//! Guards against: learned inputs whose gradients are lost or go to other rows.

use std::rc::Rc;

use sar::engine::tape::{ParameterBuilder, Policy, Tape};
use sar::nn::LinkScore;
use sar::testing::on_ranks;
use tch::{Kind, Tensor};

#[test]
fn a_learned_input_gets_the_derivative_of_the_loss() {
    let work = |context: sar::testing::RankContext| {
        let manager = &context.manager;
        let mut builder = ParameterBuilder::new(2);
        let bilinear = LinkScore::bilinear(&mut builder, 3);
        let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
        let rows = [Tensor::from_slice(&[0_i64, 2, 2, 4]), Tensor::from_slice(&[1_i64, 2, 3, 0])];
        let values = Tensor::arange(15, (Kind::Double, tch::Device::Cpu)).sin().view([5, 3]);
        // The loss is the sum of the scores' squares.
        let run = |score: &LinkScore, x: &Tensor| -> sar::Result<(f64, Tensor)> {
            let x = manager.track("x", x.copy());
            let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 0, 1);
            let input = tape.trainable_input(&x);
            let scores = score.forward(&mut tape, &input, [&rows[0], &rows[1]], None)?;
            let values = scores.pin()?.copy();
            let gradients = tape.backward(scores, 2.0 * &values)?;
            let gradient = gradients.input(&input).unwrap().pin()?.copy();
            Ok((values.square().sum(Kind::Double).double_value(&[]), gradient))
        };
        for score in [LinkScore::Dot, bilinear] {
            let (loss, gradient) = run(&score, &values)?;
            for (i, j) in [(0, 0), (2, 1), (2, 2), (3, 0), (4, 2)] {
                let nudged = values.copy();
                let _ = nudged.get(i).get(j).fill_(values.double_value(&[i, j]) + 1e-6);
                let slope = (run(&score, &nudged)?.0 - loss) / 1e-6;
                assert!((slope - gradient.double_value(&[i, j])).abs() < 1e-4, "{i} {j}");
            }
        }
        Ok(())
    };
    on_ranks(1, 1, work).unwrap();
}
