//! The papers' printed formulas and the tree against stored reference cases.

use privateer_privacy::accounting::zcdp;
use privateer_privacy::printed::{dubey2021, dubey2021_local, han2022_choice, han2022_tree, kharkovskii2020};
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, Shape};
use privateer_privacy::{Delta, Epsilon, gdp_mu};
use serde_json::Value;

fn case(path: &str) -> Value {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(path);
    serde_json::from_str(&std::fs::read_to_string(file).expect("a case file")).expect("JSON")
}

fn rows(value: &Value) -> &Vec<Value> {
    value.as_array().expect("rows")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[track_caller]
fn close(found: f64, expected: &Value, what: &str) {
    let expected = number(expected);
    assert!((found - expected).abs() <= 1e-10 * expected.abs(), "{what}: {found} for {expected}");
}

#[test]
fn jdp_calibrations() {
    for row in rows(&case("bo/calibration.json")["jdp"]) {
        let (epsilon, delta, l) = (number(&row["alpha"]), number(&row["beta"]), number(&row["L"]));
        let (rounds, m, zeta) = (row["T"].as_u64().expect("rounds"), 36, 0.1);
        let (e, d) = (Epsilon::try_from(epsilon).expect("a budget"), Delta::try_from(delta).expect("a probability"));
        let n = dubey2021::nodes_printed(rounds);
        assert_eq!(Some(u64::from(n)), row["n"].as_u64());
        close(zcdp::textbook_rho(e, d), &row["zcdp_rho"], "rho");
        close(gdp_mu(e, d), &row["gdp_mu"], "mu");
        let proof = dubey2021::sigma_of_the_proof(n, l, epsilon, delta);
        close(proof, &row["sigma"]["proof"], "proof");
        close(dubey2021::sigma_of_the_statement(n, l, epsilon, delta), &row["sigma"]["statement"], "statement");
        close(dubey2021::sigma_right_power(n, l, epsilon, delta), &row["sigma"]["ss"], "ss");
        let nodes = f64::from(n);
        close((nodes / (2.0 * zcdp::textbook_rho(e, d))).sqrt() * l, &row["sigma"]["zcdp"], "zcdp");
        close(nodes.sqrt() * l / gdp_mu(e, d), &row["sigma"]["gdp_repl"], "gdp");
        let spectrum = &row["spectrum_proof_m36_zeta0.1"];
        let lambda = dubey2021::spectrum(proof, n, m, rounds, zeta);
        close(lambda, &spectrum["Lambda"], "Lambda");
        close(2.0 * lambda, &spectrum["shift"], "shift");
        close(dubey2021_local::sigma_gram(epsilon, delta), &row["local"]["sigma_x"], "sigma_x");
        close(dubey2021_local::sigma_reward_bounded(1.0, epsilon, delta), &row["local"]["sigma_u"], "sigma_u");
        let (gram, reward) = dubey2021_local::corrected_sensitivities(1.0, epsilon, delta);
        close(gram, &row["local_replacement"][0], "corrected Gram");
        close(reward, &row["local_replacement"][1], "corrected reward");
    }
    let facts = &case("bo/calibration.json")["sens_subgaussian"];
    let found = dubey2021::squared_norm(number(&facts["B"]), number(&facts["rho"]), 1024, number(&facts["beta"]));
    close(found, &facts["L"], "L");
}

#[test]
fn frank_wolfe_noise_levels() {
    for row in rows(&case("oco/noise_levels.json")["rows"]) {
        let (n, d) = (row["n"].as_u64().expect("n"), row["d"].as_u64().expect("d") as usize);
        let of = |key: &str| number(&row[key]);
        let sensitivity = 2.0 * (of("beta") * of("D") + of("L"));
        // q is dual to p.
        let p: f64 = row["p"].as_str().expect("p").parse().expect("a number");
        let q = if p.is_infinite() { 1.0 } else { p / (p - 1.0) };
        assert_eq!(Some(u64::from(han2022_tree::levels(n))), row["h"].as_u64());
        let sigma = han2022_tree::theorem_3_1(of("kappa"), sensitivity, n, of("eps"), of("delta"));
        close(sigma, &row["sigma_plus"], "sigma_plus");
        if 2.0 <= q {
            let (_, kappa) = han2022_tree::noise_norm(q, d);
            assert!(kappa <= of("kappa") * (1.0 + 1e-12), "the least constant is at most the rule's");
        }
        let scale = han2022_choice::laplace_scale(of("D"), of("beta"), of("L"), n, 1, of("eps"), of("delta"));
        close(scale, &row["laplace_scale_t1"], "Laplace scale");
    }
}

#[test]
fn omegas() {
    for row in rows(&case("pogp/omega.json")["rows"]) {
        let r = row["r"].as_u64().expect("r") as u32;
        close(kharkovskii2020::omega(r, number(&row["eps"]), number(&row["delta"])), &row["root"], "root");
        close(kharkovskii2020::omega_as_printed(r, number(&row["eps"]), number(&row["delta"])), &row["printed"], "printed");
    }
}

/// Node (level, j) covers items j 2^level + 1 to (j + 1) 2^level; the tree draws it in round (j + 1) 2^level.
#[test]
fn tree_prefixes() {
    let file = case("bo/tree.json");
    let flat = |matrix: &Value| -> Vec<f64> { rows(matrix).iter().flat_map(|row| rows(row).iter().map(number)).collect() };
    let mut noise = Tree::new(file["T"].as_u64().expect("T")).noise(Shape::Vector(16));
    let mut raw = [0.0; 16];
    for (prefix, item) in rows(&file["prefixes"])[1..].iter().zip(rows(&file["items"])) {
        let k = prefix["s"].as_u64().expect("s");
        let level = k.trailing_zeros();
        // The stored node is square; it enters as (Z + Z^T)/sqrt(2).
        let square = flat(&file["node_noise"][format!("{level},{}", (k >> level) - 1)]);
        let node: Vec<f64> = (0..16).map(|i| (square[i] + square[i % 4 * 4 + i / 4]) / 2.0_f64.sqrt()).collect();
        let found = noise.next(&mut |out| out.copy_from_slice(&node)).to_vec();
        let z: Vec<f64> = rows(item).iter().map(number).collect();
        raw.iter_mut().enumerate().for_each(|(i, sum)| *sum += z[i / 4] * z[i % 4]);
        for (i, (noise, sum)) in flat(&prefix["noise"]).iter().zip(flat(&prefix["noisy_sum"])).enumerate() {
            assert!((found[i] - noise).abs() < 1e-12, "prefix {k}: {} for {noise}", found[i]);
            assert!((raw[i] + found[i] - sum).abs() < 1e-12, "prefix {k}");
        }
    }
}
