//! Random graphs with classes and features, of any size, as partition directories.

mod bijection;
mod config;
mod draws;
mod even_cut;
mod features;
mod generate;
mod labels;
mod model;
mod pairs;
mod progress;
mod rmat;
mod sbm;
mod space;
mod split;
mod tables;
mod topology;

pub use config::{GeneratorConfig, GraphKind};
pub use generate::{Generated, generate};
pub use progress::{Progress, Step};
