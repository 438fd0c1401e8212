//! Finds libtorch, reports a mistake in one line, and lets the binaries find it at run time (rpath).
//! Without the feature `torch` there is nothing to find; with the feature `mpi`, MPI is found in the same way. Nothing is fetched here: `make libtorch` does that.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_MPI").is_some() {
        find_mpi();
    }
    if env::var_os("CARGO_FEATURE_TORCH").is_none() {
        return;
    }
    for name in ["LIBTORCH", "LIBTORCH_LIB", "LIBTORCH_USE_PYTORCH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let folder = if env::var_os("LIBTORCH_USE_PYTORCH").is_some() {
        python_libtorch()
    } else {
        let root = env::var_os("LIBTORCH_LIB").or_else(|| env::var_os("LIBTORCH"));
        PathBuf::from(root.unwrap_or_default()).join("lib")
    };
    let library = if cfg!(target_os = "macos") { "libtorch_cpu.dylib" } else { "libtorch_cpu.so" };
    // The link may lead to a cache; the binary keeps the place it leads to.
    match folder.canonicalize() {
        Ok(folder) if folder.join(library).exists() => {
            // First the folder where `make install` puts libtorch.
            println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/../lib/sar-single");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
            // Link arguments do not reach crates that depend on this one: their build scripts read DEP_SAR_LIBTORCH.
            println!("cargo:libtorch={}", folder.display());
        }
        _ => {
            println!(
                "cargo:error=no libtorch at {}: run `make libtorch` once (it fetches libtorch 2.11 through pip), \
                 or set LIBTORCH to a libtorch 2.11 folder",
                folder.display()
            );
            std::process::exit(1);
        }
    }
}

/// Lets the binaries find the MPI that they are linked with, wherever its compiler wrapper says that it is.
fn find_mpi() {
    println!("cargo:rerun-if-env-changed=MPICC");
    let wrapper = env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    let output = Command::new(wrapper).arg("-show").output();
    let line = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    for folder in line.split_whitespace().filter_map(|word| word.strip_prefix("-L")) {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}

/// The library folder of the PyTorch that python3 imports, as torch-sys looks it up.
fn python_libtorch() -> PathBuf {
    let python = if env::var_os("VIRTUAL_ENV").is_some() { "python" } else { "python3" };
    let program = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent / 'lib')";
    let output = Command::new(python).args(["-c", program]).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    PathBuf::from(text.unwrap_or_default())
}
