//! Arrays as bytes with element type and shape, independent of libtorch: the content of messages and spill files.

mod element;
mod elements;
mod layout;
mod owned;

pub use element::ArrayElement;
pub use elements::Elements;
pub use layout::ArrayLayout;
pub use owned::Array;
