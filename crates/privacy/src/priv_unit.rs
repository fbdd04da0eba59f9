//! Releases vectors of a ball by PrivUnit \[Bhowmick2018\], at the cap of least variance.
//!
//! A vector of length at most R is lifted to the sphere of radius R by one more coordinate. The release is uniform on the cap of a
//! sphere around it with probability 1 - `rare`, else uniform on the rest of that sphere; the lifted coordinate is dropped. The
//! sphere's radius makes the release unbiased. For real people one of several points, drawn without the vector, is chosen by its
//! rank: exact whatever the rounding. Proof: `docs/proofs/privunit.md`.

use crate::gradients::VectorNoise;
use crate::noise::{Entropy, Noise, ReleaseError, SamplerLaw, Words, below};
use crate::planted::{self, PlantedFault};
use crate::streams::Shape;
use crate::{Epsilon, Event, Refusal};
use privateer_numerics::rng::{Stream, normal_quantile};
use std::f64::consts::{PI, SQRT_2};

/// Holds the cap for a privacy loss and a dimension, and the sizes of vectors and releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrivUnit {
    /// Dimension n of the sphere, at least 3: one more than that of a vector, or more.
    dimension: usize,
    /// The cap holds the points `<x, u> >= 1 - gap` around a point u of the unit sphere, for a gap of at most 1.
    gap: f64,
    /// Share of the sphere in the cap, at most 1/2.
    share: f64,
    /// Probability of a release outside of the cap.
    rare: f64,
    /// Largest length R of a vector.
    radius: f64,
    /// Length of a release before its last coordinates are dropped.
    length: f64,
    epsilon: f64,
}

impl PrivUnit {
    /// Makes the mechanism of this loss for vectors with `entries` entries and a length of at most `radius`.
    pub fn new(epsilon: Epsilon, entries: usize, radius: f64) -> Self {
        // Caps of larger losses hold shares of the sphere that are no normal f64 numbers.
        let (dimension, epsilon) = ((entries + 1).max(3), epsilon.get().min(600.0));
        // The mean is largest at the height that is equal to it, and below that height it grows: bisection over ln(gap). Caps of
        // 1e-13 of the radius serve all larger losses.
        let (mut low, mut high) = (-30.0, 0.0);
        while 1e-13 < high - low {
            let middle = 0.5 * (low + high);
            let gap = libm::exp(middle);
            if mean(dimension, gap, epsilon) < 1.0 - gap { low = middle } else { high = middle }
        }
        let gap = libm::exp(high);
        let share = cap_share(dimension, gap);
        // rare/(1 - rare) = (1 - share)/share e^-epsilon.
        let odds = (1.0 - share) / share * libm::exp(-epsilon);
        let length = radius / mean(dimension, gap, epsilon);
        Self { dimension, gap, share, rare: odds / (1.0 + odds), radius, length, epsilon }
    }

    /// Returns the standard deviation of a released entry, the same in every direction and for every vector.
    ///
    /// Where the cap has its least size, this bounds the one along the vector.
    pub fn std(&self) -> f64 {
        let short = (self.length - self.radius) + self.gap * self.radius;
        libm::sqrt(self.length * short / self.dimension as f64)
    }

    /// Returns what is done to a vector.
    pub fn event(&self) -> Event {
        Event::Cap { dimension: self.dimension as u64, gap: self.gap, rare: self.rare, length: self.length }
    }

    /// Replaces a vector by its release.
    pub(crate) fn release(&self, value: &mut [f64], noise: &mut Noise<'_>, draws: &mut Vec<f64>) {
        draws.resize(self.dimension + 1, 0.0);
        noise.fill(draws, |stream, draws| {
            draws[0] = self.height(stream);
            stream.normals(&mut draws[1..]);
        });
        let (height, around) = (draws[0], &mut draws[1..]);
        let lift = Lift::of(value, self.radius);
        let along = lift.product(value, around);
        around.iter_mut().zip(&*value).for_each(|(g, x)| *g -= along * lift.scale * x);
        around[value.len()] -= along * lift.last;
        let rest = libm::sqrt((1.0 - height) * (1.0 + height) / around.iter().map(|g| g * g).sum::<f64>());
        value.iter_mut().zip(&*around).for_each(|(x, g)| *x = self.length * (height * lift.scale * *x + rest * g));
    }

