//! Tests identities of the curators and the size of the noise; audits attack the projection.

use super::*;
use crate::{Budget, Calibration, Guarantee, Raw, Refusal, Request, printed::kharkovskii2020::omega};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

fn stream(label: &str) -> Stream {
    Streams::new(11, label).of(0, Purpose::Curator)
}

fn inputs(n: usize, d: usize, size: f64) -> Inputs {
    let mut draws = stream("inputs");
    Inputs::new(d, Arc::new((0..n * d).map(|_| size * draws.normal()).collect()))
}

fn build(entry: &CuratorEntry, calibration: Calibration, epsilon: f64, need: InputsNeed) -> Result<Arc<dyn Curator>, Refusal> {
    let budget = Budget::new(Some(epsilon), Some(1e-5)).expect("a budget");
    (entry.build)(&Request { mechanism: entry.name, calibration, budget, clip: None }, need)
}

/// Builds noise for rows that move by `radius`.
fn noisy(epsilon: f64, radius: f64, columns: Option<usize>) -> Arc<dyn Curator> {
    build(&input_noise::ENTRY, Calibration::Tight, epsilon, InputsNeed { radius: Some(radius), columns }).expect("built")
}

/// Builds a projection to `r` columns.
fn projected(entry: &CuratorEntry, epsilon: f64, r: usize) -> Arc<dyn Curator> {
    build(entry, Calibration::AsPrinted, epsilon, InputsNeed { radius: None, columns: Some(r) }).expect("built")
}

fn released_inputs(curator: &dyn Curator, inputs: &Inputs) -> ReleasedInputs {
    curator.release(Raw::seal(inputs.clone()), &mut stream("draws")).expect("released").value().clone()
}

fn distance(values: &[f64], d: usize, a: usize, b: usize) -> f64 {
    (0..d).map(|j| values[a * d + j] - values[b * d + j]).map(|x| x * x).sum::<f64>().sqrt()
}

/// Checks that rows released in d coordinates have the distances of the paper's n x r matrix.
#[test]
fn the_short_form_keeps_the_distances_of_the_long_one() {
    for (entry, epsilon) in [(projection::PROJECTION, 1.0), (projection::ALWAYS_LIFT, 1e4), (projection::PROJECTION, 1e6)] {
        let (data, r) = (inputs(40, 3, 30.0), 7);
        let short = released_inputs(projected(&entry, epsilon, r).as_ref(), &data);
        assert_eq!((short.dimension, short.noise_variance, short.aligned), (3, 0.0, false));
        let mut draws = stream("draws");
        // M is drawn column by column.
        let m: Vec<f64> = (0..3 * r).map(|_| draws.normal()).collect();
        let always = entry.name == projection::ALWAYS_LIFT.name;
        let x = lifted(&centred(&data), 3, omega(r as u32, epsilon, 1e-5), always).expect("full rank");
        let unit = 1.0 / (r as f64).sqrt();
        let z: Vec<f64> = x
            .chunks_exact(3)
            .flat_map(|row| (0..r).map(|c| (0..3).map(|k| row[k] * m[c * 3 + k]).sum::<f64>() * unit).collect::<Vec<_>>())
            .collect();
        for (a, b) in [(0, 1), (5, 39), (17, 17), (20, 3)] {
            let (long, short) = (distance(&z, r, a, b), distance(&short.values, 3, a, b));
            assert!((long - short).abs() < 1e-9 * (1.0 + long), "{}: {long} {short}", entry.name);
        }
        let ledger = projected(&entry, epsilon, r).ledger(40, 3);
        assert!(matches!(&ledger.guarantee, Guarantee::NoGuarantee { erratum, .. } if erratum == "E16"));
        assert_eq!((ledger.delivered.as_str(), ledger.delivered_epsilon), ("epsilon = infinity", None));
    }
}

#[test]
fn more_columns_extend_fewer() {
    let data = inputs(10, 4, 1.0);
    let of = |r| released_inputs(projected(&projection::PROJECTION, 1e9, r).as_ref(), &data);
    let (two, three) = (of(2), of(3));
    for row in 0..10 {
        for c in 0..2 {
            let scaled = two.values[row * 2 + c] * (2.0f64 / 3.0).sqrt();
            assert!((scaled - three.values[row * 3 + c]).abs() < 1e-12);
        }
    }
}

