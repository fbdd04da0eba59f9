//! `privateer account` at the ends of what f64 holds: a finite price or a refusal, at every option.

use crate::program::*;
use privateer_privacy::mechanism::MECHANISMS;

const ENDS: [&str; 7] = ["5e-324", "1e-308", "1e-150", "1", "1e150", "1e300", "1.7e308"];

/// Returns why an answer is wrong; `None` for a refusal and for a price that can be right.
fn fault(arguments: &[&str]) -> Option<String> {
    let output = run(root(), &[&["account"], arguments, &["--json"]].concat());
    let (said, text) = (stderr(&output), stdout(&output));
    if code(&output) == Some(2) {
        return (!said.contains("expected") || said.contains("panicked")).then_some(said);
    }
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return Some(format!("{:?}: {text}{said}", code(&output))) };
    let quote = &value["quotes"][0]["quote"];
    let positive = |x: &Value| x.as_f64().is_some_and(|x| 0.0 < x && x.is_finite());
    if !positive(&quote["sensitivity"]) || !(quote["noise_size"].is_null() || positive(&quote["noise_size"])) {
        return Some(format!("sensitivity {}, noise {}", quote["sensitivity"], quote["noise_size"]));
    }
    let (loss, mut before) = (&quote["composition"]["parts"][0], 0.0);
    let pure = quote["pure_epsilon"].as_f64();
    for point in quote["curve"].as_array().expect("a curve") {
        let (Some(lower), Some(upper)) = (point["epsilon"]["lower"].as_f64(), point["epsilon"]["upper"].as_f64()) else {
            return Some(format!("{point} is called a price"));
        };
        let ordered = 0.0 <= lower && lower <= upper * (1.0 + 1e-9) && before <= upper * (1.0 + 1e-9);
        if !ordered || pure.is_some_and(|pure| pure * (1.0 + 1e-9) < upper) {
            return Some(format!("{point} after {before}, pure {pure:?}"));
        }
        before = upper;
        // mu²/2 + mu z with |z| < 7: what a large Gaussian loss is.
        if let Some(mu) = loss[0]["mu"].as_f64().filter(|mu| 1e3 < *mu)
            && (upper / (0.5 * mu * mu) - 1.0).abs() > 0.02
        {
            return Some(format!("{point} at mu = {mu}"));
        }
    }
    None
}

#[test]
fn prices_at_the_ends_of_f64_are_finite_or_refused() {
    let mut cases: Vec<Vec<&str>> = Vec::new();
    for mechanism in MECHANISMS.iter().map(|entry| entry.name).filter(|name| *name != "none") {
        for option in ["--answer-epsilon", "--epsilon"] {
            for clip in ["--clip=-1,1", "--clip=-1e308,1e308", "--clip=0,5e-324", "--clip=-1e300,1e300"] {
                cases.extend(ENDS.map(|end| vec![mechanism, option, end, clip, "--delta", "1e-6"]));
            }
            cases.extend(["5e-324", "0.9999999999999999"].map(|d| vec![mechanism, option, "1", "--clip=-1,1", "--delta", d]));
        }
        for epsilon in ["1", "1e150"] {
            let most = "18446744073709551615";
            cases.push(vec![mechanism, "--answer-epsilon", epsilon, "--clip=-1,1", "--delta", "1e-6", "--participations", most]);
        }
    }
    for stream in ["vector-prefix", "gram-prefix"] {
        for radius in ENDS {
            for end in ENDS {
                cases.push(vec![stream, "--factorisation", "tree", "--radius", radius, "--sigma", end]);
                cases.push(vec![stream, "--factorisation", "tree", "--radius", radius, "--epsilon", end, "--delta", "1e-6"]);
            }
        }
        cases.extend(["5e-324", "0.9999999999999999"].map(|d| vec![stream, "--epsilon", "1", "--delta", d]));
    }
    for factorisation in ["blt", "tree", "honaker", "sqrt-toeplitz"] {
        for (horizon, participations, separation) in
            [("10000000", "10000000", "1"), ("1000000", "2", "999999"), ("1", "1", "18446744073709551615")]
        {
            let numbers = ["--horizon", horizon, "--participations", participations, "--separation", separation];
            cases.push([&["vector-prefix", "--sigma", "1", "--factorisation", factorisation][..], &numbers].concat());
        }
    }
    let wrong: Vec<String> =
        cases.iter().filter_map(|case| fault(case).map(|fault| format!("{}: {fault}", case.join(" ")))).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A refusal names the option or the number that is beyond f64, and what to use.
#[test]
fn refusals_name_the_number() {
    for (arguments, words) in [
        ("gram-prefix --radius 1e308 --sigma 1", ["`--radius` is 1e308", "1e-150 to 1e150"]),
        ("vector-prefix --radius 1 --sigma 1e-300", ["`--sigma` is 1e-300", "1e-150 to 1e150"]),
        ("vector-prefix --radius 1e100 --sigma 1e-100", ["the privacy loss of `vector-prefix`", "more noise"]),
        ("laplace --answer-epsilon 1 --clip=-1e308,1e308", ["wider than the largest f64", "at most 1e150"]),
    ] {
        println!("{arguments}");
        ends(&run(root(), &self::words(&format!("account {arguments}"))), 2, &words);
    }
}
