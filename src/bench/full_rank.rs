//! The linear model whose precision matrix is new in every entry every round, vectorised over up to sixteen trials.

use super::columns::{BenchColumns, BenchForm, forms};
use super::formed::Formed;
use super::tree;
use privateer_config::error::Error;
use privateer_gp::score::{
    self, Candidates, Factor, FactorLanes, FeatureTable, LaneNorms, Moments, ScoreModel, Sixteen, VarianceForm,
};
use privateer_numerics::linalg::{Eight, Factorize, Invert, LANES, NotPositive, TILE, dot, narrow_place, place};
use privateer_numerics::rng::{Purpose, StreamLanes, Streams};
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// Trials of a [`FullRank`].
pub const TRIALS: usize = score::LANES;

// Two halves of vectors in f64 are one in f32.
const _: () = assert!(TRIALS == 2 * LANES);

/// Largest number of candidates of a trial that are scored together with those of other trials.
const FORESEEN: usize = 8;

/// Numbers that are drawn at once: rows of a matrix until they are as many.
const DRAWN: usize = 256;

/// What all trials share.
#[derive(Debug, Clone)]
pub struct Common {
    /// The features.
    pub table: Arc<FeatureTable>,
    /// A bound on `|phi|²` and what is beyond features.
    pub prior_bound: f64,
    /// `ridge`.
    pub ridge: f64,
    /// Standard deviation of an off-diagonal entry of a tree node.
    pub node_std: f64,
    /// Rounds after the first observation.
    pub rounds: usize,
}

/// Up to sixteen trials in a row. Of each, with `G = sum phi phi^T` and the tree's noise `E`: `V = G + E + (shift + ridge) I`,
/// `theta = V^{-1} sum y phi`, `mean = theta · phi`, `variance = ridge phi^T V^{-1} phi = |R phi|²` with `R = sqrt(ridge) L^{-1}`, `V = L L^T`.
#[derive(Debug)]
pub struct FullRank {
    common: Common,
    /// Trials in use.
    trials: usize,
    n_observations: u64,
    halves: Vec<Half>,
    /// What screens take, see [`FactorLanes`].
    rows: Vec<Sixteen>,
    weights: Vec<Sixteen>,
    norms: [LaneNorms; TRIALS],
    /// Bounds on `|R|_F`.
    sizes: [f64; TRIALS],
    /// Forms at the candidates of trials that have several, made at once, see [`FullRank::foresee`].
    foreseen: OnceLock<Vec<Vec<(u32, f64)>>>,
}

/// Eight trials.
#[derive(Debug)]
struct Half {
    stream: StreamLanes,
    /// The points of each observation.
    history: Vec<[u32; LANES]>,
    /// `V` after update `k` in the slot of `k`'s lowest set bit, upper triangles packed row by row. With `p` = `k` less that bit, `V_k` is
    /// `V_p`, one node of the tree and the observations since: one draw, one read and one write. Of odd `k` nothing is read again.
    slots: Vec<Vec<Eight>>,
    /// `V_0`: `ridge + shift` on the diagonal.
    nothing: Vec<Eight>,
    /// `sum y phi`.
    moment: Vec<Eight>,
    /// `R`.
    rows: Vec<Eight>,
    weights: Vec<Eight>,
    squares: Eight,
}

/// What a round of eight trials leaves behind for nobody: one a thread, so that it stays in the nearest caches.
#[derive(Debug, Default)]
struct FullRankScratch {
    /// `V`, then its upper factor.
    upper: Vec<Eight>,
    pivots: Vec<Eight>,
    inverses: Vec<Eight>,
    /// Features of the observations since, one after another.
    since: Vec<Eight>,
    draws: Vec<f64>,
}

thread_local! {
    static SCRATCH: RefCell<FullRankScratch> = RefCell::default();
}

