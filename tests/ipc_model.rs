//! The lock, barrier and stop protocol under a model checker: the same code as in production, over words that the checker
//! schedules. Guards against lost wakes, deadlocks, more residents than slots, and waits that outlive a stop.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use sar::engine::turns::{Pool, Protocol, Stop, Word};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, mpsc};
use shuttle::thread;

/// Ranks do nothing before they sleep.
const IDLE: fn() -> Result<(), Stop> = || Ok(());

/// A futex without a kernel: the value, and the sleepers on it with their masks. Every operation is one step that the checker
/// schedules; nothing else runs inside a step.
#[derive(Default)]
struct ModelWord {
    step: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    value: u32,
    sleepers: Vec<(mpsc::Sender<()>, u32)>,
}

impl ModelWord {
    fn step<T>(&self, action: impl FnOnce(&mut State) -> T) -> T {
        self.step.load(Ordering::SeqCst);
        action(&mut self.state.lock().unwrap())
    }
}

impl Word for ModelWord {
    fn load(&self) -> u32 {
        self.step(|state| state.value)
    }

    fn compare_exchange(&self, expected: u32, new: u32) -> bool {
        self.step(|state| {
            let equal = state.value == expected;
            if equal {
                state.value = new;
            }
            equal
        })
    }

    /// There is no timeout here: a lost wake shows as a deadlock.
    fn wait(&self, expected: u32, mask: u32) {
        let (alarm, bell) = mpsc::channel();
        let asleep = self.step(|state| {
            let equal = state.value == expected;
            if equal {
                state.sleepers.push((alarm, mask));
            }
            equal
        });
        if asleep {
            bell.recv().unwrap();
        }
    }

    fn wake(&self, mask: u32) {
        let woken: Vec<_> = self.step(|state| {
            let (woken, asleep) = std::mem::take(&mut state.sleepers)
                .into_iter()
                .partition(|(_, sleeper)| sleeper & mask != 0);
            state.sleepers = asleep;
            woken
        });
        for (alarm, _) in woken {
            alarm.send(()).unwrap();
        }
    }
}

fn protocol(slots: u32) -> Arc<Protocol<ModelWord>> {
    let word = ModelWord::default;
    let protocol =
        Protocol { released: word(), arrived: word(), generation: word(), reason: word() };
    protocol.set_slots(slots);
    Arc::new(protocol)
}

/// The life of every rank: take the turn, do the work, arrive, give the turn back, wait for the others. Meanwhile the number of
/// slots becomes `then`.
fn run(world: u32, slots: u32, then: Option<u32>, phases: u32) {
    let shared = protocol(slots);
    let most = then.unwrap_or(0).max(slots) as usize;
    let resident = Arc::new(AtomicUsize::new(0));
    let arrived = Arc::new(AtomicUsize::new(0));
    let ranks: Vec<_> = (0..world)
        .map(|rank| {
            let (shared, resident, arrived) = (shared.clone(), resident.clone(), arrived.clone());
            thread::spawn(move || {
                for phase in 0..phases {
                    let position = if phase % 2 == 0 { rank } else { world - 1 - rank };
                    shared.acquire(phase * world + position, |_| true, IDLE).unwrap();
                    assert!(resident.fetch_add(1, Ordering::SeqCst) < most);
                    arrived.fetch_add(1, Ordering::SeqCst);
                    let generation = shared.arrive(world);
                    resident.fetch_sub(1, Ordering::SeqCst);
                    shared.release();
                    shared.wait(generation, IDLE).unwrap();
                    let all = (phase + 1) * world;
                    assert!(
                        arrived.load(Ordering::SeqCst) >= all as usize,
                        "left a collective early"
                    );
                }
            })
        })
        .collect();
    if let Some(more) = then {
        shared.set_slots(more);
    }
    for rank in ranks {
        rank.join().unwrap();
    }
}

/// Ranks that work while the run is stopped: every one of them must come back.
fn run_with_stop(world: u32, slots: u32) {
    let shared = protocol(slots);
    let ranks: Vec<_> = (0..world)
        .map(|rank| {
            let shared = shared.clone();
            thread::spawn(move || {
                for phase in 0..2 {
                    // The last rank dies in the second phase: it never arrives and never gives its turn back.
                    if phase == 1 && rank == world - 1 {
                        return;
                    }
                    let position = if phase % 2 == 0 { rank } else { world - 1 - rank };
                    if let Err(stop) = shared.acquire(phase * world + position, |_| true, IDLE) {
                        assert_eq!(stop, Stop::Aborted);
                        return;
                    }
                    let generation = shared.arrive(world);
                    shared.release();
                    if shared.wait(generation, IDLE).is_err() {
                        return;
                    }
                }
                panic!("phase 1 completed without the dead rank");
            })
        })
        .collect();
    shared.stop(Stop::Aborted);
    shared.stop(Stop::Interrupted); // the first reason stays
    for rank in ranks {
        rank.join().unwrap();
    }
    assert_eq!(shared.stopped(), Some(Stop::Aborted));
}

