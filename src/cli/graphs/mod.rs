//! Commands on graphs: made, cut, looked at, written for other programs.

pub(super) mod export;
pub(super) mod generate;
pub(super) mod inspect;
pub(super) mod partition;