impl FullRank {
    /// Trials `first .. first + starts.len()` after an observation each.
    ///
    /// # Errors
    /// As [`FullRank::observe`].
    pub fn new(common: Common, streams: &Streams, first: usize, starts: &[usize], rewards: &[f64]) -> Result<Self, Error> {
        let n = common.table.n_features;
        let padded = n.next_multiple_of(TILE);
        let diagonal = common.ridge + tree::shift(common.rounds, n, common.node_std);
        let mut nothing = vec![Eight::ZERO; n * (n + 1) / 2];
        let mut at = 0;
        for row in 0..n {
            nothing[at] = Eight([diagonal; LANES]);
            at += n - row;
        }
        let half = |half: usize| Half {
            nothing: nothing.clone(),
            stream: streams.lanes((first + half * LANES) as u64, Purpose::Mechanism("tree")),
            history: Vec::new(),
            slots: Vec::new(),
            moment: vec![Eight::ZERO; padded],
            rows: vec![Eight::ZERO; padded * padded],
            weights: vec![Eight::ZERO; padded],
            squares: Eight::ZERO,
        };
        let mut made = Self {
            trials: starts.len(),
            n_observations: 0,
            halves: (0..starts.len().div_ceil(LANES)).map(half).collect(),
            rows: vec![Sixteen::ZERO; narrow_place(padded / TILE)],
            weights: vec![Sixteen::ZERO; n],
            norms: [LaneNorms::default(); TRIALS],
            sizes: [0.0; TRIALS],
            foreseen: OnceLock::new(),
            common,
        };
        made.observe(starts, rewards)?;
        Ok(made)
    }

    /// Number of trials.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// Adds an observation of each trial and draws the noise of the round.
    ///
    /// # Errors
    /// [`Error::Failed`] if the noise leaves a precision matrix indefinite.
    pub fn observe(&mut self, points: &[usize], rewards: &[f64]) -> Result<(), Error> {
        self.n_observations += 1;
        self.foreseen.take();
        for (number, half) in self.halves.iter_mut().enumerate() {
            // Lanes beyond the last trial play along.
            let (mut played, mut earned) = ([0; LANES], [0.0; LANES]);
            let from = number * LANES;
            for (lane, (&point, &reward)) in points[from..].iter().zip(&rewards[from..]).take(LANES).enumerate() {
                (played[lane], earned[lane]) = (point as u32, reward);
            }
            half.history.push(played);
            let used = (self.trials - from).min(LANES);
            let made = SCRATCH.with_borrow_mut(|scratch| {
                half.form(&self.common, scratch, earned);
                half.factor(&self.common, scratch, &mut self.rows, number, used)
            });
            let norms = made.map_err(|refused| Error::Failed {
                problem: format!("after {} observations {refused}", self.n_observations),
                hint: "lower `--node-std` or raise `--ridge`: the noise has overcome the shift that keeps the matrix positive"
                    .to_owned(),
            })?;
            let sums = half.weights.iter().fold([0.0; LANES], |mut sums, weight| {
                sums.iter_mut().zip(&weight.0).for_each(|(sum, weight)| *sum += weight * weight);
                sums
            });
            // Sums of squares in f64: their own rounding is far below this.
            for (lane, (weights, rows)) in sums.iter().zip(&half.squares.0).enumerate() {
                self.sizes[from + lane] = rows.sqrt() * (1.0 + 1e-9);
                self.norms[from + lane] = LaneNorms { weights: weights.sqrt() * (1.0 + 1e-9), ..norms[lane] };
            }
            for (to, weight) in self.weights.iter_mut().zip(&half.weights) {
                to.0[from..from + LANES].iter_mut().zip(&weight.0).for_each(|(to, &weight)| *to = weight as f32);
            }
        }
        Ok(())
    }

    /// The answers of a screen: what decisions will ask for, all trials of a half in one pass over its factors.
    pub fn foresee(&self, answers: &[Candidates]) {
        self.foreseen.get_or_init(|| {
            let table = &self.common.table;
            let mut foreseen = Vec::with_capacity(answers.len());
            for (half, answers) in self.halves.iter().zip(answers.chunks(LANES)) {
                // Of more points a trial's columns are better taken out.
                let few = |answer: &&Candidates| (2..=FORESEEN).contains(&answer.points.len());
                let of = |lane: usize| answers.get(lane).filter(few).map_or(&[][..], |answer| &answer.points);
                let points: [&[u32]; LANES] = std::array::from_fn(of);
                let forms = forms(&half.rows, table.n_features, points, |point| table.row(point as usize));
                let pairs = points.iter().zip(forms).map(|(points, forms)| points.iter().copied().zip(forms).collect());
                foreseen.extend(pairs);
            }
            foreseen
        });
    }

