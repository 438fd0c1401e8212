//! Help: its first page, the answer to the program's name alone, tips for unknown names, manual pages and completions of shells.

pub(super) mod completions;
pub(super) mod first_page;
pub(super) mod front_door;
pub(super) mod guesses;
pub(super) mod manual;
pub(super) mod tips;
