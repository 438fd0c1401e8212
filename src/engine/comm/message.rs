//! Tensors in messages: a record with element type and shape, then the elements.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::group::{Inbox, Outbox};
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::io;

/// The facts that a receiver needs before the elements.
#[derive(Serialize, Deserialize)]
struct TensorHeader {
    kind: i32,
    shape: Vec<i64>,
}

/// Appends a tensor to the message begun last.
pub(super) fn write_tensor(outbox: &mut dyn Outbox, value: &Tensor) -> Result<()> {
    let value = value.f_contiguous()?;
    let header = TensorHeader { kind: code(value.kind())?, shape: value.size() };
    let header = io::encode(&header)?;
    outbox.write(&(header.len() as u32).to_le_bytes())?;
    outbox.write(&crc32fast::hash(&header).to_le_bytes())?;
    outbox.write(&header)?;
    outbox.write(tensor::bytes(&value))
}

/// Reads the next tensor of a message.
pub(super) fn read_tensor(inbox: &mut dyn Inbox) -> Result<Tensor> {
    let (mut len, mut checksum) = ([0; 4], [0; 4]);
    inbox.read(&mut len)?;
    inbox.read(&mut checksum)?;
    let len = u32::from_le_bytes(len);
    if u64::from(len) > inbox.remaining() {
        return Err(inbox.damaged("a tensor's header is longer than its message"));
    }
    let mut header = vec![0; len as usize];
    inbox.read(&mut header)?;
    // The header is needed before the checksum of the message, which comes at its end.
    if crc32fast::hash(&header) != u32::from_le_bytes(checksum) {
        return Err(inbox.damaged("the checksum of a tensor's header does not match"));
    }
    let header: TensorHeader = io::decode(&header)?;
    let kind = kind(header.kind)?;
    if tensor::byte_len(&header.shape, kind) as u64 > inbox.remaining() {
        return Err(Error::internal("a message is shorter than its tensor".to_owned()));
    }
    let mut value = tensor::empty(&header.shape, kind)?;
    inbox.read(tensor::bytes_mut(&mut value))?;
    Ok(value)
}

/// The element types that messages carry; the index in this list is the code in the message.
const KINDS: [Kind; 10] = [
    Kind::Uint8,
    Kind::Int8,
    Kind::Int16,
    Kind::Int,
    Kind::Int64,
    Kind::Half,
    Kind::Float,
    Kind::Double,
    Kind::Bool,
    Kind::BFloat16,
];

fn code(kind: Kind) -> Result<i32> {
    let code = KINDS.iter().position(|k| *k == kind);
    let code =
        code.ok_or_else(|| Error::internal(format!("tensors of {kind:?} are never sent")))?;
    Ok(code as i32)
}

fn kind(code: i32) -> Result<Kind> {
    let kind = usize::try_from(code).ok().and_then(|code| KINDS.get(code));
    kind.copied().ok_or_else(|| Error::internal(format!("a message has element type {code}")))
}