    /// Draws the height `<x, u>` of a release x of the unit sphere.
    fn height(&self, stream: &mut Stream) -> f64 {
        let others = (self.dimension - 1) as f64;
        let inside = coin(|| !stream.bernoulli(self.rare), |inside| !inside);
        if inside && self.share < 0.25 {
            return self.steep_height(stream);
        }
        loop {
            // The height of a uniform point of the sphere.
            let z = stream.normal();
            let height = z / libm::sqrt(z * z + 2.0 * stream.gamma(0.5 * others));
            let height = if inside { height.abs() } else { height };
            if inside == (1.0 - self.gap <= height) {
                return height;
            }
        }
    }

    /// Draws a height in a small cap: its density, of which the logarithm is concave, lies below the tangent at the cap's edge.
    fn steep_height(&self, stream: &mut Stream) -> f64 {
        let (edge, twice) = (1.0 - self.gap, (self.dimension - 3) as f64);
        let rest = self.gap * (1.0 + edge);
        let rate = twice * edge / rest;
        loop {
            let u = stream.open_uniform();
            let above = if rate == 0.0 { u * self.gap } else { -libm::log1p(u * libm::expm1(-rate * self.gap)) / rate };
            let left = (self.gap - above) * (1.0 + edge + above);
            if stream.open_uniform() < libm::exp(0.5 * twice * libm::log(left / rest) + rate * above) {
                return edge + above;
            }
        }
    }
}

impl Event {
    /// Returns the loss of a [`Event::Cap`], from the share of the sphere in the cap.
    pub(crate) fn cap_loss(dimension: u64, gap: f64, rare: f64) -> f64 {
        let share = cap_share(dimension as usize, gap);
        libm::log((1.0 - rare) / rare * ((1.0 - share) / share))
    }
}

/// Tosses the coin that says whether a release is in the cap, or of the favoured points.
fn coin<T>(mut toss: impl FnMut() -> T, is_outside: impl Fn(&T) -> bool) -> T {
    let tossed = toss();
    if planted::is(PlantedFault::CapCoin) && is_outside(&tossed) { toss() } else { tossed }
}

/// States the point of the unit sphere that a vector stands for: its entries times `scale`, then `last`, then zeros.
struct Lift {
    scale: f64,
    last: f64,
}

impl Lift {
    fn of(value: &[f64], radius: f64) -> Self {
        // A length that exceeds the radius by a rounding error is shortened.
        let size = libm::sqrt(value.iter().map(|x| x * x).sum::<f64>());
        let scale = 1.0 / size.max(radius);
        Self { scale, last: libm::sqrt(((radius - size) * (radius + size)).max(0.0)) * scale }
    }

    fn product(&self, value: &[f64], point: &[f64]) -> f64 {
        self.scale * value.iter().zip(point).map(|(x, y)| x * y).sum::<f64>() + self.last * point[value.len()]
    }
}

/// Releases one of several points of a sphere, drawn without the vector, by the rank of its distance: exact on doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedUnit {
    of: PrivUnit,
    /// Number of points.
    draws: u64,
    /// Number of nearest points that are likelier than the others.
    favoured: u64,
    /// Weights of a favoured point and of another one, of ratio at most e^epsilon.
    weights: (u64, u64),
    /// Length of a release before its last coordinates are dropped.
    length: f64,
    /// Largest standard deviation of a released entry in any direction.
    pub(crate) std: f64,
}

impl RankedUnit {
    /// Makes the mechanism with the fewest points whose noise is at most 2 % above that of [`PrivUnit`].
    pub(crate) fn new(of: PrivUnit) -> Result<Self, ReleaseError> {
        let heights = Heights::of(of.dimension);
        let sizes = (4..=MOST_POINTS.ilog2()).map(|bits| 1 << bits);
        let found = sizes
            .filter(|_| of.epsilon < 20.0)
            .map(|draws| Self::on(of, draws, &heights))
            .find(|ranked| ranked.std <= 1.02 * of.std());
        found.ok_or_else(|| {
            let limits = "1e-9 to about 8; `local-gaussian` has no such limits";
            ReleaseError::Range(format!("`privunit` at epsilon {} ({limits})", of.epsilon))
        })
    }

