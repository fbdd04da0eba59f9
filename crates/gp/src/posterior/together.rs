//! Computes the factors of several models from sums together, eight interleaved trials at a time, with equal bits.

use super::sums::{SumsPosterior, SumsUpdate, Unusable};
use privateer_numerics::linalg::{Eight, LANES, TILE, TriangleSums, factor_eight, interleave_upper, place, separate_lower};
use std::cell::RefCell;

/// Fewest models that are interleaved: fewer leave too many SIMD lanes unused.
const LEAST: usize = 3;

/// Scratch memory, one per thread, so that it stays in the nearest caches.
#[derive(Debug, Default)]
struct Interleaved {
    /// `V`, then its upper factor.
    upper: Vec<Eight>,
    pivots: Vec<Eight>,
    inverses: Vec<Eight>,
    rows: Vec<Eight>,
    weights: Vec<Eight>,
}

thread_local! {
    static SCRATCH: RefCell<Interleaved> = RefCell::default();
}

/// Holds the results of several models.
#[derive(Debug)]
pub struct MadeTogether {
    /// What [`SumsPosterior::take`] returns, for each model.
    pub results: Vec<Result<bool, Unusable>>,
    /// Number of models whose factors were interleaved.
    pub together: u64,
}

/// Sets the sums of several models, as [`SumsPosterior::take`] does of each, bit by bit.
pub fn take_together(models: &mut [(&mut SumsPosterior, SumsUpdate<'_>)]) -> MadeTogether {
    let (mut results, mut together) = (Vec::with_capacity(models.len()), 0);
    for models in models.chunks_mut(LANES) {
        let n = models[0].1.moment.len();
        let suits = |sums: &SumsUpdate<'_>| sums.moment.len() == n && !sums.repair.always;
        let made = if LEAST <= models.len() && models.iter().all(|(_, sums)| suits(sums)) {
            SCRATCH.with_borrow_mut(|scratch| scratch.take(n, models))
        } else {
            [None; LANES]
        };
        for ((model, sums), made) in models.iter_mut().zip(made) {
            together += u64::from(made.is_some());
            results.push(match made {
                Some(row_sums) => model.finish(&row_sums).map(|()| false),
                // A model whose eigenvalues need a repair is computed alone, its rows too.
                None => model.take(*sums),
            });
        }
    }
    MadeTogether { results, together }
}

impl Interleaved {
    /// Writes weights and diagonal of each model with a positive definite `V`, and the rows of all.
    ///
    /// Returns the sums of the rows; `None` where `V` is not positive definite: the rows then mean nothing until
    /// [`SumsPosterior::take`] makes them.
    fn take(&mut self, n: usize, models: &mut [(&mut SumsPosterior, SumsUpdate<'_>)]) -> [Option<TriangleSums>; LANES] {
        let padded = n.next_multiple_of(TILE);
        let Self { upper, pivots, inverses, rows, weights } = self;
        upper.resize(padded * padded, Eight::ZERO);
        rows.resize(padded * padded, Eight::ZERO);
        pivots.resize(padded, Eight::ZERO);
        inverses.resize(padded, Eight::ZERO);
        // An unused lane repeats the last model.
        let of = |lane: usize| lane.min(models.len() - 1);
        let grams: [&[f64]; LANES] = std::array::from_fn(|lane| &models[of(lane)].1.gram[..n * (n + 1) / 2]);
        let moments: [&[f64]; LANES] = std::array::from_fn(|lane| &models[of(lane)].1.moment[..n]);
        interleave_upper(grams, n, padded, upper);
        for i in 0..n {
            let diagonal = &mut upper[place(padded, i, i)].0;
            diagonal.iter_mut().enumerate().for_each(|(lane, entry)| *entry += models[of(lane)].1.diagonal);
        }
        // The identity beyond the last row.
        for i in n..padded {
            for j in 0..=i {
                upper[place(padded, j, i)] = Eight([if i == j { 1.0 } else { 0.0 }; LANES]);
            }
        }
        let scale = Eight(std::array::from_fn(|lane| models[of(lane)].0.row_scale()));
        weights.clear();
        weights.extend((0..n).map(|i| Eight(moments.map(|moment| moment[i]))));
        factor_eight(upper, pivots, inverses, scale, rows, weights);
        let positive: [bool; LANES] = std::array::from_fn(|lane| {
            lane < models.len() && pivots[..n].iter().all(|pivot| 0.0 < pivot.0[lane] && pivot.0[lane].is_finite())
        });
        for (lane, (model, _)) in models.iter_mut().enumerate().filter(|(lane, _)| positive[*lane]) {
            model.weights.iter_mut().zip(&*weights).for_each(|(to, weight)| *to = weight.0[lane]);
            model.diagonal.iter_mut().enumerate().for_each(|(i, entry)| *entry = upper[place(padded, i, i)].0[lane]);
        }
        let mut out: Vec<&mut [f64]> = models.iter_mut().map(|(model, _)| &mut model.rows[..]).collect();
        let sums = separate_lower(rows, n, padded, &mut out);
        std::array::from_fn(|lane| positive[lane].then_some(sums[lane]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Repair;
    use super::*;
    use crate::score::{FeatureTable, ScoreModel};
    use privateer_numerics::rng::{Purpose, Streams};
    use std::sync::Arc;

    /// Raising eigenvalues always is no repair, whatever is raised.
    #[test]
    fn what_is_raised_always_is_not_repaired() {
        let table = FeatureTable {
            n_points: 1,
            n_features: 2,
            values: vec![1.0, 0.5],
            residual: vec![0.0],
            kernel_error: 0.0,
            form: None,
        };
        let mut model = SumsPosterior::new(Arc::new(table), 2.0, 1.0, 0.3);
        let mut take = |always| {
            let repair = Repair { always, floor: 0.1 };
            let made = model.take(SumsUpdate { gram: &[1.0, 0.0, -1.0], moment: &[0.0; 2], diagonal: 0.3, repair });
            (made, model.log_determinant().to_bits())
        };
        let (always, sometimes) = (take(true), take(false));
        assert_eq!((always.0, sometimes.0), (Ok(false), Ok(true)));
        assert_eq!(always.1, sometimes.1);
    }

    /// Models in any number, one of them indefinite, have the bits of models alone.
    #[test]
    fn models_together_are_those_alone() {
        for (n, count) in [(1, 3), (6, 8), (13, 11), (20, 2)] {
            let mut stream = Streams::new(5, "together").of(n as u64, Purpose::Function);
            let values = (0..3 * n).map(|_| stream.normal()).collect();
            let table =
                FeatureTable { n_points: 3, n_features: n, values, residual: vec![0.0; 3], kernel_error: 0.0, form: None };
            let model = SumsPosterior::new(Arc::new(table), 9.0, 0.5, 0.3);
            let entries = n * (n + 1) / 2;
            let draws: Vec<Vec<f64>> = (0..count).map(|_| (0..entries + n).map(|_| stream.normal()).collect()).collect();
            let repair = Repair { always: false, floor: 0.1 };
            let sums = |i: usize| {
                let (gram, moment) = draws[i].split_at(entries);
                SumsUpdate { gram, moment, diagonal: if i == 1 { -3.0 } else { 4.0 * n as f64 }, repair }
            };
            let mut together = vec![model.clone(); count];
            let mut models: Vec<_> = together.iter_mut().enumerate().map(|(i, model)| (model, sums(i))).collect();
            let made = take_together(&mut models);
            assert_eq!(made.together, if count < LEAST { 0 } else { count as u64 - 1 }, "{n}");
            for (i, (found, result)) in together.iter().zip(made.results).enumerate() {
                let mut alone = model.clone();
                assert_eq!(alone.take(sums(i)), result, "{n}: {i}");
                assert_eq!(result, Ok(i == 1), "{n}: {i}");
                assert_eq!(alone.factor(), found.factor(), "{n}: {i}");
                assert_eq!(alone.log_determinant().to_bits(), found.log_determinant().to_bits());
                assert_eq!((alone.exact(2), alone.state_error()), (found.exact(2), found.state_error()));
            }
        }
    }
}
