//! Tests a device when it is opened: arithmetic in both types and reductions by subgroups.
//!
//! A feature that fails its test is not used; a device that fails in f32 is refused.

use super::buffers::{GpuNumber, filled, storage, uniform};
use super::device::{GpuShared, run};
use super::layout::{self, LayoutShape};
use super::pipeline::Pass;
use super::readback::read;
use privateer_backend::BackendError;

/// Results per pair in the shader `arithmetic`.
pub(super) const RESULTS: usize = 10;

/// Results per workgroup in the shader `reduction`, and number of workgroups tested.
const REDUCED: usize = 5;
const GROUPS: usize = 4;

/// Most steps of the loop that threads leave one after the other before the reduction; each changes the sign.
const TURNS: usize = 4;

impl GpuShared {
    /// Runs a shader on numbers and returns its results.
    fn computed<R: GpuNumber>(
        &self,
        shader: &'static str,
        numbers: &[R],
        n: usize,
        groups: usize,
        results: usize,
    ) -> Result<Vec<R>, BackendError> {
        let source = filled(self, "numbers", numbers)?;
        let bytes = (results * size_of::<R>()) as u64;
        let table = storage(self, "results", bytes)?;
        let shape = uniform(self, &LayoutShape { n_columns: n as u32, ..LayoutShape::default() }.words())?;
        let pipeline = self.pipeline(Pass::making(shader, R::PRECISION, R::PRECISION))?;
        let group = pipeline.bind(self, &[(layout::SHAPE, &shape), (layout::SOURCE, &source), (layout::TABLE, &table)])?;
        read(self, "compute", &[(&table, 0, bytes)], |encoder| run(encoder, &[(&pipeline, &group, [groups as u32, 1])]))
    }

    /// Runs the shader `arithmetic` on pairs of numbers.
    pub fn arithmetic<R: GpuNumber>(&self, pairs: &[[R; 2]]) -> Result<Vec<R>, BackendError> {
        let flat: Vec<R> = pairs.iter().flatten().copied().collect();
        self.computed("arithmetic", &flat, pairs.len(), 1, pairs.len() * RESULTS)
    }

    /// Returns whether arithmetic in a type is correct.
    ///
    /// Sums, differences, products and integers must be exact to the last bit, quotients and square roots within the
    /// permitted error. A dot product may be summed in any order, a difference of nearly equal numbers may be contracted.
    pub fn computes_in<R: GpuNumber>(&self) -> Result<bool, BackendError> {
        let pairs: Vec<[R; 2]> = (0..64)
            .map(|i| {
                let a = (f64::from(i) + 0.1) * std::f64::consts::PI / 7.0;
                let b = (if i % 2 == 0 { 1.0 } else { -1.0 }) * (f64::from(i * i) + 1.0 / 3.0) * std::f64::consts::E / 11.0;
                [R::of(a), R::of(b)]
            })
            .collect();
        let results = self.arithmetic(&pairs)?;
        let wide = |pair: &[R; 2]| pair.map(R::wide);
        let (exact, magnitude) = pairs.iter().map(wide).fold((0.0, 0.0), |(sum, all), [a, b]| (sum + a * b, all + (a * b).abs()));
        let rounded = |got: R, want: f64, roundoffs: f64, magnitude: f64| {
            (got.wide() - want).abs() <= roundoffs * R::PRECISION.unit() * magnitude
        };
        Ok(pairs.iter().zip(results.chunks_exact(RESULTS)).all(|(pair, got)| {
            let [a, b] = wide(pair);
            got[0] == pair[0] + pair[1]
                && got[1] == pair[0] - pair[1]
                && got[2] == pair[0] * pair[1]
                && rounded(got[3], a / b, 8.0, (a / b).abs())
                && rounded(got[4], a.sqrt(), 16.0, a.sqrt())
                && got[5] == R::of(a.floor())
                && got[6] == R::of(b.trunc())
                && rounded(got[8], exact, 2.0 * pairs.len() as f64, magnitude)
                && rounded(got[9], b, 4.0, a * a + b.abs())
        }))
    }

    /// Returns whether reductions are exact to the last bit, in every available type.
    pub fn reduces_as_it_should(&self) -> Result<bool, BackendError> {
        Ok(self.reduces_in::<f32>()? && (!self.has_f64 || self.reduces_in::<f64>()?))
    }

    fn reduces_in<R: GpuNumber>(&self) -> Result<bool, BackendError> {
        let threads = self.workgroup(R::PRECISION)?.threads() as usize;
        // Multiples of the golden ratio, modulo 1: the extremes are at another position in each workgroup.
        let turns = |i: usize| 0.618_033_988_749_894_9 * (i * i + 7 * i + 1) as f64;
        let numbers: Vec<R> = (0..GROUPS * threads).map(|i| R::of(turns(i) - turns(i).floor() - 0.5)).collect();
        let found = self.computed("reduction", &numbers, TURNS, GROUPS, GROUPS * REDUCED)?;
        let most = |values: &[R], of: &dyn Fn(R) -> R| values.iter().fold(-R::LARGEST, |most, &value| most.larger(of(value)));
        Ok(numbers.chunks_exact(threads).zip(found.chunks_exact(REDUCED)).all(|(values, found)| {
            // Thread `i` changes the sign `TURNS - i % TURNS` times.
            let values: Vec<R> = values.iter().enumerate().map(|(i, &value)| if i % 2 == 0 { value } else { -value }).collect();
            let positive = values.iter().filter(|&&value| R::default() < value).count();
            found
                == [
                    most(&values, &|value| value),
                    most(&values, &|value| -value),
                    most(&values, &|value| value * value),
                    most(&values, &R::magnitude),
                    R::of(positive as f64),
                ]
        }))
    }
}
