//! Every configuration of a run is written and read again, and lived through from training to prediction. Configurations are
//! made from the types themselves: a field or variant that is not named here does not compile.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

#[cfg(feature = "mpi")]
#[path = "../common/mpirun.rs"]
mod mpirun;

mod case;
mod config_file;
mod descriptions;
mod life;
#[cfg(feature = "mpi")]
mod machines;
mod old_files;
mod round_trip;
mod values;
