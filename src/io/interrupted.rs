//! Repetition of calls that a signal interrupts.

use std::io;

/// Repeats a call as long as a signal interrupts it, as the standard library does in `read_exact`.
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_call_is_made_again() {
        let mut answers =
            vec![Ok(3), Err(io::ErrorKind::Interrupted), Err(io::ErrorKind::Interrupted)];
        let done = uninterrupted(|| answers.pop().unwrap().map_err(io::Error::from));
        assert_eq!((done.unwrap(), answers.len()), (3, 0));
        assert!(uninterrupted(|| Err::<(), _>(io::ErrorKind::NotFound.into())).is_err());
    }
}
