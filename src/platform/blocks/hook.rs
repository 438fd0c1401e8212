//! Replacement of a function that a loaded library calls.
#![allow(unsafe_code)] // reads a loaded library's tables, and writes one entry

use std::ffi::{CStr, c_int, c_void};
use std::{mem, ptr, slice};

use rustix::io::Result;
use rustix::mm::{MprotectFlags, mprotect};

/// Tags of a library's dynamic section.
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const RELOCATIONS: i64 = 7;
const RELOCATION_BYTES: i64 = 8;
const CALL_BYTES: i64 = 2;
const CALLS: i64 = 23;

/// Kinds of relocation that hold a symbol's plain address.
const ADDRESS_OF_SYMBOL: [u32; 2] =
    if cfg!(target_arch = "aarch64") { [1025, 1026] } else { [6, 7] };

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// A relocation: a place that the loader has filled.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// A search for the library whose calls of a function are redirected.
struct Search<'a> {
    library: &'a str,
    function: &'a CStr,
    by: *const (),
    replaced: Result<bool>,
}

/// Redirects a loaded library's calls of `function` to `by`, which must have the same signature. `library` is a file
/// name. Returns whether the library is loaded and calls the function.
pub(super) fn replace_function(library: &str, function: &CStr, by: *const ()) -> Result<bool> {
    let mut search = Search { library, function, by, replaced: Ok(false) };
    if cfg!(all(target_env = "gnu", target_pointer_width = "64")) {
        // SAFETY: `visit` gets the loader's record of each library, and the search, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    }
    search.replaced
}

/// Called by the loader for each library.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader passes its record of a library, and the pointer from `replace_function`.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: the loader keeps the name while the library is loaded.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    if file != search.library.as_bytes() {
        return 0;
    }
    // SAFETY: the library stays loaded, as torch is never unloaded.
    search.replaced = unsafe { replace(info, search.function, search.by) };
    1
}

/// # Safety
/// `info` has to describe a loaded library.
unsafe fn replace(info: &libc::dl_phdr_info, function: &CStr, by: *const ()) -> Result<bool> {
    let base = info.dlpi_addr as usize;
    // SAFETY: the loader keeps the headers.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
        return Ok(false);
    };
    let len = header.p_memsz as usize / mem::size_of::<Dynamic>();
    let section = ptr::with_exposed_provenance::<Dynamic>(base + header.p_vaddr as usize);
    // SAFETY: the header says that the section lies there, in memory.
    let section = unsafe { slice::from_raw_parts(section, len) };
    // The loader has added the library's place to these addresses.
    let value = |tag| section.iter().find(|entry| entry.tag == tag).map_or(0, |entry| entry.value);
    let (symbols, strings) = (value(SYMBOLS), value(STRINGS));
    let mut replaced = false;
    for (table, bytes) in [(CALLS, CALL_BYTES), (RELOCATIONS, RELOCATION_BYTES)] {
        let (table, bytes) = (value(table), value(bytes));
        if table < base || symbols < base || strings < base {
            continue;
        }
        let table = ptr::with_exposed_provenance::<Relocation>(table);
        // SAFETY: the section says where the table lies and its number of bytes.
        let table = unsafe { slice::from_raw_parts(table, bytes / mem::size_of::<Relocation>()) };
        for relocation in table {
            if !ADDRESS_OF_SYMBOL.contains(&(relocation.info as u32)) || relocation.addend != 0 {
                continue;
            }
            let symbol = (relocation.info >> 32) as usize * mem::size_of::<libc::Elf64_Sym>();
            let symbol = ptr::with_exposed_provenance::<libc::Elf64_Sym>(symbols + symbol);
            // SAFETY: relocations name symbols of the table, whose names are in the table of strings.
            let name = unsafe {
                CStr::from_ptr(ptr::with_exposed_provenance(strings + (*symbol).st_name as usize))
            };
            if name == function {
                let place = ptr::with_exposed_provenance_mut::<*const ()>(base + relocation.offset);
                // SAFETY: the loader has put the function's address there, and `by` has the same signature.
                unsafe { write(place, by)? };
                replaced = true;
            }
        }
    }
    Ok(replaced)
}

/// Writes to a table that may be protected.
///
/// # Safety
/// The place must be in a table of this kind, and no other thread may use it meanwhile.
unsafe fn write(place: *mut *const (), by: *const ()) -> Result<()> {
    let page = rustix::param::page_size();
    let start = place.map_addr(|address| address / page * page);
    // SAFETY: an entry does not cross pages. The table's other entries stay.
    unsafe {
        mprotect(start.cast(), page, MprotectFlags::READ | MprotectFlags::WRITE)?;
        place.write(by);
    }
    Ok(())
}
