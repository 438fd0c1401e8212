//! Arrays as bytes with an element type and a shape: what messages and spill files carry, whatever library computes with them.

mod element;
mod elements;
mod layout;
mod owned;

pub use element::ArrayElement;
pub use elements::Elements;
pub use layout::ArrayLayout;
pub use owned::Array;
