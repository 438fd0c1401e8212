//! Tracks of a process in a trace: one for its turns, and one for each thread.

use parking_lot::Mutex;

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
    pub(super) fn take(&self, name: &str) -> (usize, bool) {
        let mut tracks = self.0.lock();
        let free = tracks.iter().position(|track| !track.taken && track.name == name);
        if let Some(i) = free {
            tracks[i].taken = true;
            return (TURNS + 1 + i, false);
        }
        tracks.push(ThreadTrack { name: name.to_owned(), taken: true });
        (TURNS + tracks.len(), true)
    }

    pub(super) fn give_back(&self, number: usize) {
        self.0.lock()[number - TURNS - 1].taken = false;
    }
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