/// Residents that claim what they want of a pool of `size`, pause by pause. What waiting ranks keep never exceeds it.
fn claim_side_by_side(size: u32, wants: &'static [&'static [u32]]) {
    let pool = Arc::new(Pool { claimed: ModelWord::default() });
    let kept = Arc::new(AtomicUsize::new(0));
    let ranks: Vec<_> = wants
        .iter()
        .map(|wants| {
            let (pool, kept) = (pool.clone(), kept.clone());
            thread::spawn(move || {
                let mut own = 0;
                for &want in *wants {
                    // In its turn a rank works in its own memory; what it waits with, it claims at the next pause.
                    kept.fetch_sub(own as usize, Ordering::SeqCst);
                    let room = pool.claim(u64::from(size), own, |left| left.min(u64::from(want)));
                    assert!(room <= want);
                    let all = kept.fetch_add(room as usize, Ordering::SeqCst) + room as usize;
                    assert!(all <= size as usize, "{all} KiB of {size} are kept");
                    let settled = room - room / 4;
                    kept.fetch_sub((room - settled) as usize, Ordering::SeqCst);
                    pool.settle(room, settled);
                    own = settled;
                }
            })
        })
        .collect();
    for rank in ranks {
        rank.join().unwrap();
    }
}

#[test]
fn no_two_residents_claim_the_same_bytes() {
    const ROUNDS: [&[u32]; 4] = [&[8, 4, 8], &[4, 8, 8], &[8, 8, 8], &[2, 4, 8]];
    shuttle::check_dfs(|| claim_side_by_side(8, &[&[8], &[8]]), None);
    shuttle::check_dfs(|| claim_side_by_side(8, &[&[6], &[5]]), None);
    shuttle::check_random(|| claim_side_by_side(12, &ROUNDS), 20_000);
    shuttle::check_pct(|| claim_side_by_side(12, &ROUNDS), 20_000, 3);
}

#[test]
fn every_schedule_of_two_ranks_at_the_lock() {
    // Depth first: all schedules, not a sample.
    shuttle::check_dfs(
        || {
            let shared = protocol(1);
            let other = shared.clone();
            let second = thread::spawn(move || {
                other.acquire(1, |_| true, IDLE).unwrap();
                other.release();
            });
            shared.acquire(0, |_| true, IDLE).unwrap();
            shared.release();
            second.join().unwrap();
        },
        None,
    );
}

#[test]
fn every_schedule_of_two_ranks_at_the_barrier() {
    shuttle::check_dfs(
        || {
            let shared = protocol(1);
            let other = shared.clone();
            let second = thread::spawn(move || other.wait(other.arrive(2), IDLE).unwrap());
            shared.wait(shared.arrive(2), IDLE).unwrap();
            second.join().unwrap();
        },
        None,
    );
}

#[test]
fn random_schedules_never_deadlock_or_exceed_the_slots() {
    for (world, slots) in [(2, 1), (3, 1), (3, 2), (4, 2), (4, 4)] {
        shuttle::check_random(move || run(world, slots, None, 3), 20_000);
        shuttle::check_pct(move || run(world, slots, None, 3), 20_000, 3);
    }
}

#[test]
fn slots_may_come_and_go_while_ranks_wait() {
    for (world, slots, then) in [(2, 1, 2), (3, 1, 2), (3, 2, 1), (4, 1, 3), (4, 3, 1)] {
        shuttle::check_random(move || run(world, slots, Some(then), 3), 20_000);
        shuttle::check_pct(move || run(world, slots, Some(then), 3), 20_000, 3);
    }
}

#[test]
fn a_stop_ends_every_wait() {
    for (world, slots) in [(2, 1), (3, 2), (4, 1)] {
        shuttle::check_random(move || run_with_stop(world, slots), 20_000);
        shuttle::check_pct(move || run_with_stop(world, slots), 20_000, 3);
    }
}
