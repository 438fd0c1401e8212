//! Arrays in messages: a record with element type and shape, then the elements.

use super::group::{Inbox, Outbox};
use crate::engine::array::{ArrayLayout, Elements};
use crate::io;
use crate::words::error::{Error, Result};

/// Appends an array to the current message.
pub(super) fn write_array(outbox: &mut dyn Outbox, value: &impl Elements) -> Result<()> {
    let layout = value.array_layout()?;
    value.read_elements(|bytes| write_bytes(outbox, &layout, bytes))
}

/// Appends an array with this layout and these bytes to the current message.
pub(super) fn write_bytes(
    outbox: &mut dyn Outbox,
    layout: &ArrayLayout,
    bytes: &[u8],
) -> Result<()> {
    let header = io::encode(&layout)?;
    outbox.write(&(header.len() as u32).to_le_bytes())?;
    outbox.write(&crc32fast::hash(&header).to_le_bytes())?;
    outbox.write(&header)?;
    outbox.write(bytes)
}

/// Reads the next array of a message.
pub(super) fn read_array<T: Elements>(inbox: &mut dyn Inbox) -> Result<T> {
    let layout = read_layout(inbox)?;
    T::from_elements(&layout, |bytes| inbox.read(bytes))
}

/// Reads the layout of the next array of a message; its elements follow.
pub(super) fn read_layout(inbox: &mut dyn Inbox) -> Result<ArrayLayout> {
    let (mut len, mut checksum) = ([0; 4], [0; 4]);
    inbox.read(&mut len)?;
    inbox.read(&mut checksum)?;
    let len = u32::from_le_bytes(len);
    if u64::from(len) > inbox.remaining() {
        return Err(inbox.damaged("a tensor's header is longer than its message"));
    }
    let mut header = vec![0; len as usize];
    inbox.read(&mut header)?;
    // The header is needed before the end of the message, where the message's checksum is.
    if crc32fast::hash(&header) != u32::from_le_bytes(checksum) {
        return Err(inbox.damaged("the checksum of a tensor's header does not match"));
    }
    let layout: ArrayLayout = io::decode(&header)?;
    if layout.byte_len().is_none_or(|len| len as u64 > inbox.remaining()) {
        return Err(Error::internal("a message is shorter than its tensor"));
    }
    Ok(layout)
}
