#![doc = include_str!("README.md")]

mod control;
mod futex;
mod protocol;
mod status;
mod turn;
mod word;

pub use control::Control;
pub use protocol::{Protocol, Stop};
pub use status::{Activity, Phase, RankStatus};
pub use turn::TurnLock;
pub use word::Word;
