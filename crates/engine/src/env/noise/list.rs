//! Lists the noises that a spec can name.

use super::{Noise, bernoulli, gaussian, pareto, silent, student_t, sub_weibull, uniform};
use privateer_config::params::{Args, List, Named};
use std::sync::Arc;

/// All noises that a spec can name; resampled readings come with their table and are not listed.
pub static NOISES: List<Arc<dyn Noise>> = &[
    Named::new("uniform", "uniform on [-bound, bound] around the mean", "", uniform::parse),
    Named::new("gaussian", "normal around the mean", "", gaussian::parse),
    Named::new("student-t", "Student's t around the mean: heavy tails", "", student_t::parse),
    Named::new("pareto", "symmetric Pareto around the mean: heavier tails", "", pareto::parse),
    Named::new("sub-weibull", "symmetric Weibull around the mean: sub-Weibull tails", "Zhou2021", sub_weibull::parse),
    Named::new("bernoulli", "1 with probability the mean, else 0", "", bernoulli::parse),
    Named::new("none", "the mean itself", "", silent::parse),
];

/// Reads the key `noise`; no noise if it is wrong: an error is then recorded, with which nothing is built.
pub fn parse_noise(args: &Args<'_>) -> Arc<dyn Noise> {
    let variant = args.required_variant("noise", "observation noise", &args.items(NOISES).names());
    args.item(NOISES, variant).unwrap_or_else(|| Arc::new(silent::Silent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_config::error::{Error, Sources};
    use privateer_config::params::{Entry, LARGEST, Node, Sink, Table, Value};
    use privateer_numerics::rng::{Purpose, Streams};

    fn table(keys: &[(&str, f64)]) -> Table {
        let entry =
            |&(key, value): &(&str, f64)| Entry { key: key.to_owned(), key_span: None, node: Node::bare(Value::Float(value)) };
        Table { entries: keys.iter().map(entry).collect(), span: None }
    }

    fn read(kind: &str, keys: &[(&str, f64)]) -> Result<Arc<dyn Noise>, Error> {
        let (table, sink) = (table(keys), Sink::new(Sources::default()));
        let args = Args::new(&table, "noise", &sink);
        let noise = args.items(NOISES).read(kind, &args).expect("a listed noise");
        args.finish();
        sink.into_result().map(|()| noise)
    }

    fn noise(kind: &str, keys: &[(&str, f64)]) -> Arc<dyn Noise> {
        read(kind, keys).expect("valid keys")
    }

    fn complaint(kind: &str, keys: &[(&str, f64)]) -> String {
        read(kind, keys).expect_err("a mistake").to_string()
    }

    /// Holds kind, keys, mean, fourth central moment over the squared variance, and words per draw.
    type Case<'a> = (&'a str, &'a [(&'a str, f64)], f64, f64, usize);

    /// Means and variances lie within five standard errors, and rewards within the stated bounds.
    ///
    /// The false alarm rate is below 1e-6 per figure; the seed is fixed.
    #[test]
    fn moments() {
        let n = 100_000;
        let cases: [Case<'_>; 7] = [
            ("uniform", &[("bound", 2.0)], 0.3, 1.8, 1),
            ("gaussian", &[("sd", 0.5)], -1.0, 3.0, 1),
            ("student-t", &[("dof", 9.0), ("scale", 2.0)], 0.0, 4.2, 2),
            // The fourth moment is 24/((a-1)(a-2)(a-3)(a-4)) = 1/70, the second is 1/28.
            ("pareto", &[("shape", 9.0), ("scale", 3.0)], 0.5, 11.2, 2),
            // The moment of order n is Gamma(1 + n theta).
            ("sub-weibull", &[("tail_parameter", 0.5), ("scale", 3.0)], 0.5, 2.0, 2),
            ("bernoulli", &[], 0.5, 1.0, 1),
            ("none", &[], 7.0, 1.0, 0),
        ];
        for (kind, keys, mean, kurtosis, words) in cases {
            let noise = noise(kind, keys);
            let mut stream = Streams::new(3, "noise").of(0, Purpose::Noise);
            let mut counted = stream.clone();
            noise.reward(mean, 0, &mut stream);
            for _ in 0..words {
                counted.word();
            }
            assert_eq!(stream.clone().word(), counted.word(), "{kind} words");
            let errors: Vec<f64> = (0..n).map(|_| noise.reward(mean, 0, &mut stream) - mean).collect();
            let variance = noise.variance().expect("a finite variance");
            let first = errors.iter().sum::<f64>() / f64::from(n);
            let second = errors.iter().map(|e| e * e).sum::<f64>() / f64::from(n);
            assert!(first.abs() <= 5.0 * libm::sqrt(variance / f64::from(n)), "{kind} mean {first}");
            let error = variance * libm::sqrt((kurtosis - 1.0) / f64::from(n));
            assert!((second - variance).abs() <= 5.0 * error + 1e-12, "{kind} variance {second} for {variance}");
            for e in errors {
                assert!(noise.bound().is_none_or(|bound| e.abs() <= bound), "{kind} {e}");
                assert!(noise.range().is_none_or(|(lo, hi)| (lo..=hi).contains(&(mean + e))), "{kind} {e}");
            }
        }
    }

    /// Checks moment generating functions in closed form.
    ///
    /// The scale of uniform noise is its standard deviation, and no lesser one serves.
    #[test]
    fn sub_gaussian_scales() {
        let uniform = noise("uniform", &[("bound", 2.0)]).sub_gaussian_scale().expect("a scale");
        let normal = noise("gaussian", &[("sd", 0.7)]).sub_gaussian_scale();
        let bernoulli = noise("bernoulli", &[]).sub_gaussian_scale().expect("a scale");
        for x in (1..200).map(|i| 0.05 * f64::from(i)) {
            let bound = |scale: f64| libm::exp(0.5 * x * x * scale * scale);
            assert!(libm::sinh(2.0 * x) / (2.0 * x) <= bound(uniform), "uniform at {x}");
            for p in [0.1, 0.5, 0.9] {
                assert!(p * libm::exp(x * (1.0 - p)) + (1.0 - p) * libm::exp(-x * p) <= bound(bernoulli), "{p} at {x}");
            }
        }
        assert!(libm::exp(0.5 * 1e-4 * 0.99 * uniform * uniform) < libm::sinh(0.02) / 0.02);
        assert_eq!(normal, Some(0.7));
        assert_eq!(noise("student-t", &[("dof", 9.0)]).sub_gaussian_scale(), None);
        assert_eq!(noise("pareto", &[("shape", 9.0)]).sub_gaussian_scale(), None);
    }

    #[test]
    fn heavy_tails_have_no_variance() {
        assert_eq!(noise("student-t", &[("dof", 2.0)]).variance(), None);
        assert_eq!(noise("student-t", &[("dof", 4.0)]).variance(), Some(2.0));
        assert_eq!(noise("student-t", &[("dof", 4.0)]).bound(), None);
        assert_eq!(noise("pareto", &[("shape", 2.0)]).variance(), None);
        assert_eq!(noise("pareto", &[("shape", 3.0)]).variance(), Some(1.0));
        // The heaviest allowed tails still give finite rewards.
        for (trial, kind, key) in [(0, "student-t", "dof"), (1, "pareto", "shape")] {
            let heaviest = noise(kind, &[(key, 0.5), ("scale", LARGEST)]);
            let mut stream = Streams::new(3, "noise").of(trial, Purpose::Noise);
            assert!((0..10_000).all(|_| heaviest.reward(0.0, 0, &mut stream).is_finite()));
        }
    }

    #[test]
    fn mistakes_are_reported() {
        assert!(complaint("uniform", &[]).contains("missing key `bound` in `noise`"));
        assert!(complaint("gaussian", &[("sd", 0.0)]).contains("`noise.sd` is 0.0, out of range"));
        assert!(complaint("gaussian", &[("sd", 1.0), ("dof", 3.0)]).contains("unknown key `dof` in `noise`"));
        assert!(complaint("student-t", &[("dof", 0.1)]).contains("`noise.dof` is 0.1, out of range"));
        assert!(complaint("none", &[("bound", 1.0)]).contains("unknown key `bound`"));
    }
}
