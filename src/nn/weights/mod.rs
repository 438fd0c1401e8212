//! Weights in files, under the state-dict keys of PyTorch modules.

pub(super) mod safetensors_file;
pub(super) mod shared_arrays;
pub(super) mod state_dict;
