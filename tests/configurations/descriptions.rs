//! Models describe their options as configurations hold them.

use sar::nn::{EdgeWeights, ModelKind, OptionValues};
use toml::Value;

#[test]
fn options_are_described_as_they_are_written() {
    for kind in ModelKind::all() {
        let (name, table) = (kind.spec().name, kind.table().unwrap());
        assert_eq!(table["layer"], Value::from(name));
        assert_eq!(ModelKind::named(name), Some(kind));
        kind.check().unwrap();
        let weighted = kind.with_edge_weights(true).unwrap();
        let takes = kind.spec().edge_weights != EdgeWeights::Refused;
        assert_eq!(weighted.facts().edge_weights, takes, "{name}");
        let mut described: Vec<_> =
            kind.spec().options.iter().map(|o| o.key.split('.').next().unwrap()).collect();
        described.extend(["layer"].into_iter().chain(takes.then_some("edge_weights")));
        for key in table.keys() {
            assert!(described.contains(&key.as_str()), "{name} does not describe {key}");
        }
        for option in kind.spec().options {
            let values: Vec<Value> = match option.values {
                OptionValues::Switch => vec![true.into(), false.into()],
                OptionValues::Whole { least, most } => vec![least.into(), most.into()],
                OptionValues::Share | OptionValues::Probability => vec![0.0.into(), 0.25.into()],
                OptionValues::Positive => vec![0.5.into()],
                OptionValues::Words(words) => words.iter().map(|w| w.name.into()).collect(),
            };
            for value in values {
                option.check(&value).unwrap();
                let mut table = kind.table().unwrap();
                option.set(&mut table, value.clone());
                let read = ModelKind::from_table(table).unwrap();
                assert_eq!(option.value(&read.table().unwrap()), Some(&value), "{name}");
            }
        }
    }
}