    fn on(of: PrivUnit, draws: u64, heights: &Heights) -> Self {
        let other = if of.epsilon < 1.0 { 1 << 40 } else { 1 << 20 };
        // Rounded down by more than the error of exp: own/other <= e^epsilon.
        let own = (other as f64 * libm::exp(of.epsilon) * (1.0 - 1e-14)).floor() as u64;
        let near = (of.share * draws as f64).floor() as u64;
        let with = |favoured: u64| {
            let (mean, square) = heights.of_ranks(draws, favoured, own as f64 / other as f64);
            let n = of.dimension as f64;
            // The variances across the vector and along it, in units of its length.
            let variance = ((1.0 - square) / ((n - 1.0) * mean * mean)).max(square / (mean * mean) - 1.0);
            let (length, std) = (of.radius / mean, of.radius * libm::sqrt(variance));
            Self { of, draws, favoured, weights: (own, other), length, std }
        };
        let least = |a: Self, b: Self| if b.std < a.std { b } else { a };
        least(with(near.max(1)), with(near + 1))
    }

    pub(crate) fn event(&self) -> Event {
        let (own, other) = self.weights;
        Event::Ranks { draws: self.draws, favoured: self.favoured, odds: own as f64 / other as f64, length: self.length }
    }

    pub(crate) fn law(&self) -> SamplerLaw {
        SamplerLaw::Levels { high: self.weights.0, low: self.weights.1 }
    }

    /// Replaces a vector by its release.
    fn release(&self, value: &mut [f64], entropy: &mut Entropy) {
        let (n, lift, (own, other)) = (self.of.dimension, Lift::of(value, self.of.radius), self.weights);
        let total = self.favoured * own + (self.draws - self.favoured) * other;
        let at = coin(|| below(total, entropy), |at| self.favoured * own <= *at);
        let rank = if at < self.favoured * own { at / own } else { self.favoured + (at - self.favoured * own) / other };
        // Normals by inversion, at the midpoints of 2^52 cells.
        let normal = |_| normal_quantile(((entropy.word() >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0);
        let points: Vec<f64> = (0..self.draws as usize * n).map(normal).collect();
        let size = |point: &[f64]| libm::sqrt(point.iter().map(|x| x * x).sum::<f64>());
        let mut order: Vec<(f64, &[f64])> = points.chunks_exact(n).map(|at| (lift.product(value, at) / size(at), at)).collect();
        // A stable order: equal heights keep the order in which they were drawn.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let chosen = order[rank as usize].1;
        let scale = self.length / size(chosen);
        value.iter_mut().zip(chosen).for_each(|(x, z)| *x = scale * z);
    }
}

/// Most points of [`RankedUnit`].
const MOST_POINTS: u64 = 1024;

/// Holds the law of the height of a uniform point of the unit sphere, on a grid of angles.
struct Heights {
    dimension: usize,
    /// Height, probability, and the share of the sphere above it.
    points: Vec<(f64, f64, f64)>,
}

impl Heights {
    fn of(dimension: usize) -> Self {
        const STEPS: i32 = 1000;
        let n = dimension as f64;
        // Angles beyond 14 standard deviations hold less than 1e-40.
        let half = (14.0 / libm::sqrt(n)).min(0.5 * PI);
        let step = half / f64::from(STEPS);
        let density = |at: i32| {
            let angle = step * f64::from(at);
            let (height, weight) = (libm::sin(angle), libm::exp((n - 2.0) * libm::log(libm::cos(angle))));
            let above = cap_share(dimension, 1.0 - height.abs());
            (height, weight * step * libm::exp(log_density(dimension)), if 0.0 <= height { above } else { 1.0 - above })
        };
        Self { dimension, points: (1 - STEPS..STEPS).map(density).collect() }
    }

    /// Returns the means of the height and of its square for one of `draws` points, of which the `favoured` nearest have these odds.
    fn of_ranks(&self, draws: u64, favoured: u64, odds: f64) -> (f64, f64) {
        let (draws, favoured) = (draws as f64, favoured as f64);
        let weight = draws / (favoured * odds + draws - favoured);
        let sums = self.points.iter().fold((0.0, 0.0), |sums, &(height, probability, above)| {
            // That at most favoured - 1 of the others are above.
            let near = probability * beta_share(draws - favoured, favoured, 1.0 - above, above);
            (sums.0 + near * height, sums.1 + near * height * height)
        });
        (weight * (odds - 1.0) * sums.0, weight * (1.0 / self.dimension as f64 + (odds - 1.0) * sums.1))
    }
}

/// Returns the mean height of a release on the unit sphere.
fn mean(dimension: usize, gap: f64, epsilon: f64) -> f64 {
    let others = (dimension - 1) as f64;
    // The density of the height t is c (1 - t²)^((n - 3)/2); its mean above the edge is c (1 - edge²)^((n - 1)/2)/(n - 1).
    let whole = libm::exp(log_density(dimension) + 0.5 * others * libm::log(gap * (2.0 - gap))) / others;
    let share = cap_share(dimension, gap);
    whole * -libm::expm1(-epsilon) / (share + (1.0 - share) * libm::exp(-epsilon))
}

/// Returns ln c: the logarithm of the density of a coordinate of the unit sphere at 0.
fn log_density(dimension: usize) -> f64 {
    let n = dimension as f64;
    libm::lgamma(0.5 * n) - libm::lgamma(0.5 * (n - 1.0)) - 0.5 * libm::log(PI)
}

/// Returns the share of the unit sphere in `dimension >= 3` dimensions that a cap of this gap holds.
///
/// It is half of the regularised incomplete beta function of `1 - edge²` with parameters (n - 1)/2 and 1/2.
fn cap_share(dimension: usize, gap: f64) -> f64 {
    0.5 * beta_share(0.5 * (dimension - 1) as f64, 0.5, gap * (2.0 - gap), (1.0 - gap) * (1.0 - gap))
}

/// Returns the regularised incomplete beta function of `x = 1 - y` with parameters `a` and `b`.
fn beta_share(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log(y);
    let front = libm::exp(front);
    if x < (a + 1.0) / (a + b + 2.0) { front / a * fraction(a, b, x) } else { 1.0 - front / b * fraction(b, a, y) }
}

/// Returns the continued fraction of the incomplete beta function for `x < (a + 1)/(a + b + 2)`, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let far = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let mut d = 1.0 / far(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut product) = (1.0, d);
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = product;
        for term in [even, odd] {
            d = 1.0 / far(1.0 + term * d);
            c = far(1.0 + term / c);
            product *= c * d;
        }
        if (product - before).abs() <= 1e-16 * product {
            break;
        }
    }
    product
}

