//! Properties of every kernel.

use super::{Kernel, Lengthscales, linear, matern, squared_exponential};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value};
use privateer_numerics::linalg::cholesky_repaired;
use proptest::prelude::*;
use std::sync::Arc;

fn lengthscales() -> impl Strategy<Value = Lengthscales> {
    prop_oneof![
        (0.01..10.0_f64).prop_map(Lengthscales::Isotropic),
        proptest::collection::vec(0.01..10.0_f64, 3).prop_map(Lengthscales::PerDimension),
    ]
}

fn kernel() -> impl Strategy<Value = Arc<dyn Kernel>> {
    let nu = prop_oneof![Just(0.5), Just(1.5), Just(2.5), 0.05..8.0_f64];
    prop_oneof![
        (lengthscales(), 0.1..5.0_f64)
            .prop_map(|(l, v)| -> Arc<dyn Kernel> { Arc::new(squared_exponential::SquaredExponential::new(l, v)) }),
        (nu, lengthscales(), 0.1..5.0_f64).prop_map(|(nu, l, v)| -> Arc<dyn Kernel> { Arc::new(matern::Matern::new(nu, l, v)) }),
        (0.1..5.0_f64, 0.0..2.0_f64).prop_map(|(s, b)| -> Arc<dyn Kernel> { Arc::new(linear::LinearKernel::new(s, b)) }),
    ]
}

fn points(n: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    proptest::collection::vec(proptest::collection::vec(-2.0..2.0_f64, 3), n)
}

proptest! {
    #[test]
    fn symmetric_to_the_last_bit_and_bounded(k in kernel(), p in points(2)) {
        prop_assert_eq!(k.value(&p[0], &p[1]).to_bits(), k.value(&p[1], &p[0]).to_bits());
        if let Some(variance) = k.variance() {
            prop_assert_eq!(k.value(&p[0], &p[0]), variance);
            prop_assert!((0.0..=variance).contains(&k.value(&p[0], &p[1])));
        }
    }

    #[test]
    fn many_values_are_those_of_each(k in kernel(), p in points(20)) {
        let mut values = vec![f64::NAN; 20];
        k.values(&p[7], &p.concat(), &mut values);
        for (b, value) in p.iter().zip(&values) {
            prop_assert_eq!(value.to_bits(), k.value(&p[7], b).to_bits());
        }
    }

    #[test]
    fn many_values_in_any_dimension_are_those_of_each(
        l in 0.005..10.0_f64,
        each in any::<bool>(),
        dimension in 1..7_usize,
        p in proptest::collection::vec(-2.0..2.0_f64, 6 * 70),
    ) {
        let mut p = p[..dimension * 70].to_vec();
        // One point twice, and one far away.
        let (first, rest) = p.split_at_mut(dimension);
        rest[..dimension].copy_from_slice(first);
        rest[dimension..2 * dimension].fill(1e9);
        let scales = || match each {
            true => Lengthscales::PerDimension((0..dimension).map(|i| l * (1.0 + i as f64)).collect()),
            false => Lengthscales::Isotropic(l),
        };
        let mut kernels: Vec<Box<dyn Kernel>> = vec![Box::new(squared_exponential::SquaredExponential::new(scales(), 1.5))];
        kernels.extend([0.5, 1.5, 2.5, 0.8].map(|nu| -> Box<dyn Kernel> { Box::new(matern::Matern::new(nu, scales(), 1.5)) }));
        for k in kernels {
            let mut values = vec![f64::NAN; 70];
            k.values(&p[..dimension], &p, &mut values);
            for (b, value) in p.chunks(dimension).zip(&values) {
                prop_assert_eq!(value.to_bits(), k.value(&p[..dimension], b).to_bits());
            }
        }
    }

    #[test]
    fn small_gram_matrices_are_positive(k in kernel(), p in points(12)) {
        let mut gram: Vec<f64> = p.iter().flat_map(|a| p.iter().map(|b| k.value(a, b)).collect::<Vec<_>>()).collect();
        let trace: f64 = (0..12).map(|i| gram[i * 13]).sum();
        let repair = cholesky_repaired(&mut gram, 12);
        prop_assert!(repair.is_ok_and(|jitter| jitter <= 1e-10 * trace), "{:?}", repair);
    }

    #[test]
    fn axis_factors_multiply_to_the_kernel(l in lengthscales(), variance in 0.1..5.0_f64, p in points(2)) {
        let k = squared_exponential::SquaredExponential::new(l, variance);
        let factors = k.axis_factors(3).expect("a product kernel");
        let product: f64 = (0..3).map(|i| factors[i].value(&p[0][i..=i], &p[1][i..=i])).product();
        prop_assert!((product - k.value(&p[0], &p[1])).abs() <= 1e-13 * variance);
    }
}

