//! Two forms of one posterior choose alike.

use crate::support::ran;

fn points(environment: &str, features: &str) -> Vec<Option<i64>> {
    let text = format!(
        "seed = 2\nrounds = 300\ntrials = 3\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"rkhs\"\n{environment}\n\
         noise = {{ kind = \"gaussian\", sd = 0.5 }}\n[[policy]]\nkind = \"igp-ucb\"\nridge = 0.5\n\
         beta = {{ kind = \"constant\", value = 1.5 }}\n{features}"
    );
    ran(&text).cell(0).point.clone()
}

#[test]
fn exact_posterior_and_exact_features_choose_alike() {
    for environment in [
        "domain = { kind = \"grid\", points = 60 }\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }",
        "domain = { kind = \"grid\", points = 60 }\nkernel = { kind = \"squared-exponential\", lengthscale = 0.2 }",
        "domain = { kind = \"random\", dimension = 3, points = 200 }\nkernel = { kind = \"matern\", nu = 0.5, lengthscale = 0.4 }",
        "domain = { kind = \"random\", dimension = 3, points = 100 }\nkernel = { kind = \"linear\", bias = 0.3 }",
    ] {
        let exact = points(environment, "");
        assert_eq!(exact, points(environment, "features = { kind = \"exact\", tolerance = 1e-13 }"), "{environment}");
        let mut distinct = exact;
        distinct.sort_unstable();
        distinct.dedup();
        assert!(3 < distinct.len(), "{environment}: too few choices to compare");
    }
}

/// A server of the local model that knows the points is `gp-ucb` on the same released rewards.
#[test]
fn own_rewards_at_public_points_are_those_of_gp_ucb() {
    let points = |policy: &str, protects: &str| {
        let text = format!(
            "seed = 3\nrounds = 200\ntrials = 3\nreferences = false\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"rkhs\"\n\
             domain = {{ kind = \"grid\", points = 30 }}\nkernel = {{ kind = \"squared-exponential\", lengthscale = 0.3 }}\n\
             noise = \"bernoulli\"\noutput = \"unit\"\n[privacy]\nepsilon = 2.0\n{protects}\n[[policy]]\nlabel = \"one\"\n\
             kind = {policy}\nridge = 2.0\nbeta = {{ kind = \"constant\", value = 2.0 }}\n"
        );
        ran(&text).cell(0).point.clone()
    };
    let local = "\"local-jdp-gp-ucb\"\nfeatures = { kind = \"exact\", tolerance = 1e-12 }";
    let learned = points("\"gp-ucb\"", "");
    assert_eq!(learned, points(local, ""));
    assert_ne!(learned, points(local, "protects = \"contexts and rewards\""));
}

/// Rewards without a variance have the scale of their clip range.
#[test]
fn own_rewards_of_heavy_tails_are_scaled_by_the_clip() {
    let text = "references = false\nrounds = 20\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 9 }\n\
                kernel = { kind = \"squared-exponential\", lengthscale = 0.3 }\nnoise = { kind = \"pareto\", shape = 1.5, scale = 0.1 }\n\
                [privacy]\nepsilon = 2.0\nclip = [-2.0, 2.0]\n[[policy]]\nkind = \"local-jdp-gp-ucb\"\n";
    assert!(!ran(text).cell(0).point.is_empty());
}
