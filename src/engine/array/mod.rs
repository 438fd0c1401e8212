//! Arrays as bytes with an element type and a shape, the content of messages and spill files; independent of libtorch.

mod element;
mod elements;
mod layout;
mod owned;

pub use element::ArrayElement;
pub use elements::Elements;
pub use layout::ArrayLayout;
pub use owned::Array;
