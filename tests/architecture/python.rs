//! The order of the Python package's rooms.

use std::fs;
use std::path::Path;

use super::source::files_of;

/// Lower rooms do not import higher ones when they are imported themselves. ARCHITECTURE.md describes each.
const ROOMS: [&str; 10] = [
    "commands", "process", "graph", "stored", "sampling", "pyg", "worker", "nn", "dist", "checking",
];

#[test]
fn lower_rooms_of_the_python_package_do_not_import_higher_ones() {
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    for (path, content) in files_of("python/sar_single", "py") {
        let Some((room, _)) = path.strip_prefix("python/sar_single/").unwrap().split_once('/')
        else {
            continue;
        };
        let own = place(room).unwrap_or_else(|| panic!("{path} belongs to no room"));
        // Imports inside functions, and those for types alone, are indented.
        for used in content.lines().filter_map(|line| line.strip_prefix("from ..")) {
            let used = used.split(['.', ' ']).next().unwrap();
            assert!(place(used) <= Some(own), "{path} imports {used}");
        }
    }
}

#[test]
fn architecture_md_names_every_room_of_the_python_package() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md"));
    let text = text.unwrap();
    let (_, table) = text.split_once("| room of `python/sar_single` |").unwrap();
    for room in ROOMS {
        assert!(table.contains(&format!("`{room}`")), "ARCHITECTURE.md does not describe {room}");
    }
}