    /// The model of a trial, by its place.
    pub fn model(&self, lane: usize) -> Model<'_> {
        Model { of: self, lane, rows: OnceLock::new(), columns: OnceLock::new(), exact_weights: OnceLock::new() }
    }
}

impl Half {
    /// `V` after the newest observation.
    fn form(&mut self, common: &Common, scratch: &mut FullRankScratch, rewards: [f64; LANES]) {
        let n = common.table.n_features;
        let padded = n.next_multiple_of(TILE);
        let FullRankScratch { upper: whole, pivots, inverses, since, draws } = scratch;
        whole.resize(padded * padded, Eight::ZERO);
        pivots.resize(padded, Eight::ZERO);
        inverses.resize(padded, Eight::ZERO);
        let k = self.history.len();
        let (level, parent) = (k.trailing_zeros() as usize, k & (k - 1));
        since.clear();
        for played in &self.history[parent..] {
            let rows = played.map(|point| common.table.row(point as usize));
            since.extend((0..n).map(|i| Eight(std::array::from_fn(|lane| rows[lane][i]))));
        }
        for (moment, phi) in self.moment.iter_mut().zip(&since[(k - parent - 1) * n..]) {
            moment.0.iter_mut().zip(&phi.0).zip(&rewards).for_each(|((moment, phi), reward)| *moment += reward * phi);
        }
        self.slots.resize((level + 1).max(self.slots.len()), Vec::new());
        let (lower, upper) = self.slots.split_at_mut(level + 1);
        let slot = &mut lower[level];
        if 0 < level {
            slot.resize(n * (n + 1) / 2, Eight::ZERO);
        }
        // The parent's lowest set bit is above that of the update; before the first update is `diagonal I`.
        let parent = match parent {
            0 => &self.nothing[..],
            _ => &upper[parent.trailing_zeros() as usize - level - 1][..],
        };
        let since: Vec<&[Eight]> = since.chunks_exact(n.max(1)).collect();
        let (mut first, mut at) = (0, 0);
        while first < n {
            let (mut end, mut drawn) = (first, 0);
            while end < n && drawn < DRAWN {
                drawn += n - end;
                end += 1;
            }
            draws.resize(drawn * LANES, 0.0);
            // What the sums need comes from afar while numbers are drawn.
            let (parent, mut slot) = (&parent[at..at + drawn], slot.get_mut(at..at + drawn));
            let mut near = 0;
            self.stream.normals_beside(draws, |entry| {
                near ^= parent[entry].0[0].to_bits();
                if let Some(slot) = &slot {
                    near ^= slot[entry].0[0].to_bits();
                }
            });
            std::hint::black_box(near);
            let mut on_diagonal = 0;
            for row in first..end {
                draws[on_diagonal * LANES..][..LANES].iter_mut().for_each(|draw| *draw *= std::f64::consts::SQRT_2);
                on_diagonal += n - row;
            }
            pulp::Arch::new().dispatch(Formed {
                draws,
                parent,
                slot: slot.take(),
                since: &since,
                rows: first..end,
                n,
                padded,
                node_std: common.node_std,
                upper: whole,
            });
            (first, at) = (end, at + drawn);
        }
        // The identity beyond the last row.
        for i in n..padded {
            for j in 0..=i {
                whole[place(padded, j, i)] = Eight([if i == j { 1.0 } else { 0.0 }; LANES]);
            }
        }
    }

    /// Factor, inverse and weights of `V`.
    fn factor(
        &mut self,
        common: &Common,
        scratch: &mut FullRankScratch,
        narrow: &mut [Sixteen],
        half: usize,
        used: usize,
    ) -> Result<[LaneNorms; LANES], NotPositive> {
        let n = common.table.n_features;
        let arch = pulp::Arch::new();
        let FullRankScratch { upper, pivots, inverses, .. } = scratch;
        arch.dispatch(Factorize { a: upper, pivots, inverses });
        for (row, pivots) in pivots.iter().enumerate() {
            if let Some(&pivot) = pivots.0[..used].iter().find(|&&pivot| !(0.0 < pivot && pivot.is_finite())) {
                return Err(NotPositive { row, pivot });
            }
        }
        arch.dispatch(Invert {
            u: upper,
            inverses,
            scale: common.ridge.sqrt(),
            n,
            moment: &self.moment,
            rows: &mut self.rows,
            weights: &mut self.weights,
            squares: &mut self.squares,
            narrow,
            half,
        });
        self.weights.iter_mut().flat_map(|weight| &mut weight.0).for_each(|weight| *weight /= common.ridge);
        Ok(centred(&inverses[..n], common.ridge.sqrt(), &self.squares))
    }
}

