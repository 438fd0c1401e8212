//! Tracks of a process in a trace: one for its turns, and one for each thread.

use std::cell::OnceCell;

use parking_lot::Mutex;

use super::recorder::recorder;

/// Number of the track with a rank's turns.
pub(super) const TURNS: usize = 0;

/// Tracks of threads. A thread that ends leaves its track to a later thread of the same name, so threads that live for
/// one message share a track.
#[derive(Default)]
pub(super) struct Tracks(Mutex<Vec<ThreadTrack>>);

struct ThreadTrack {
    name: String,
    taken: bool,
}

impl Tracks {
    /// Takes a track for a thread of this name; returns its number, and whether it is new.
    fn take(&self, name: &str) -> (usize, bool) {
        let mut tracks = self.0.lock();
        let free = tracks.iter().position(|track| !track.taken && track.name == name);
        if let Some(i) = free {
            tracks[i].taken = true;
            return (TURNS + 1 + i, false);
        }
        tracks.push(ThreadTrack { name: name.to_owned(), taken: true });
        (TURNS + tracks.len(), true)
    }

    fn give_back(&self, number: usize) {
        self.0.lock()[number - TURNS - 1].taken = false;
    }
}

/// A thread's track, given back when the thread ends.
struct Taken(usize);

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(recorder) = recorder() {
            recorder.tracks.give_back(self.0);
        }
    }
}

/// The track of the calling thread.
pub(super) fn of_this_thread() -> Option<usize> {
    thread_local!(static TRACK: OnceCell<Taken> = const { OnceCell::new() });
    let recorder = recorder()?;
    let take = || {
        let thread = std::thread::current();
        let name = match thread.name() {
            Some("main") => "work",
            Some(name) => name,
            None => "thread",
        };
        let (number, is_new) = recorder.tracks.take(name);
        if is_new {
            recorder.name_track(number, name);
        }
        Taken(number)
    };
    // A thread that is about to end has given its track back.
    TRACK.try_with(|track| track.get_or_init(take).0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_over_the_track_of_one_that_has_ended() {
        let tracks = Tracks::default();
        assert_eq!(tracks.take("work"), (1, true));
        assert_eq!(tracks.take("read-ahead"), (2, true));
        assert_eq!(tracks.take("read-ahead"), (3, true));
        tracks.give_back(2);
        assert_eq!(tracks.take("sampler"), (4, true));
        assert_eq!(tracks.take("read-ahead"), (2, false));
    }
}
