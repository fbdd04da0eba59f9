//! Numbers the plays of a product domain, whose points cannot be listed.

use privateer_gp::ProductDomain;
use privateer_numerics::rng::Stream;
use std::collections::BTreeMap;
use std::ops::Range;

/// Numbers the plays of one trial in the order of their first round.
pub(super) struct Plays {
    axes: Vec<Range<usize>>,
    numbers: BTreeMap<Vec<u32>, usize>,
    /// The rows of a play that its function has not defined so far.
    pub(super) newest: Option<Vec<u32>>,
}

impl Plays {
    pub(super) fn of(product: &ProductDomain) -> Self {
        let axes = (0..product.dimension()).map(|axis| product.rows(axis)).collect();
        Self { axes, numbers: BTreeMap::new(), newest: None }
    }

    /// Returns the number of these rows, one of each axis, and whether it is new.
    pub(super) fn number(&mut self, rows: &[u32]) -> (usize, bool) {
        if let Some(&number) = self.numbers.get(rows) {
            return (number, false);
        }
        let number = self.numbers.len();
        self.numbers.insert(rows.to_vec(), number);
        self.newest = Some(rows.to_vec());
        (number, true)
    }

    /// Draws a uniformly random play; takes one word per axis.
    pub(super) fn random(&self, stream: &mut Stream) -> Vec<u32> {
        self.axes.iter().map(|rows| (rows.start + stream.index(rows.len())) as u32).collect()
    }
}
