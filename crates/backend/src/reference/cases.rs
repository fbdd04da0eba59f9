//! Generates inputs for tests of devices: bases of every kind and scripts of rounds over them.

use crate::BackendError;
use crate::device::{Answer, DeviceBand, DeviceSlots, NewMean, Parcel, SlotWork, Start, Visit};
use privateer_gp::Points;
use privateer_gp::score::{
    Basis, Factor, FeatureTable, FourierForm, GramSource, GridFeatures, KernelFamily, KernelForm, VarianceForm,
};
use std::sync::Arc;

/// A small random number generator for tests (SplitMix64).
pub struct CaseDraws(pub u64);

impl CaseDraws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `low .. high`.
    pub fn number(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number in `0 .. n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns `n` numbers in `low .. high`.
    pub fn numbers(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        (0..n).map(|_| self.number(low, high)).collect()
    }

    /// Returns each index in `0 .. n` with probability `chance`, at least one.
    pub fn subset(&mut self, n: usize, chance: f64) -> Vec<u32> {
        let sure = self.below(n);
        (0..n).filter(|&x| x == sure || self.number(0.0, 1.0) < chance).map(|x| x as u32).collect()
    }
}

/// A covariance by formula, stored as a table or not.
#[derive(Debug, Clone)]
pub struct TestGram {
    /// The formula.
    pub form: KernelForm,
    /// All entries, `n x n`, if they are stored.
    pub dense: Option<Vec<f64>>,
}

impl TestGram {
    /// Draws `n` points of `dimension` coordinates in `-1 .. 3`.
    pub fn new(draws: &mut CaseDraws, family: KernelFamily, n: usize, dimension: usize, dense: bool) -> Self {
        let points = draws.numbers(n * dimension, -1.0, 3.0);
        let form = KernelForm { family, scale: 1.5, offset: 0.25, row_term: 0.125, dimension, points: points.into() };
        let mut gram = Self { form, dense: None };
        if dense {
            gram.dense = Some((0..n * n).map(|at| gram.entry(at / n, at % n)).collect());
        }
        gram
    }

    /// Draws points as [`TestGram::new`], without the term of a point with itself.
    pub fn smooth(draws: &mut CaseDraws, family: KernelFamily, n: usize, dimension: usize) -> Self {
        let mut gram = Self::new(draws, family, n, dimension, false);
        gram.form.row_term = 0.0;
        gram
    }
}

impl GramSource for TestGram {
    fn n_points(&self) -> usize {
        self.form.points.len() / self.form.dimension
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        let d = self.form.dimension;
        let (za, zb) = (&self.form.points[a * d..(a + 1) * d], &self.form.points[b * d..(b + 1) * d]);
        let dot: f64 = za.iter().zip(zb).map(|(a, b)| a * b).sum();
        let r2: f64 = za.iter().zip(zb).map(|(a, b)| (a - b) * (a - b)).sum();
        let rho = match self.form.family {
            KernelFamily::SquaredExponential => libm::exp(-r2 / 2.0),
            KernelFamily::MaternHalf => libm::exp(-r2.sqrt()),
            KernelFamily::MaternThreeHalves => {
                let z = (3.0 * r2).sqrt();
                (1.0 + z) * libm::exp(-z)
            }
            KernelFamily::MaternFiveHalves => {
                let z = (5.0 * r2).sqrt();
                (1.0 + z + z * z / 3.0) * libm::exp(-z)
            }
            KernelFamily::Linear => dot,
        };
        self.form.scale * rho + self.form.offset + if a == b { self.form.row_term } else { 0.0 }
    }

    fn form(&self) -> Option<KernelForm> {
        self.dense.is_none().then(|| self.form.clone())
    }

    fn dense_column(&self, point: usize) -> Option<&[f64]> {
        let n = self.n_points();
        self.dense.as_ref().map(|values| &values[point * n..(point + 1) * n])
    }
}

/// A basis.
#[derive(Debug, Clone)]
pub enum TestBasis {
    /// One table for all slots.
    Features(Arc<FeatureTable>),
    /// One covariance for all slots.
    Gram(TestGram),
    /// One covariance per slot.
    Own(Vec<TestGram>),
}

impl TestBasis {
    /// Generates features without a formula.
    pub fn features(draws: &mut CaseDraws, n_points: usize, n_features: usize) -> Self {
        Self::Features(Arc::new(FeatureTable {
            n_points,
            n_features,
            values: draws.numbers(n_points * n_features, -1.0, 1.0),
            residual: draws.numbers(n_points, 0.0, 0.1),
            kernel_error: 0.0,
            form: None,
        }))
    }

    /// Generates Fourier features with their formula.
    pub fn fourier(draws: &mut CaseDraws, n_points: usize, n_frequencies: usize, dimension: usize) -> Self {
        let form = FourierForm {
            dimension,
            points: draws.numbers(n_points * dimension, 0.0, 1.0).into(),
            frequencies: draws.numbers(n_frequencies * dimension, -40.0, 40.0),
            amplitudes: draws.numbers(n_frequencies, 0.1, 0.5),
            grid: None,
        };
        let mut values = Vec::new();
        for x in 0..n_points {
            let angle = |i: usize| -> f64 {
                (0..dimension).map(|axis| form.frequencies[i * dimension + axis] * form.points[x * dimension + axis]).sum()
            };
            values.extend((0..n_frequencies).map(|i| form.amplitudes[i] * libm::cos(angle(i))));
            values.extend((0..n_frequencies).map(|i| form.amplitudes[i] * libm::sin(angle(i))));
        }
        let residual = draws.numbers(n_points, 0.0, 0.1);
        let n_features = 2 * n_frequencies;
        Self::Features(Arc::new(FeatureTable { n_points, n_features, values, residual, kernel_error: 0.0, form: Some(form) }))
    }

    /// Generates Fourier features over a grid of a plane, whose rows are computed where they are read.
    pub fn by_axis(draws: &mut CaseDraws, points_per_axis: usize, n_frequencies: usize) -> Self {
        let stored = Self::fourier(draws, points_per_axis * points_per_axis, n_frequencies, 2).table();
        let mut table = FeatureTable { values: Vec::new(), ..FeatureTable::clone(&stored) };
        if let Some(form) = &mut table.form {
            form.points = Points::grid(2, points_per_axis, 0.0, 1.0).coordinates().as_slice().into();
            form.grid = GridFeatures::of(form);
        }
        Self::Features(Arc::new(table))
    }

    /// Generates Fourier features with their formula, of 12 frequencies in the plane.
    pub fn smooth(draws: &mut CaseDraws, n_points: usize) -> Arc<FeatureTable> {
        Self::fourier(draws, n_points, 12, 2).table()
    }

    /// Returns the features.
    pub fn table(self) -> Arc<FeatureTable> {
        let Self::Features(table) = self else { unreachable!("features") };
        table
    }

    /// Returns the basis in the form that backends take.
    pub fn to_basis(&self) -> Basis {
        match self {
            Self::Features(table) => Basis::Table(Arc::clone(table)),
            Self::Gram(gram) => Basis::Gram(Arc::new(gram.clone())),
            Self::Own(grams) => Basis::Own(grams[0].n_points()),
        }
    }

    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        match self {
            Self::Features(table) => table.n_points,
            Self::Gram(_) | Self::Own(_) => self.gram(0).expect("a covariance").n_points(),
        }
    }

    /// Returns the covariance of a slot; `None` for features.
    pub fn gram(&self, slot: usize) -> Option<&TestGram> {
        match self {
            Self::Features(_) => None,
            Self::Gram(gram) => Some(gram),
            Self::Own(grams) => Some(&grams[slot]),
        }
    }

    /// Returns `h_i(x)` of a slot.
    pub fn h(&self, slot: usize, basis: &[u32], i: usize, x: usize) -> f64 {
        match self {
            Self::Features(table) => table.row(x)[i],
            Self::Gram(gram) => gram.entry(basis[i] as usize, x),
            Self::Own(grams) => grams[slot].entry(basis[i] as usize, x),
        }
    }

    /// Returns prior variance and residual.
    pub fn base(&self, slot: usize, x: usize) -> (f64, f64) {
        match self {
            Self::Features(table) => {
                (table.row(x).iter().map(|phi| phi * phi).sum::<f64>() + table.residual[x], table.residual[x])
            }
            Self::Gram(gram) => (gram.diagonal(x), 0.0),
            Self::Own(grams) => (grams[slot].diagonal(x), 0.0),
        }
    }
}

/// Features in which every point stands twice; the later ones score higher, by less than the tolerance of ties.
pub fn doubled(table: &FeatureTable) -> Arc<FeatureTable> {
    let later: Vec<f64> = table.values.iter().map(|value| value * (1.0 + 1e-13)).collect();
    let (values, residual) = ([&table.values[..], &later].concat(), [&table.residual[..]; 2].concat());
    Arc::new(FeatureTable { n_points: 2 * table.n_points, values, residual, form: None, ..table.clone() })
}

/// [`SlotWork`] with owned data.
#[derive(Debug, Clone)]
pub struct OwnedWork {
    /// As [`SlotWork::slot`].
    pub slot: usize,
    /// As [`SlotWork::start`].
    pub start: Start<'static>,
    /// Row (`None` if repeated), scale, step of the mean.
    pub visit: Option<(Option<Vec<f64>>, f64, f64)>,
    /// Weights of the mean, used instead of the step.
    pub weights: Option<Vec<f64>>,
    /// As [`SlotWork::basis`].
    pub basis: Vec<u32>,
    /// As [`SlotWork::beta`].
    pub beta: f64,
    /// As [`SlotWork::band`].
    pub band: DeviceBand,
    /// As [`SlotWork::subset`].
    pub subset: Option<Vec<u32>>,
}

impl OwnedWork {
    /// Creates work over all points that continues from the last round.
    pub fn keep(slot: usize) -> Self {
        let band = DeviceBand { c: 1e-3, c0: 1e-4, c1: 1e-4, c2: 1e-4, c3: 1e-4 };
        Self { slot, start: Start::Keep, visit: None, weights: None, basis: Vec::new(), beta: 1.5, band, subset: None }
    }

    /// Creates work over all points from a reset.
    pub fn from(slot: usize, start: Start<'static>) -> Self {
        Self { start, ..Self::keep(slot) }
    }

    /// Borrows the data.
    pub fn work(&self) -> SlotWork<'_> {
        SlotWork {
            slot: self.slot,
            start: &self.start,
            visit: self.visit.as_ref().map(|(row, scale, mean_step)| Visit {
                row: row.as_deref(),
                scale: *scale,
                mean: self.weights.as_ref().map_or(NewMean::Step(*mean_step), |weights| NewMean::Weights(weights)),
            }),
            basis: &self.basis,
            beta: self.beta,
            band: self.band,
            subset: self.subset.as_deref(),
        }
    }
}

/// Packs and starts a round, in which every answer returns `stamp`.
pub fn submit(slots: &mut dyn DeviceSlots, stamp: u32, works: &[OwnedWork]) -> Result<(), BackendError> {
    let mut parcel = Parcel::new(slots.precision());
    let shape = slots.shape();
    works.iter().try_for_each(|work| parcel.add(&shape, stamp, &work.work()))?;
    slots.send(&mut [parcel])
}

/// Waits for the round and returns its answers, in the order of the works.
pub fn collect(slots: &mut dyn DeviceSlots) -> Result<Vec<Answer>, BackendError> {
    let answers = slots.receive()?;
    let read = |place| {
        let mut answer = Answer::default();
        answers.read(place, &mut answer).map(|()| answer)
    };
    (0..answers.len()).map(read).collect()
}

/// Returns the answers of a round that succeeds.
pub fn answers(slots: &mut dyn DeviceSlots, stamp: u32, works: &[OwnedWork]) -> Vec<Answer> {
    submit(slots, stamp, works).expect("submit");
    let answers = collect(slots).expect("collect");
    assert_eq!(answers.len(), works.len());
    answers
}

/// Generates a lower triangular factor over `n` functions, with small entries.
///
/// Little variance is left over or removed.
pub fn factor(draws: &mut CaseDraws, n: usize, variance: VarianceForm) -> Factor<'static> {
    let size = 0.3 / (n.max(1) as f64);
    let mut rows = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..=i {
            rows[i * n + k] = draws.number(-size, size);
        }
    }
    Factor::new(draws.numbers(n, -size, size).into(), rows.into(), variance)
}

/// Generates a script over `n_slots` slots.
///
/// It has every kind of reset, observations with and without a row, growing bases, subsets, and slots that skip a round.
pub fn script(draws: &mut CaseDraws, basis: &TestBasis, n_slots: usize, n_rounds: usize) -> Vec<Vec<OwnedWork>> {
    let n = basis.n_points();
    let mut bases: Vec<Vec<u32>> = vec![Vec::new(); n_slots];
    let mut projected = vec![false; n_slots];
    let mut rounds = Vec::new();
    for round in 0..n_rounds {
        let mut works = Vec::new();
        for slot in 0..n_slots {
            if 0 < round && draws.below(8) == 0 {
                continue;
            }
            let mut work = OwnedWork::keep(slot);
            if basis.gram(slot).is_some() && (round == 0 || draws.below(2) == 0) {
                bases[slot].push(draws.below(n) as u32);
            }
            work.basis.clone_from(&bases[slot]);
            let n_basis = if let TestBasis::Features(table) = basis { table.n_features } else { work.basis.len() };
            let kind = if round == 0 { slot % 4 + 1 } else { draws.below(12) };
            work.start = match kind {
                1 => Start::Prior,
                2 => Start::Factor(factor(draws, n_basis, VarianceForm::Added)),
                3 => Start::Factor(factor(draws, n_basis, VarianceForm::Removed)),
                4 => Start::Upload { mean: draws.numbers(n, -1.0, 1.0), variance: draws.numbers(n, -1e-3, 1.0) },
                _ => Start::Keep,
            };
            let scale = 0.2 / (1.0 + n_basis as f64).sqrt();
            match draws.below(4) {
                0 => {}
                1 if projected[slot] => work.visit = Some((None, scale, draws.number(-0.3, 0.3))),
                _ => {
                    work.visit = Some((Some(draws.numbers(n_basis, -1.0, 1.0)), scale, draws.number(-0.3, 0.3)));
                    projected[slot] = true;
                }
            }
            if work.visit.is_some() && draws.below(3) == 0 {
                work.weights = Some(draws.numbers(n_basis, -1.0, 1.0));
            }
            if draws.below(3) == 0 {
                let chance = [0.02, 0.5, 1.0][draws.below(3)];
                work.subset = Some(draws.subset(n, chance));
            }
            work.beta = [0.0, 0.5, 3.0][draws.below(3)];
            work.band.c = [0.0, 1e-3, 0.5][draws.below(3)];
            works.push(work);
        }
        rounds.push(works);
    }
    rounds
}

/// Plays scripts over features of every size, features that the device makes, and Gram columns of every kind.
///
/// With too many points for a whole matrix, columns are evaluated when they are needed.
pub fn play_every_case(play: impl Fn(&TestBasis, usize, &[Vec<OwnedWork>])) {
    let scripted = |draws: &mut CaseDraws, basis: TestBasis, n_slots: usize, rounds: usize| {
        play(&basis, n_slots, &script(draws, &basis, n_slots, rounds));
    };
    let sizes = [(1, 1, 1), (255, 3, 2), (256, 7, 9), (257, 64, 4), (600, 65, 4), (300, 130, 5)];
    for (seed, (n_points, n_features, n_slots)) in (1..).zip(sizes) {
        let mut draws = CaseDraws(seed);
        let basis = TestBasis::features(&mut draws, n_points, n_features);
        scripted(&mut draws, basis, n_slots, 8);
    }
    let mut draws = CaseDraws(11);
    let made = TestBasis::fourier(&mut draws, 300, 12, 3);
    scripted(&mut draws, made, 3, 6);
    let mut draws = CaseDraws(12);
    let by_axis = TestBasis::by_axis(&mut draws, 18, 10);
    scripted(&mut draws, by_axis, 3, 6);
    for (seed, family) in (20..).zip([
        KernelFamily::SquaredExponential,
        KernelFamily::MaternHalf,
        KernelFamily::MaternThreeHalves,
        KernelFamily::MaternFiveHalves,
        KernelFamily::Linear,
    ]) {
        let mut draws = CaseDraws(seed);
        for dense in [true, false] {
            let basis = TestBasis::Gram(TestGram::new(&mut draws, family, 270, 2, dense));
            scripted(&mut draws, basis, 4, 7);
        }
        let own = TestBasis::Own((0..4).map(|_| TestGram::new(&mut draws, family, 270, 3, false)).collect());
        scripted(&mut draws, own, 4, 7);
    }
    let mut draws = CaseDraws(31);
    let many = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternFiveHalves, 5_000, 2, false));
    scripted(&mut draws, many, 4, 4);
}