/// Checks that orders next to a closed form agree with it.
///
/// The general formula and the closed forms are then one function.
#[test]
fn matern_is_continuous_in_its_smoothness() {
    for nu in [0.5, 1.5, 2.5] {
        for distance in [1e-9, 0.01, 0.3, 2.0, 15.0] {
            let value = |nu: f64| matern::Matern::new(nu, Lengthscales::Isotropic(0.5), 1.0).value(&[0.0], &[distance]);
            assert!((value(nu) - value(nu + 1e-13)).abs() < 1e-12, "nu {nu} r {distance}");
        }
        let far = matern::Matern::new(nu, Lengthscales::Isotropic(1e-200), 1.0);
        assert_eq!(far.value(&[0.0], &[1e200]), 0.0, "no NaN from infinity times zero");
    }
    let smooth = matern::Matern::new(1000.0, Lengthscales::Isotropic(0.5), 1.0);
    assert!((smooth.value(&[0.0], &[0.4]) - libm::exp(-0.32)).abs() < 1e-3, "tends to the squared exponential");
}

type Parser = fn(&Args<'_>) -> Arc<dyn Kernel>;

fn parse(parser: Parser, keys: &[(&str, Value)]) -> Result<Arc<dyn Kernel>, String> {
    let entry = |(key, value): &(&str, Value)| Entry { key: (*key).to_owned(), key_span: None, node: Node::bare(value.clone()) };
    let table = Table { entries: keys.iter().map(entry).collect(), span: None };
    let sink = Sink::new(Sources::default());
    let kernel = parser(&Args::new(&table, "kernel", &sink));
    sink.into_result().map(|()| kernel).map_err(|error| error.to_string())
}

#[test]
fn parsers_check_their_keys() {
    let array = |xs: &[f64]| Value::Array(xs.iter().map(|&x| Node::bare(Value::Float(x))).collect());
    let l = ("lengthscale", Value::Float(0.2));
    for parser in [squared_exponential::parse as Parser, matern::parse] {
        assert!(parse(parser, &[]).is_err_and(|e| e.contains("missing key `lengthscale`")));
        assert!(parse(parser, &[("lengthscale", Value::Integer(0))]).is_err());
        assert!(parse(parser, &[("lengthscale", Value::Float(f64::NAN))]).is_err());
        assert!(parse(parser, &[l.clone(), ("variance", Value::Float(-1.0))]).is_err());
        assert!(parse(parser, &[l.clone(), ("lengthscales", array(&[1.0]))]).is_err_and(|e| e.contains("both given")));
        assert!(parse(parser, &[("lengthscales", array(&[1.0, 0.0]))]).is_err_and(|e| e.contains("positive")));
        assert!(parse(parser, &[("lengthscales", array(&[]))]).is_err());
        assert!(parse(parser, &[l.clone(), ("lenghtscale", Value::Float(1.0))]).is_err_and(|e| e.contains("did you mean")));
        assert_eq!(parse(parser, std::slice::from_ref(&l)).expect("isotropic").dimension(), None);
        assert_eq!(parse(parser, &[("lengthscales", array(&[1.0, 2.0]))]).expect("per dimension").dimension(), Some(2));
        // A dry reading documents every key and does not panic.
        let sink = Sink::new(Sources::default());
        let args = Args::dry(&sink);
        parser(&args);
        assert!(
            ["lengthscale", "lengthscales", "variance"].iter().all(|key| args.documented().iter().any(|doc| doc.path == *key))
        );
    }
    assert!(parse(matern::parse, &[l.clone(), ("nu", Value::Float(0.0))]).is_err());
    assert!(parse(matern::parse, &[l, ("nu", Value::Integer(2000))]).is_err());
    assert!(parse(linear::parse, &[("bias", Value::Integer(-1))]).is_err());
    assert_eq!(parse(linear::parse, &[]).expect("defaults").value(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
}