/// Releases gradients: noise whose law depends on the gradient.
#[derive(Debug, Clone)]
pub(crate) struct PrivUnitNoise {
    mechanism: PrivUnit,
    draws: Vec<f64>,
}

impl From<PrivUnit> for PrivUnitNoise {
    fn from(mechanism: PrivUnit) -> Self {
        Self { mechanism, draws: Vec::new() }
    }
}

impl VectorNoise for PrivUnitNoise {
    /// Gives nothing: a release is no sum of a gradient and noise, and added to one it would show the gradient.
    fn draw(&mut self, _stream: &mut Stream, out: &mut [f64]) {
        out.fill(f64::NAN);
    }

    fn add(&mut self, stream: &mut Stream, value: &mut [f64], _drawn: &mut [f64]) {
        self.mechanism.release(value, &mut stream.into(), &mut self.draws);
    }
}

/// Releases items `phi phi^T` and `y phi` of one user, in coordinates in which a sphere has no longer axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrivUnitItem {
    mechanism: PrivUnit,
    /// What real people release; `None` for doubles from a reproducible stream.
    ranked: Option<RankedUnit>,
    shape: Shape,
    /// Public multiple of the identity that is subtracted from the matrix: half of what shortens the longest item most.
    centre: f64,
}

impl PrivUnitItem {
    /// Makes the mechanism for items of this shape with `rows` rows of matrices in all, `|phi| <= length` and `|y| <= reach`.
    pub(crate) fn new(
        epsilon: Epsilon,
        (shape, rows): (Shape, usize),
        (length, reach): (f64, f64),
        mechanism: &str,
    ) -> Result<Self, Refusal> {
        let squared = length * length;
        let centre = squared / rows.max(2) as f64;
        // |phi phi^T - centre I|²/2 + |y phi|² is convex in |phi|², and at zero it is no more.
        let share = if rows == 1 { 0.25 } else { 1.0 - 1.0 / rows as f64 };
        let radius = libm::sqrt(0.5 * squared * squared * share + reach * reach * squared);
        let of = PrivUnit::new(epsilon, shape.len(), radius);
        Refusal::unless_normal(of.std(), mechanism, epsilon.get())?;
        Ok(Self { mechanism: of, ranked: None, shape, centre })
    }

