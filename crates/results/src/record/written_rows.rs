//! Keeps the rows of small parts that a run has written, so that its report need not decode them again.

use super::{Manifest, PartId, Trace};
use std::collections::BTreeMap;

/// Most memory of all rows, in bytes; beyond it a report reads the parts.
const MOST_BYTES: usize = 1 << 24;
/// Memory of a cell beside its rows: a dozen small allocations.
const CELL_BYTES: usize = 512;

/// Holds the rows of the parts that a run has written, or none if they are too many.
#[derive(Debug, Default)]
pub struct WrittenRows {
    by_part: BTreeMap<PartId, Vec<Trace>>,
    n_bytes: usize,
}

impl WrittenRows {
    /// Adds the rows of each cell of a part that was written.
    pub fn add(&mut self, id: PartId, rows: Vec<Trace>) {
        let n_bytes = rows.iter().map(|rows| CELL_BYTES + rows.n_bytes()).fold(0, usize::saturating_add);
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        if self.n_bytes <= MOST_BYTES {
            self.by_part.insert(id, rows);
        } else {
            self.by_part.clear();
        }
    }

    /// Returns whether these are the rows of all parts of a sweep.
    pub fn are_of_all(&self, manifest: &Manifest) -> bool {
        self.by_part.len() == manifest.parts().len() && manifest.parts().all(|id| self.by_part.contains_key(&id))
    }

    /// Takes the rows of a part out.
    pub fn take(&mut self, id: PartId) -> Option<Vec<Trace>> {
        self.by_part.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::tests::rows;
    use super::*;

    #[test]
    fn large_rows_are_not_kept() {
        let (small, large) = (rows(0..1, 10, |_, _| 1.0), rows(0..100, 3000, |_, _| 1.0));
        let id = |block| PartId { cell: 0, block };
        let mut written = WrittenRows::default();
        written.add(id(0), vec![small.clone()]);
        assert_eq!(written.take(id(0)), Some(vec![small.clone()]));
        written.add(id(0), vec![small.clone()]);
        assert!(MOST_BYTES < large.n_bytes());
        for (block, rows) in [(1, large), (2, small)] {
            written.add(id(block), vec![rows]);
            assert!((0..3).all(|block| written.take(id(block)).is_none()));
        }
    }
}
