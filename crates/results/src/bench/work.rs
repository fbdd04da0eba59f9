//! Counts the operations of a round as if every point were scored.

use privateer_backend::UpdateKind;
use privateer_config::error::Error;
use privateer_engine::engine::Preparation;
use privateer_engine::spec::{Sweep, Task};
use privateer_gp::score::Basis;

/// Operations and bytes of a trial-round of the plain algorithm, which scores every point over its features.
///
/// Programs that skip points do less; the counts make their rates comparable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Operations, two for a multiply-add.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

impl Work {
    /// Returns the mean over the trial-rounds of a sweep; `None` unless every policy scores over features.
    pub fn of(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Option<Self>, Error> {
        let (mut sum, mut rounds) = (Self { flops: 0.0, bytes: 0.0 }, 0.0);
        for plan in sweep.cells.iter() {
            let Task::Bandit(_) = plan.task else { return Ok(None) };
            let cell = preparation.cell(plan)?;
            let Some(Basis::Table(table)) = cell.maker.basis() else { return Ok(None) };
            let (n, m) = (table.n_points as f64, table.n_features as f64);
            // Models of rank-one updates read a row of features a point; whole factors a triangle of products a point.
            let (flops, bytes) = match cell.update_kind() {
                UpdateKind::RankOne => (2.0 * n * m + 6.0 * n + 4.0 * m * m, 8.0 * n * m + 16.0 * m * m),
                UpdateKind::Full => (n * m * m + 4.0 * n * m + 2.0 * m * m * m / 3.0, 8.0 * n * m + 24.0 * m * m),
            };
            let share = plan.rounds as f64;
            sum.flops += share * flops;
            sum.bytes += share * bytes;
            rounds += share;
        }
        Ok((0.0 < rounds).then(|| Self { flops: sum.flops / rounds, bytes: sum.bytes / rounds }))
    }
}
