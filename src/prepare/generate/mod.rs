//! Random graphs with classes and features, of any size, as partition directories.

mod bijection;
mod config;
mod draws;
mod even_cut;
mod features;
mod generated;
mod labels;
mod model;
mod pairs;
mod rmat;
mod sbm;
mod space;
mod split;
mod tables;
mod topology;

pub use config::{FeatureDtype, GeneratorConfig, GraphKind};
pub use generated::{Generated, generate};
