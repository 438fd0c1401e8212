//! `mpirun`, which starts a process per machine; here all of them are on this one.

use std::path::PathBuf;
use std::process::Command;

use super::common::with_default_signals;

/// The mpirun in the folder of the MPI's compiler, or in PATH, such that it starts more processes than there are cores.
pub(crate) fn mpirun() -> Command {
    let compiler = std::env::var_os("MPICC").map(PathBuf::from);
    let beside = compiler.and_then(|compiler| Some(compiler.parent()?.join("mpirun")));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("mpirun"));
    let mut command = with_default_signals(program);
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command
}
