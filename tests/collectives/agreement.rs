//! Check at the start of a run that the files and settings of all machines agree.

use std::time::Duration;

use sar::Error;
use sar::engine::comm::machines::{MachineFacts, agree};
use sar::words::error::ErrorRecord;

use super::in_process::InProcess;

type Brought = Result<MachineFacts, ErrorRecord>;

fn facts(own: &[usize]) -> MachineFacts {
    let version = "1".to_owned();
    let (start, own) = (String::new(), own.to_vec());
    MachineFacts { version, graph: 7, configuration: 8, start, partitions: 4, own }
}

/// Compares the facts; the result is the same on every machine.
fn agreed(brought: Vec<Brought>) -> Result<Vec<Vec<usize>>, String> {
    let ends = InProcess::all(brought.len(), Duration::ZERO);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads = ends.into_iter().zip(brought);
        let threads = threads.map(|(mut end, mine)| {
            scope.spawn(move || (agree(&mut end, mine).map_err(|e| e.to_string()), end))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let answers: Vec<_> = answers.into_iter().map(|(answer, _)| answer).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    answers[0].clone()
}

#[test]
fn machines_that_fit_together_learn_who_has_what() {
    let own: [&[usize]; 3] = [&[0, 3], &[1], &[2]];
    let all = agreed(own.map(|own| Ok(facts(own))).into());
    assert_eq!(all.unwrap(), own.map(<[usize]>::to_vec));
}

#[test]
fn what_does_not_fit_is_named() {
    let refused = |second: MachineFacts| agreed(vec![Ok(facts(&[0, 1])), Ok(second)]).unwrap_err();
    let error = refused(facts(&[3]));
    assert_eq!(error, "partition 2: is on none of the machines");
    let error = refused(facts(&[1, 2, 3]));
    assert_eq!(error, "partition 1: is on machine 0 and on machine 1");
    let elsewhere = agreed(vec![Ok(facts(&[1, 2, 3])), Ok(facts(&[0]))]).unwrap_err();
    assert_eq!(elsewhere, "partition 0: is on machine 1, but the first machine must have it");
    assert_eq!(refused(facts(&[])), "machine 1: has no partition to work on");
    let error = refused(MachineFacts { version: "2".to_owned(), ..facts(&[2, 3]) });
    assert_eq!(error, "machines 0 and 1: differ in version: 1 and 2");
    let error = refused(MachineFacts { graph: 1, ..facts(&[2, 3]) });
    assert_eq!(error, "machines 0 and 1: differ in the partition directory's JSON file");
    let error = refused(MachineFacts { configuration: 1, ..facts(&[2, 3]) });
    assert_eq!(error, "machines 0 and 1: differ in configuration");
    let error = refused(MachineFacts { start: "crc".to_owned(), ..facts(&[2, 3]) });
    let differ = "machines 0 and 1: differ in the checkpoint, or the weights, that they begin with";
    assert_eq!(error, differ);
    let trouble = ErrorRecord::from(&Error::interrupted());
    let mut alone = InProcess::all(2, Duration::ZERO).remove(0);
    let own = agree(&mut alone, Err((&Error::aborted()).into())).unwrap_err();
    assert!(own.to_string().starts_with("machine 0: "), "{own}");
    assert_eq!(agreed(vec![Ok(facts(&[0])), Err(trouble)]).unwrap_err(), "interrupted");
}