    /// Returns the same mechanism for real people.
    pub(crate) fn exact(self) -> Result<Self, ReleaseError> {
        Ok(Self { ranked: Some(RankedUnit::new(self.mechanism)?), ..self })
    }

    /// Returns the standard deviation of a released entry, off the diagonal of a matrix.
    pub(crate) fn std(&self) -> f64 {
        self.ranked.map_or_else(|| self.mechanism.std(), |ranked| ranked.std)
    }

    /// Returns the number of entries of the points that are drawn for one release.
    pub(crate) fn drawn(&self) -> f64 {
        self.ranked.map_or(1.0, |ranked| ranked.draws as f64) * self.mechanism.dimension as f64
    }

    pub(crate) fn event(&self) -> Event {
        self.ranked.map_or_else(|| self.mechanism.event(), |ranked| ranked.event())
    }

    pub(crate) fn laws(&self) -> Vec<SamplerLaw> {
        self.ranked.iter().map(RankedUnit::law).collect()
    }

    pub(crate) fn formula(&self) -> String {
        let std = self.std();
        format!(
            "PrivUnit [Bhowmick2018] at the cap of least variance: entries of standard deviation {std:.6}, the diagonal's sqrt(2) times"
        )
    }

    /// Replaces an item by its release.
    pub(crate) fn release(&self, entries: &mut [f64], noise: &mut Noise<'_>, draws: &mut Vec<f64>) {
        self.shape.shift_diagonal(entries, -self.centre);
        self.shape.scale_diagonal(entries, 1.0 / SQRT_2);
        match (noise, self.ranked) {
            (Noise::Exact(entropy), Some(ranked)) => ranked.release(entries, entropy),
            // Other noise is never given out instead of exact noise.
            (Noise::Exact(_), None) | (_, Some(_)) => entries.fill(f64::NAN),
            (noise, None) => self.mechanism.release(entries, noise, draws),
        }
        self.shape.scale_diagonal(entries, SQRT_2);
        self.shape.shift_diagonal(entries, self.centre);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price;
    use privateer_numerics::rng::{Purpose, Streams};

    fn of(epsilon: f64, entries: usize, radius: f64) -> PrivUnit {
        PrivUnit::new(Epsilon::try_from(epsilon).expect("a budget"), entries, radius)
    }

    /// Compares with sums over 400 001 heights in NumPy: edge, probability of the cap, its share, standard deviation.
    #[test]
    fn caps_are_those_of_the_reference() {
        for (n, epsilon, expected) in [
            (3, 1.0, [0.24492, 0.62246, 0.37754, 2.28552]),
            (6, 4.0, [0.58121, 0.83631, 0.08557, 0.57159]),
            (30, 0.5, [0.03668, 0.54659, 0.42236, 4.97466]),
            (100, 8.0, [0.26985, 0.90474, 0.00318, 0.35683]),
            (703, 2.0, [0.02967, 0.67053, 0.21595, 1.27076]),
        ] {
            let found = of(epsilon, n - 1, 1.0);
            let found = [1.0 - found.gap, 1.0 - found.rare, found.share, found.std()];
            let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1.5e-5);
            assert!(near, "{n} {epsilon}: {found:?}, not {expected:?}");
        }
    }

    /// The price is that of the caps alone: from tiny budgets to huge ones, and up to 10^5 dimensions.
    #[test]
    fn prices_are_the_budgets() {
        for epsilon in [1e-6, 0.01, 1.0, 5.0, 30.0, 80.0, 600.0] {
            for entries in [1, 2, 5, 40, 700, 100_000] {
                let found = of(epsilon, entries, 2.0);
                let priced = price(&found.event()).epsilon(None).expect("pure");
                assert!((priced - epsilon).abs() <= 1e-9 * epsilon + 1e-14, "{epsilon} {entries}: {priced}");
                assert!(found.std().is_finite() && 0.0 < found.std(), "{epsilon} {entries}: {found:?}");
            }
        }
    }

