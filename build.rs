//! Finds libtorch, says in one line what is wrong with it, and lets the binaries find it at run time (rpath).
//! Without the feature `torch` there is nothing to find. Nothing is fetched here: `make libtorch` does that.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
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

/// The library folder of the PyTorch that python3 imports, as torch-sys looks it up.
fn python_libtorch() -> PathBuf {
    let python = if env::var_os("VIRTUAL_ENV").is_some() { "python" } else { "python3" };
    let program = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent / 'lib')";
    let output = Command::new(python).args(["-c", program]).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    PathBuf::from(text.unwrap_or_default())
}
