//! The `sar-single` program.

fn main() {}
