//! A 32-bit word that processes share, change and wait on.

/// Operations of the protocol on a shared word. The real one is a futex in a mapped file (`futex.rs`); the model
/// checker uses its own, to check the protocol without system calls.
pub trait Word {
    /// The value.
    fn load(&self) -> u32;

    /// Replaces `expected` by `new`; returns whether the word held `expected`.
    fn compare_exchange(&self, expected: u32, new: u32) -> bool;

    /// Sleeps while the word holds `expected`, until a wake whose mask shares a bit with `mask`. May return early, so
    /// callers read the word again.
    fn wait(&self, expected: u32, mask: u32);

    /// Wakes the sleepers whose mask shares a bit with `mask`.
    fn wake(&self, mask: u32);

    /// Applies `change` to the value and returns (old, new).
    fn update(&self, change: impl Fn(u32) -> u32) -> (u32, u32) {
        loop {
            let old = self.load();
            let new = change(old);
            if self.compare_exchange(old, new) {
                return (old, new);
            }
        }
    }
}
