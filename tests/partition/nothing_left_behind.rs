//! Guards against: half a directory, temporary files or empty folders after an error or Ctrl-C.

use sar::prepare::import::ImportSource;
use sar::prepare::partition::partition_graph;
use sar::{Error, ErrorKind};

use super::support::{edges, request, scattered, write};

#[test]
fn work_that_is_stopped_at_any_point_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", &scattered(300, 3000));
    let source = ImportSource::Files(edges(&path));
    let request = request(3);
    let mut calls = 0;
    partition_graph(&source, &request, &folder.path().join("whole"), &mut |_| {
        calls += 1;
        Ok(())
    })
    .unwrap();
    assert!(calls > 8, "{calls}");
    for stop in 0..calls {
        let mut left = stop;
        let stopped =
            partition_graph(&source, &request, &folder.path().join("new/folder"), &mut |_| {
                if left == 0 {
                    return Err(Error::interrupted());
                }
                left -= 1;
                Ok(())
            });
        let kind = stopped.as_ref().err().map(Error::kind);
        assert_eq!(kind, Some(ErrorKind::Interrupted), "stopped at {stop}: {stopped:?}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 2, "stopped at {stop}");
    }
}
