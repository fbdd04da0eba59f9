//! Numbers the plays of a product domain, whose points cannot be listed.

use privateer_numerics::rng::Stream;
use std::collections::BTreeMap;
use std::ops::Range;

/// Numbers the plays of one trial in the order of their first round.
pub struct Plays {
    /// The row range of each axis.
    axes: Vec<Range<usize>>,
    numbers: BTreeMap<Vec<u32>, usize>,
}

impl Plays {
    /// Creates an empty numbering; `axes` are the row ranges of the axes.
    pub fn new(axes: Vec<Range<usize>>) -> Self {
        Self { axes, numbers: BTreeMap::new() }
    }

    /// Returns the number of these rows, one of each axis, and whether it is new.
    pub fn number(&mut self, rows: &[u32]) -> (usize, bool) {
        if let Some(&number) = self.numbers.get(rows) {
            return (number, false);
        }
        let number = self.numbers.len();
        self.numbers.insert(rows.to_vec(), number);
        (number, true)
    }

    /// Draws a uniformly random play; takes one word per axis.
    pub fn random(&self, stream: &mut Stream) -> Vec<u32> {
        self.axes.iter().map(|rows| (rows.start + stream.index(rows.len())) as u32).collect()
    }
}
