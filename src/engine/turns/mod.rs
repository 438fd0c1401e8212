#![doc = include_str!("README.md")]

mod control;
mod futex;
mod pool;
mod protocol;
mod status;
mod turn;
mod word;

pub use control::Control;
pub use pool::Pool;
pub use protocol::{Protocol, Stop};
pub use status::{Activity, Phase, RankStatus};
pub use turn::TurnLock;
pub use word::Word;
