//! Sums of kernels over groups of coordinates.

use super::list::parse_part;
use super::{Kernel, Summand};
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::ops::Range;
use std::sync::Arc;

/// The mean of a kernel over groups of coordinates: `k(a, b) = (1/G) Σ_g part(a_g, b_g)`.
///
/// The G groups have `group_size` neighbouring coordinates each (the last may be smaller). The functions are sums of
/// functions of few coordinates [Duvenaud et al. 2011; Mutny2018]. The sum is divided by G so that `k(x, x)` is that of
/// the part.
#[derive(Debug, Clone)]
pub struct Additive {
    part: Arc<dyn Kernel>,
    group_size: usize,
}

impl Additive {
    /// Creates the kernel over groups of `group_size >= 1` coordinates.
    ///
    /// `None` if the part cannot be restricted to coordinates.
    pub fn new(part: Arc<dyn Kernel>, group_size: usize) -> Option<Self> {
        part.on_coordinates(0..1).is_some().then_some(Self { part, group_size })
    }

    fn groups(&self, dimension: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        let size = self.group_size;
        (0..dimension.div_ceil(size)).map(move |group| group * size..((group + 1) * size).min(dimension))
    }
}

/// Reads `part` and `group_size`; `None` after an error.
pub fn parse(args: &Args<'_>) -> Option<Arc<dyn Kernel>> {
    let size = args.count("group_size", "neighbouring coordinates of a group").between(1, 1000).or(1) as usize;
    let part = parse_part(args, "part");
    args.finish();
    let additive = Additive::new(part?, size);
    if additive.is_none() {
        args.reject("part", "this kernel cannot be restricted to groups of coordinates", "`squared-exponential` or `matern`");
    }
    additive.map(|kernel| Arc::new(kernel) as Arc<dyn Kernel>)
}

impl Kernel for Additive {
    fn value(&self, a: &[f64], b: &[f64]) -> f64 {
        // A sum of equal terms may round differently from their number times the term.
        if let (true, Some(variance)) = (a == b, self.part.variance()) {
            return variance;
        }
        let is_alike = self.part.dimension().is_none();
        let (mut sum, mut count) = (0.0, 0.0);
        for group in self.groups(a.len()) {
            let (a, b) = (&a[group.clone()], &b[group.clone()]);
            // If all groups are alike, the part itself serves each of them.
            sum += if is_alike {
                self.part.value(a, b)
            } else {
                self.part.on_coordinates(group).map_or(f64::NAN, |part| part.value(a, b))
            };
            count += 1.0;
        }
        sum / count
    }

    fn dimension(&self) -> Option<usize> {
        self.part.dimension()
    }

    fn variance(&self) -> Option<f64> {
        self.part.variance()
    }

    /// Draws the frequency of a random group, zero elsewhere; the mean over groups is the kernel.
    fn sample_frequency(&self, dimension: usize, stream: &mut Stream) -> Option<Vec<f64>> {
        let group = self.groups(dimension).nth(stream.index(dimension.div_ceil(self.group_size)))?;
        let part = self.part.on_coordinates(group.clone())?;
        let mut frequency = vec![0.0; dimension];
        frequency[group.clone()].copy_from_slice(&part.sample_frequency(group.len(), stream)?);
        Some(frequency)
    }

    fn summands(&self, dimension: usize) -> Option<Vec<Summand>> {
        let summand = |coordinates: Range<usize>| {
            let kernel = self.part.on_coordinates(coordinates.clone())?;
            Some(Summand { coordinates, kernel })
        };
        self.groups(dimension).map(summand).collect()
    }
}
