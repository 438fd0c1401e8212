#![doc = include_str!("README.md")]

mod cells;
mod control;
mod futex;
mod grant;
mod growth;
mod ledger;
mod pool;
mod protocol;
mod run_status;
mod save_clock;
mod status;
mod turn;
mod word;
mod work;

pub use cells::{Cell32, Cell64, Kib};
pub use control::Control;
pub use grant::{given_out, rest_to_give_out};
pub use pool::Pool;
pub use protocol::{Protocol, Stop};
pub use run_status::{Request, RunStatus};
pub use save_clock::SaveClock;
pub use status::{Activity, Phase, RankStatus, Steps};
pub use turn::TurnLock;
pub use word::Word;
pub use work::Work;
