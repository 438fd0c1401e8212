//! The check before `make build-mpi`: it names what is missing, and how to get it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Output of the check before `make build-mpi`, and its exit code, with this compiler wrapper and this folder of libclang.
fn check(compiler: &Path, libclang: &Path) -> (String, Option<i32>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cargo/mpi.py");
    let mut command = Command::new("python3");
    command.arg(script).env("MPICC", compiler).env("LIBCLANG_PATH", libclang);
    let output = command.output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn what_is_missing_is_named_with_its_packages() {
    let folder = tempfile::tempdir().unwrap();
    let (said, code) = check(Path::new("no-such-mpicc"), folder.path());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot find an MPI: no-such-mpicc is not in PATH"), "{said}");
    assert!(said.contains("pip install mpich") && said.contains("apt install libopenmpi-dev"));
    assert!(said.contains("cannot find libclang: no libclang.so in"), "{said}");
    assert!(said.contains("pip install libclang") && said.contains("apt install libclang-dev"));
}

#[test]
fn the_other_library_of_clang_is_not_libclang() {
    let folder = tempfile::tempdir().unwrap();
    // Any program is a compiler wrapper to the check.
    let compiler = Path::new("python3");
    fs::write(folder.path().join("libclang-cpp.so.14"), "").unwrap();
    let (said, code) = check(compiler, folder.path());
    assert!(said.starts_with("error: cannot find libclang"), "{said}");
    assert_eq!(code, Some(1));
    for name in ["libclang-14.so.1", "libclang.so"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "").unwrap();
        assert_eq!(check(compiler, folder.path()), (String::new(), Some(0)), "{name}");
    }
}