/// Norms about the mean `s` of the diagonal of `R = scale U^{-T}`, from the inverses of that of `U` and the squares of `R`: with `N = R - s I`,
/// `|N|_F² = |R|_F² - 2 s tr R + n s²`, and `R^T R - s² I = s (N + N^T) + N^T N`, where `|N + N^T|_F² = 2 |N|_F² + 2 |diag N|²` as `N` is triangular.
/// About zero where that says less.
fn centred(inverses: &[Eight], scale: f64, squares: &Eight) -> [LaneNorms; LANES] {
    let n = inverses.len() as f64;
    let mut traces = [0.0; LANES];
    for inverse in inverses {
        traces.iter_mut().zip(&inverse.0).for_each(|(trace, inverse)| *trace += scale * inverse);
    }
    let centres = traces.map(|trace| trace / n.max(1.0));
    let mut diagonals = [0.0; LANES];
    for inverse in inverses {
        for ((sum, inverse), centre) in diagonals.iter_mut().zip(&inverse.0).zip(&centres) {
            *sum += (scale * inverse - centre) * (scale * inverse - centre);
        }
    }
    std::array::from_fn(|lane| {
        let (centre, square, trace) = (centres[lane], squares.0[lane], traces[lane]);
        // Each of the three is at most twice the square, and sums of `n²` numbers carry `n² u` of theirs.
        let rounded = 4.0 * (n * n + 8.0) * f64::EPSILON * square;
        let about = (square - 2.0 * centre * trace + n * centre * centre).max(0.0) + rounded;
        let form = (centre * (2.0 * (about + diagonals[lane])).sqrt() + about) * (1.0 + 1e-9);
        if form < square {
            LaneNorms { centre, rows: about.sqrt() * (1.0 + 1e-9), form, weights: 0.0 }
        } else {
            LaneNorms { centre: 0.0, rows: square.sqrt() * (1.0 + 1e-9), form: square * (1.0 + 1e-9), weights: 0.0 }
        }
    })
}

/// One trial of a [`FullRank`].
#[derive(Debug)]
pub struct Model<'a> {
    of: &'a FullRank,
    lane: usize,
    /// `R`, row-major, made where a screen asks for it.
    rows: OnceLock<Vec<f64>>,
    /// Its columns and the weights, made where exact scores are asked for.
    columns: OnceLock<BenchColumns>,
    exact_weights: OnceLock<Vec<f64>>,
}

impl Model<'_> {
    fn half(&self) -> (&Half, usize) {
        (&self.of.halves[self.lane / LANES], self.lane % LANES)
    }

    fn rows(&self) -> &[f64] {
        self.rows.get_or_init(|| {
            let (half, lane) = self.half();
            let n = self.of.weights.len();
            let mut rows = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    rows[i * n + j] = half.rows[place(n.next_multiple_of(TILE), i, j)].0[lane];
                }
            }
            rows
        })
    }

    fn columns(&self) -> &BenchColumns {
        self.columns.get_or_init(|| {
            let (half, lane) = self.half();
            BenchColumns::of(&half.rows, lane, self.of.weights.len())
        })
    }

    fn weights(&self) -> Vec<f64> {
        let (half, lane) = self.half();
        half.weights[..self.of.weights.len()].iter().map(|weight| weight.0[lane]).collect()
    }
}

