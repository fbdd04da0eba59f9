//! Runs that are cut in several ways.

use crate::support::{Ran, run_all};
use privateer::engine::{Options, Shard, Share};
use privateer::env::DataFolder;
use privateer::run::thread_pool;
use privateer::spec::Sweep;
use privateer_backend::Cpu;

/// Runs a sweep on one thread; fails unless it has the same bits on each number of threads in batches of each size, and in two shards.
pub fn whole(what: &str, sweep: &Sweep, data: &DataFolder, cuts: &[(usize, Option<usize>)]) -> Ran {
    let run = |threads: usize, batch: Option<usize>, share: Share| {
        let pool = thread_pool(Some(threads)).expect("threads");
        let options = Options { batch, share, ..Options::default() };
        pool.install(|| run_all(sweep, data, &Cpu::default(), options)).expect("a run")
    };
    let whole = run(1, None, Share::All);
    for &(threads, batch) in cuts {
        assert_eq!(run(threads, batch, Share::All).bits(), whole.bits(), "{what}: {threads} threads, {batch:?}");
    }
    let [mut first, second] = [0, 1].map(|index| run(2, None, Share::Shard(Shard { index, count: 2 })));
    first.rows.extend(second.rows);
    assert_eq!(first.bits(), whole.bits(), "{what}: shards");
    whole
}
