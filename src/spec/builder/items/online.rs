//! Typed builders of online convex optimization, made from the lists (`PRIVATEER_UPDATE=1 cargo test reference`).

use super::super::macros::items;
use super::super::{Item, SettingValue};

items! {
    /// `linear-regression`: normal features on the dual norm's unit sphere, normal noise.
    LinearRegression = Item::of("linear-regression"); {
        /// Sets `dimension`: features. Accepts a whole number from 1 to 100000.
        dimension("dimension"): u64,
        /// Sets `set`: where parameters live. Accepts one of `lp-ball`, `simplex`, `polytope`.
        set("set"): impl Into<SettingValue>,
        /// Sets `loss`: what is minimised. Accepts one of `squared`, `logistic`, `smoothed-absolute`; default: squared.
        loss("loss"): impl Into<SettingValue>,
        /// Sets `truth`: the true parameter: all entries equal, or normal entries drawn for every trial. Accepts one of `ones`, `normal`; default: ones.
        truth("truth"): &str,
        /// Sets `truth_norm`: norm of the true parameter, in the set's norm. Accepts a number > 0 and <= 1e6; default: 1.
        truth_norm("truth_norm"): f64,
        /// Sets `noise`: standard deviation of the responses' normal noise. Accepts a number >= 0 and <= 1e6; default: 0.05.
        noise("noise"): f64,
        /// Sets `test_samples`: samples that risk is measured on; validation has as many of its own. Accepts a whole number from 1 to 10000000; default: 10000.
        test_samples("test_samples"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `logistic-regression`: the same features, responses 0 and 1 with logistic odds.
    LogisticRegression = Item::of("logistic-regression"); {
        /// Sets `dimension`: features. Accepts a whole number from 1 to 100000.
        dimension("dimension"): u64,
        /// Sets `set`: where parameters live. Accepts one of `lp-ball`, `simplex`, `polytope`.
        set("set"): impl Into<SettingValue>,
        /// Sets `loss`: what is minimised. Accepts one of `squared`, `logistic`, `smoothed-absolute`; default: logistic.
        loss("loss"): impl Into<SettingValue>,
        /// Sets `truth`: the true parameter: all entries equal, or normal entries drawn for every trial. Accepts one of `ones`, `normal`; default: ones.
        truth("truth"): &str,
        /// Sets `truth_norm`: norm of the true parameter, in the set's norm. Accepts a number > 0 and <= 1e6; default: 1.
        truth_norm("truth_norm"): f64,
        /// Sets `test_samples`: samples that risk is measured on; validation has as many of its own. Accepts a whole number from 1 to 10000000; default: 10000.
        test_samples("test_samples"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `lp-ball`: |theta|_p <= radius, 1 <= p <= infinity.
    LpBall = Item::of("lp-ball"); {
        /// Sets `p`: exponent of the norm. Accepts a finite number >= 1, or `inf`; default: 2.
        p("p"): impl Into<SettingValue>,
        /// Sets `radius`: radius of the ball, in that norm. Accepts a number > 0 and <= 1e9; default: 1.
        radius("radius"): f64,
    }
    /// `simplex`: nonnegative parameters of a given sum.
    Simplex = Item::of("simplex"); {
        /// Sets `total`: sum of the parameters. Accepts a number > 0 and <= 1e9; default: 1.
        total("total"): f64,
    }
    /// `polytope`: the hull of stated vertices.
    Polytope = Item::of("polytope"); {
        /// Sets `vertices`: coordinates of the vertices, one vertex after the other. Accepts an array of numbers.
        vertices("vertices"): Vec<f64>,
        /// Sets `p`: exponent of the geometry's norm. Accepts a finite number >= 1, or `inf`; default: 1.
        p("p"): impl Into<SettingValue>,
    }
    /// `squared`: (y - z)², its slope clipped (Huber).
    SquaredLoss = Item::of("squared"); {
        /// Sets `clip`: bound on the slope 2 (z - y): beyond it the square is continued by its tangent (Huber). Accepts a number > 0 and <= 1e12, or `none`; default: 1.
        clip("clip"): impl Into<SettingValue>,
    }
    /// `logistic`: ln(1 + e^z) - y z.
    LogisticLoss = Item::of("logistic"); {
    }
    /// `smoothed-absolute`: absolute deviation, rounded at zero.
    SmoothedAbsoluteLoss = Item::of("smoothed-absolute"); {
        /// Sets `width`: radius of the rounding at zero, in units of the response. Accepts a number > 0 and <= 1e9; default: 0.1.
        width("width"): f64,
    }
    /// `dp-tofw`: Frank-Wolfe on noisy prefix sums of recursive gradients.
    DpTofw = Item::of("dp-tofw"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `dp-pofw`: Frank-Wolfe on noisily chosen vertices.
    DpPofw = Item::of("dp-pofw"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `noisy-sfw`: Frank-Wolfe on noisy batch gradients, each sample in one batch.
    NoisySfw = Item::of("noisy-sfw"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `noisy-sgd`: n² noisy steps over stored samples; answers once.
    NoisySgd = Item::of("noisy-sgd"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `local-md`: mirror descent in phases, 1 < p <= 2; one pass, our reading.
    LocalMd = Item::of("local-md"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `ofw`: online Frank-Wolfe without privacy.
    Ofw = Item::of("ofw"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `projected-sgd`: projected gradient descent without privacy, mean iterate.
    ProjectedSgd = Item::of("projected-sgd"); {
        /// Sets `learning_rate`: factor on the learner's steps. Accepts a number > 0 and <= 1e6; default: 1.
        learning_rate("learning_rate"): f64,
        /// Sets `learning_rates`: candidates; validation data picks one, the same in every shard; replaces `learning_rate`. Accepts an array of numbers.
        learning_rates("learning_rates"): Vec<f64>,
        /// Sets `validation_trials`: trials on validation data that choose the learning rate. Accepts a whole number from 1 to 10000; default: 5.
        validation_trials("validation_trials"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
}
