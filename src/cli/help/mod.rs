//! Help: its first page, the answer to the program's name alone, and tips for unknown names.

pub(super) mod first_page;
pub(super) mod front_door;
pub(super) mod guesses;
pub(super) mod tips;