#[test]
fn input_noise_has_the_stated_size_and_a_guarantee() {
    let data = inputs(20_000, 2, 5.0);
    for (epsilon, sigma) in [(std::f64::consts::E.powf(1.1), 1.389), (1.0, 3.73)] {
        let curator = noisy(epsilon, 2.0, None);
        let released_inputs = released_inputs(curator.as_ref(), &data);
        assert!(
            released_inputs.aligned && (released_inputs.noise_variance.sqrt() / 2.0 - sigma).abs() < 5e-3,
            "{}",
            released_inputs.noise_variance
        );
        let n = data.values().len() as f64;
        let square = released_inputs.values.iter().zip(data.values()).map(|(z, x)| (z - x) * (z - x)).sum::<f64>() / n;
        // The variance of 40 000 squares: five standard deviations, a false alarm once in a million.
        assert!((square / released_inputs.noise_variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{square}");
        let ledger = curator.ledger(20_000, 2);
        assert_eq!(ledger.guarantee, Guarantee::Holds);
        let neighbours = ledger.threat_model.neighbours_words();
        assert!(neighbours.contains("by at most 2"), "{neighbours}");
        assert!(ledger.delivered.contains("per row"), "{}", ledger.delivered);
    }
}

#[test]
fn fewer_columns_go_through_the_public_projection() {
    let data = inputs(30, 5, 1.0);
    let curator = noisy(1e3, 1.0, Some(2));
    let released_inputs = released_inputs(curator.as_ref(), &data);
    assert_eq!((released_inputs.dimension, released_inputs.aligned), (2, false));
    let map = public_projection(5, 2, PUBLIC_SEED);
    let stretch = largest_singular_value(&map, 5, 2);
    assert!((stretch - 2.5_f64.sqrt()).abs() < 1e-9, "{stretch}");
    for (d, r) in [(1, 1), (5, 2), (7, 7), (40, 11)] {
        let map = public_projection(d, r, 3);
        for (a, b) in (0..r).flat_map(|a| (0..r).map(move |b| (a, b))) {
            let product: f64 = (0..d).map(|i| map[i * r + a] * map[i * r + b]).sum();
            let expected = if a == b { d as f64 / r as f64 } else { 0.0 };
            assert!((product - expected).abs() < 1e-12 * d as f64, "{d} {r} {a} {b}: {product}");
        }
    }
    // A matrix that is not orthogonal, as of releases before: its own stretch is the price.
    let upper = largest_singular_value(&[1.0, 1.0, 0.0, 1.0], 2, 2);
    assert!((upper - (1.0 + 5.0_f64.sqrt()) / 2.0).abs() < 1e-9, "{upper}");
}

#[test]
fn what_cannot_be_curated_is_refused_with_words() {
    let printed = |columns| build(&projection::PROJECTION, Calibration::AsPrinted, 1.0, InputsNeed { radius: None, columns });
    let said = |refusal: Refusal| refusal.to_string();
    let corrected =
        build(&projection::PROJECTION, Calibration::Corrected, 1.0, InputsNeed { radius: None, columns: None }).map_err(said);
    assert!(corrected.expect_err("refused").contains("no corrected calibration"));
    for (radius, word) in [(None, "needs to know"), (Some(0.0), "`radius` is 0"), (Some(f64::NAN), "NaN")] {
        let refused = build(&input_noise::ENTRY, Calibration::Tight, 1.0, InputsNeed { radius, columns: None })
            .map_err(said)
            .expect_err("refused");
        assert!(refused.contains(word), "{refused}");
    }
    let curator = printed(Some(3)).expect("built");
    let constant = Inputs::new(2, Arc::new((0..20).map(|i| if i % 2 == 0 { 4.0 } else { f64::from(i) }).collect()));
    let duplicate = Inputs::new(2, Arc::new((0..20).map(|i| f64::from(i / 2)).collect()));
    let one_row = Inputs::new(2, Arc::new(vec![1.0, 2.0]));
    let wide = Inputs::new(5, Arc::new((0..15).map(|i| f64::from(i * i)).collect()));
    for data in [constant, duplicate, one_row, wide] {
        let refused = curator.release(Raw::seal(data), &mut stream("x")).map_err(said).expect_err("refused");
        assert!(refused.contains("full column rank"), "{refused}");
    }
}

/// Returns five rows with mean `(100, -50)`.
/// Centred, two of them have length 5, two length 1, and one length 0.
fn five_rows() -> Inputs {
    let rows = [3.0, 4.0, -3.0, -4.0, 0.6, 0.8, -0.6, -0.8, 0.0, 0.0];
    Inputs::new(2, Arc::new(rows.iter().enumerate().map(|(i, x)| x + if i % 2 == 0 { 100.0 } else { -50.0 }).collect()))
}

/// Wraps a curator with almost no noise (sigma = 7e-7 of the radius).
fn scaled(norm: Option<f64>, bound: Option<f64>) -> Scaled {
    Scaled::new(noisy(1e12, 1.0, None), norm, bound, false).expect("made")
}

fn prepared(curator: &Scaled, data: &Inputs) -> (usize, f64) {
    let preparation = curator.preparation(&Raw::seal(data.clone())).expect("prepared");
    (preparation.moved, preparation.scale)
}

/// Checks that rows beyond the bound are moved to it in their direction, counted and reported.
/// Other rows are unchanged, for every norm.
#[test]
fn rows_beyond_the_bound_are_moved_counted_and_said() {
    let moved = [1.2, 1.6, -1.2, -1.6, 0.6, 0.8, -0.6, -0.8, 0.0, 0.0];
    let plain = released_inputs(&scaled(None, Some(100.0)), &five_rows());
    for (norm, scale) in [(None, 1.0), (Some(10.0), 5.0), (Some(0.5), 0.25)] {
        let curator = scaled(norm, Some(2.0));
        let found = released_inputs(&curator, &five_rows());
        let off = found.values.iter().zip(moved).map(|(z, x)| (z - x).abs()).fold(0.0, f64::max);
        assert!(off < 2e-5, "{norm:?}: {:?}", found.values);
        // The noise variance of the scaled units, converted to units of the inputs.
        assert!((found.noise_variance * scale * scale / plain.noise_variance - 1.0).abs() < 1e-12, "{norm:?}");
        assert_eq!(prepared(&curator, &five_rows()), (2, scale));
        let notes = curator.ledger(5, 2).notes.join("; ");
        assert!(notes.contains("the public bound 2, to which longer rows are moved"), "{notes}");
        let stands = norm.map(|norm| format!("scaled so that {norm} stands for"));
        assert!(stands.is_none_or(|words| notes.contains(&words)), "{notes}");
    }
    // A row at the bound is not beyond it.
    for (bound, count) in [(5.0, 0), (4.999, 2), (0.999, 4)] {
        assert_eq!(prepared(&scaled(None, Some(bound)), &five_rows()).0, count, "{bound}");
    }
    // Without a bound the data's own largest norm is used and reported as not private; a mechanism with a guarantee refuses it.
    let own = scaled(Some(10.0), None);
    assert_eq!(prepared(&own, &five_rows()), (0, 2.0));
    assert!(own.ledger(5, 2).notes.join("; ").contains("not private (E19)"));
    let refused = Scaled::new(noisy(1.0, 1.0, None), Some(10.0), None, true).expect_err("refused").to_string();
    assert!(refused.contains("`bound`") && refused.contains("E19"), "{refused}");
}

/// Checks that scaling by the data's own largest norm moves rows that did not change (E19).
/// Where the largest norm grows from 20 to 21, rows of norm 10, 5 and 15 move by 1.11 in all before they reach the mechanism.
/// Centred alone, four rows of which one moves by 1 move by 0.87.
#[test]
fn scaling_by_the_largest_norm_moves_every_row() {
    let rows = |all: &[f64]| Inputs::new(1, Arc::new(all.to_vec()));
    let scale = |largest: f64| prepared(&scaled(Some(25.0), None), &rows(&[largest, -largest])).1;
    let change = scale(20.0) - scale(21.0);
    let apart = [10.0, 5.0, 15.0].iter().map(|norm| (norm * change) * (norm * change)).sum::<f64>().sqrt();
    assert!((apart - 1.11).abs() < 0.005, "{apart}");
    let (before, after) = (centred(&rows(&[10.0, 5.0, 15.0, 20.0])), centred(&rows(&[10.0, 5.0, 15.0, 21.0])));
    let apart = before.iter().zip(&after).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    assert!((apart - 0.866).abs() < 5e-4, "{apart}");
}

/// Checks that centring and moving rows never increases the distance of data sets.
/// The guarantee depends on this for data sets that differ in one row. Both use the same stream, so the noise cancels.
#[test]
fn moving_rows_takes_neighbours_no_further_apart() {
    let mut draws = stream("neighbours");
    for trial in 0..200 {
        let data = inputs(12, 3, 2.0);
        let mut other = data.values().to_vec();
        let row = draws.index(12);
        other[3 * row..][..3].iter_mut().for_each(|x| *x += 3.0 * draws.normal());
        let other = Inputs::new(3, Arc::new(other));
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        let curator = scaled((trial % 2 == 0).then_some(7.0), Some(0.5 + 0.02 * f64::from(trial)));
        let (before, after) = (
            apart(data.values(), other.values()),
            apart(&released_inputs(&curator, &data).values, &released_inputs(&curator, &other).values),
        );
        assert!(after <= before * (1.0 + 1e-9), "{trial}: {before} became {after}");
    }
}