impl ScoreModel for Model<'_> {
    fn exact(&self, point: usize) -> Moments {
        let phi = self.of.common.table.row(point);
        let foreseen = self.of.foreseen.get().and_then(|all| all.get(self.lane));
        let known = foreseen.and_then(|known| known.iter().find(|(known, _)| *known as usize == point));
        let form =
            known.map_or_else(|| pulp::Arch::new().dispatch(BenchForm { columns: self.columns(), phi }), |&(_, form)| form);
        let weights = self.exact_weights.get_or_init(|| self.weights());
        Moments { mean: dot(weights, phi), variance: self.of.common.table.residual[point] + form }
    }

    fn prior_variance_bound(&self) -> f64 {
        self.of.common.prior_bound
    }

    /// Bounds on the distance of [`ScoreModel::exact`] from the exact value of the factor: sums of up to `n` products carry
    /// `(n + 8) u` of the product of the norms, taken four times for safety. With `|phi|² <= prior`, `|R phi|_i <= |R_i| |phi|`.
    fn state_error(&self) -> Moments {
        let share = 4.0 * (self.of.weights.len() as f64 + 8.0) * f64::EPSILON / 2.0;
        let (rows, weights) = (self.of.sizes[self.lane], self.of.norms[self.lane].weights);
        let prior = self.of.common.prior_bound;
        Moments { mean: share * weights * prior.sqrt(), variance: 3.0 * share * rows * rows * prior }
    }

    fn basis_points(&self) -> &[u32] {
        &[]
    }

    fn n_observations(&self) -> u64 {
        self.of.n_observations
    }

    fn factor(&self) -> Option<Factor<'_>> {
        Some(Factor { weights: Cow::Owned(self.weights()), rows: Cow::Borrowed(self.rows()), variance: VarianceForm::Added })
    }

    fn lanes(&self) -> Option<(FactorLanes<'_>, usize)> {
        let FullRank { rows, weights, norms, .. } = self.of;
        Some((FactorLanes { n_features: weights.len(), rows, weights, norms }, self.lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{BenchInstance, Job, Size, Workload};

    /// A trial does not depend on its neighbours nor on its place, to the last bit.
    #[test]
    fn a_trial_is_the_same_in_every_lane() {
        let job = Job { points: 60, features: 36, trials: 11, ..Job::standard(Workload::FullRank, Size::Small) };
        let instance = BenchInstance::draw(&job);
        let common = Common { table: Arc::clone(&instance.table), prior_bound: 1.1, ridge: 0.3, node_std: 0.05, rounds: 9 };
        let streams = Streams::new(1, "lanes");
        let team = |first: usize, trials: usize| {
            let at = |round: usize| (first..first + trials).map(move |trial| (7 * trial + round) % 60).collect::<Vec<_>>();
            let rewards: Vec<f64> = (first..first + trials).map(|trial| trial as f64 - 3.0).collect();
            let mut team = FullRank::new(common.clone(), &streams, first, &at(0), &rewards).expect("positive");
            (1..9).for_each(|round| team.observe(&at(round), &rewards).expect("positive"));
            team
        };
        let all = team(0, 11);
        for trial in 0..11 {
            let alone = team(trial, 1);
            assert_eq!(alone.model(0).factor(), all.model(trial).factor(), "{trial}");
            let (one, many) = (alone.model(0), all.model(trial));
            assert_eq!(one.exact(5), many.exact(5));
            // What is rounded is that factor.
            let ((found, lane), factor) = (many.lanes().expect("lanes"), many.factor().expect("a factor"));
            for i in 0..36 {
                assert_eq!(found.weights[i].0[lane], factor.weights[i] as f32);
                for j in 0..=i {
                    let entry = found.rows[narrow_place(i / TILE) + TILE * j + i % TILE].0[lane];
                    assert_eq!(entry, factor.rows[i * 36 + j] as f32, "{i} {j}");
                }
            }
            // Bounds that are close where they say what they bound, and within a factor where they do not.
            let LaneNorms { centre, rows, form, .. } = found.norms[lane];
            let r = |i: usize, j: usize| factor.rows[i * 36 + j];
            let (mut about, mut apart) = (0.0, 0.0);
            for i in 0..36 {
                for j in 0..36 {
                    let s = if i == j { centre } else { 0.0 };
                    let entry: f64 = (0..36).map(|k| r(k, i) * r(k, j)).sum();
                    about += (r(i, j) - s) * (r(i, j) - s);
                    apart += (entry - centre * s) * (entry - centre * s);
                }
            }
            assert!(0.0 < centre && about.sqrt() <= rows && rows < about.sqrt() * (1.0 + 1e-8));
            assert!(apart.sqrt() <= form && form < 3.0 * apart.sqrt(), "{form} {apart}");
        }
    }
}