    /// No other cap of the same loss has a larger mean, hence none less variance.
    #[test]
    fn the_cap_has_the_least_variance() {
        for (n, epsilon) in [(3, 0.1), (6, 1.0), (40, 4.0), (1000, 9.0)] {
            let found = of(epsilon, n - 1, 1.0);
            let best = mean(n, found.gap, epsilon);
            for at in 1..=1000 {
                assert!(mean(n, f64::from(at) / 1000.0, epsilon) <= best * (1.0 + 1e-12), "{n} {epsilon} {at}");
            }
        }
    }

    /// Checks mean and covariance within five standard errors: false alarm below 1e-4, and seeds are fixed.
    fn are_unbiased_and_isotropic(input: &[f64], (std, length): (f64, f64), n: u32, mut release: impl FnMut(&mut [f64])) {
        let (mut sums, mut products) = (vec![0.0; input.len()], [0.0; 3]);
        for _ in 0..n {
            let mut value = input.to_vec();
            release(&mut value);
            sums.iter_mut().zip(&value).for_each(|(sum, x)| *sum += x);
            let (x, y) = (value[0] - input[0], value[1] - input[1]);
            products.iter_mut().zip([x * x, y * y, x * y]).for_each(|(sum, product)| *sum += product);
        }
        let (variance, n) = (std * std, f64::from(n));
        for (sum, x) in sums.iter().zip(input) {
            assert!((sum / n - x).abs() < 5.0 * std / n.sqrt(), "{input:?}: {sums:?}");
        }
        // The length of a release bounds the deviation of its squares.
        let error = 10.0 * length * std / n.sqrt();
        for (product, expected) in products.iter().zip([variance, variance, 0.0]) {
            assert!((product / n - expected).abs() < error, "{input:?}: {products:?}, not {variance}");
        }
    }

    #[test]
    fn releases_are_unbiased_and_isotropic() {
        for (epsilon, input) in [(1.0, vec![0.6, -0.8]), (4.0, vec![0.3, 0.0, 0.4, 0.0]), (6.0, vec![0.0; 9])] {
            let mechanism = of(epsilon, input.len(), 1.0);
            let mut stream = Streams::new(5, "privunit").of(0, Purpose::Mechanism("privunit"));
            let mut draws = Vec::new();
            are_unbiased_and_isotropic(&input, (mechanism.std(), mechanism.length), 100_000, |value| {
                mechanism.release(value, &mut (&mut stream).into(), &mut draws);
            });
            let ranked = RankedUnit::new(mechanism).expect("few points");
            let mut entropy = Entropy::seeded(6);
            are_unbiased_and_isotropic(&input, (ranked.std, ranked.length), 5_000, |value| ranked.release(value, &mut entropy));
            let priced = price(&ranked.event()).epsilon(None).expect("pure");
            assert!(priced <= epsilon && epsilon - 2e-6 < priced, "{epsilon}: {priced}");
        }
    }

    /// Compares the numbers of favoured points, and the standard deviations over those of caps, with sums over ranks in SciPy.
    #[test]
    fn ranks_are_those_of_the_reference() {
        for (n, epsilon, draws, favoured, ratio) in
            [(3, 1.0, 64, 24, 1.0170), (6, 4.0, 128, 11, 1.0180), (30, 0.5, 32, 14, 1.0263), (300, 8.0, 1024, 4, 1.0172)]
        {
            let plain = of(epsilon, n - 1, 1.0);
            let ranked = RankedUnit::on(plain, draws, &Heights::of(n));
            let found = ranked.std / plain.std();
            assert!(ranked.favoured == favoured && (found - ratio).abs() < 1e-4, "{n} {epsilon}: {} {found}", ranked.favoured);
        }
        assert!(RankedUnit::new(of(12.0, 5, 1.0)).is_err());
    }

    /// The price of a release on ranks needs no law of the points: with two of them it is seen by hand.
    #[test]
    fn prices_of_ranks_by_hand() {
        let event = Event::Ranks { draws: 2, favoured: 1, odds: 3.0, length: 1.0 };
        assert_eq!(price(&event).epsilon(None), Some(libm::log(3.0)));
        assert_eq!(price(&Event::Ranks { draws: 2, favoured: 1, odds: 0.5, length: 1.0 }).epsilon(None), None);
    }
}
