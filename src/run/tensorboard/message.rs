//! TensorFlow's events as protocol-buffer messages, with the few fields that scalars need.

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u8, wire_type: u8) {
        self.0.push(field << 3 | wire_type);
    }

    fn varint(&mut self, field: u8, value: u64) {
        self.key(field, 0);
        push_varint(&mut self.0, value);
    }

    fn double(&mut self, field: u8, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u8, bytes: &[u8]) {
        self.key(field, 2);
        push_varint(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn float(&mut self, field: u8, value: f32) {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The first event of a file.
pub(super) fn version(seconds: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, seconds);
    event.bytes(3, b"brain.Event:2");
    event.0
}

/// An event with the values of tags at a step.
pub(super) fn scalars(seconds: f64, step: u64, values: &[(String, f64)]) -> Vec<u8> {
    let mut summary = Message::default();
    for (tag, number) in values {
        let mut value = Message::default();
        value.bytes(1, tag.as_bytes());
        value.float(2, *number as f32);
        summary.bytes(1, &value.0);
    }
    let mut event = Message::default();
    event.double(1, seconds);
    event.varint(2, step);
    event.bytes(5, &summary.0);
    event.0
}

/// Step of an event; 0 if it has none, `None` if the bytes are not an event.
pub(super) fn step_of(event: &[u8]) -> Option<u64> {
    let (mut rest, mut step) = (event, 0);
    while let Some((key, after)) = rest.split_first() {
        rest = match key & 7 {
            0 => {
                let (value, after) = take_varint(after)?;
                if key >> 3 == 2 {
                    step = value;
                }
                after
            }
            1 => after.get(8..)?,
            2 => {
                let (len, after) = take_varint(after)?;
                after.get(usize::try_from(len).ok()?..)?
            }
            5 => after.get(4..)?,
            _ => return None,
        };
    }
    Some(step)
}

fn take_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (i, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 127) << (7 * i);
        if byte & 128 == 0 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_read_back_and_garbage_has_none() {
        for step in [0, 1, 127, 128, 300, u64::from(u32::MAX)] {
            assert_eq!(step_of(&scalars(1.5, step, &[("loss".to_owned(), 0.25)])), Some(step));
        }
        assert_eq!(step_of(&version(1.0)), Some(0));
        assert_eq!(step_of(&[2 << 3, 255]), None);
        assert_eq!(step_of(&[5 << 3 | 2, 9, 1]), None);
    }
}
