//! Typed builders of policies and their features, made from the lists (`PRIVATEER_UPDATE=1 cargo test reference`).

use super::super::macros::items;
use super::super::{Item, SettingValue};

items! {
    /// `ata-gp-ucb`: GP-UCB truncated in Nystrom feature space: LDP-ATA-GP-UCB, ATA-GP-UCB.
    AtaGpUcb = Item::of("ata-gp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `resample`: when the dictionary is drawn again: after every update, when the number of updates has doubled, or never. Accepts one of `every-round`, `doubling`, `fixed`; default: every-round.
        resample("resample"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `accuracy`: error of the embedding that the theorem's constants suppose. Accepts a number > 0 and < 1; default: 0.5.
        accuracy("accuracy"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `q`: a play enters the dictionary with probability min(1, q times the posterior variance). Accepts a number > 0 and <= 1e12; default: the theorem's 6 rho ln(4 T/failure_prob)/accuracy² with beta `theory`, else 2.
        q("q"): f64,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `tails`: what is assumed of the observation noise, with and without privacy: light tails, so that only noise of an unbounded mechanism is truncated, or a bounded moment alone; `auto`: `moment` where `moment` is stated or the noise has heavy tails, else `sub-gaussian`. Accepts one of `auto`, `sub-gaussian`, `moment`; default: auto.
        tails("tails"): &str,
        /// Sets `moment`: v: bound on the moment of a released reward, or `train`: its mean over the train readings. Accepts a finite number > 0, or `train`; default: B² + variance of noise and mechanism.
        moment("moment"): impl Into<SettingValue>,
        /// Sets `moment_order`: 1 + a: the order of the moment that v bounds, for rewards without a second moment. Accepts a number > 1 and <= 2; default: 2.
        moment_order("moment_order"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `gp-ucb`: GP-UCB with the Bayesian exploration factor.
    GpUcb = Item::of("gp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `count_start`: whether starting rounds count in the t of beta; \[Kharkovskii2020\] counts queries after the first point. Accepts true or false; default: true.
        count_start("count_start"): bool,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes, beside the kernel's prior variance; `mechanism`: that of the observation noise and of the mechanism. Accepts a number > 0 and <= 1e12, or `mechanism`; default: 1.
        ridge("ridge"): impl Into<SettingValue>,
        /// Sets `input_noise`: what the kernel makes of noise that a curator put on the inputs. Accepts one of `modelled`, `without-row-term`, `ignored`; default: modelled.
        input_noise("input_noise"): &str,
        /// Sets `features`: feature map; without one the posterior is exact, over the points visited. Accepts one of `exact`, `nystrom`, `quadrature-fourier`, `random-fourier`.
        features("features"): impl Into<SettingValue>,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `igp-ucb`: GP-UCB with the improved frequentist exploration factor.
    IgpUcb = Item::of("igp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes, beside the kernel's prior variance; `mechanism`: that of the observation noise and of the mechanism. Accepts a number > 0 and <= 1e12, or `mechanism`; default: 1.
        ridge("ridge"): impl Into<SettingValue>,
        /// Sets `input_noise`: what the kernel makes of noise that a curator put on the inputs. Accepts one of `modelled`, `without-row-term`, `ignored`; default: modelled.
        input_noise("input_noise"): &str,
        /// Sets `features`: feature map; without one the posterior is exact, over the points visited. Accepts one of `exact`, `nystrom`, `quadrature-fourier`, `random-fourier`.
        features("features"): impl Into<SettingValue>,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `jdp-gp-ucb`: GP-UCB over features from private sums: joint differential privacy.
    JdpGpUcb = Item::of("jdp-gp-ucb"); {
        /// Sets `features`: feature map; without one the posterior is exact, over the points visited. Accepts one of `exact`, `nystrom`, `quadrature-fourier`, `random-fourier`.
        features("features"): impl Into<SettingValue>,
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `noise_std`: rho: sub-Gaussian scale of the observation noise, for beta. Accepts a number > 0 and <= 1e12; default: the noise's standard deviation, else half of the clip range.
        noise_std("noise_std"): f64,
        /// Sets `repair`: what keeps the noisy Gram matrix positive: `multiple` of 2 Lambda on its diagonal, eigenvalues raised to that, or nothing. Accepts one of `shift`, `clip`, `none`; default: shift.
        repair("repair"): impl Into<SettingValue>,
        /// Sets `release`: when sums are released: after every round, every `rounds`, or when the count of users or the determinant has grown by `factor`. Accepts one of `every-round`, `interval`, `count`, `determinant`; default: every-round.
        release("release"): impl Into<SettingValue>,
        /// Sets `epochs`: for an unknown horizon: epochs ending at rounds 1, 2, 4, 8, …; each starts from nothing (`restart`) or continues. Accepts one of `one`, `restart`, `carry`; default: one.
        epochs("epochs"): &str,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `jdp-linucb`: linear UCB from private sums: joint differential privacy.
    JdpLinucb = Item::of("jdp-linucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `noise_std`: rho: sub-Gaussian scale of the observation noise, for beta. Accepts a number > 0 and <= 1e12; default: the noise's standard deviation, else half of the clip range.
        noise_std("noise_std"): f64,
        /// Sets `repair`: what keeps the noisy Gram matrix positive: `multiple` of 2 Lambda on its diagonal, eigenvalues raised to that, or nothing. Accepts one of `shift`, `clip`, `none`; default: shift.
        repair("repair"): impl Into<SettingValue>,
        /// Sets `release`: when sums are released: after every round, every `rounds`, or when the count of users or the determinant has grown by `factor`. Accepts one of `every-round`, `interval`, `count`, `determinant`; default: every-round.
        release("release"): impl Into<SettingValue>,
        /// Sets `epochs`: for an unknown horizon: epochs ending at rounds 1, 2, 4, 8, …; each starts from nothing (`restart`) or continues. Accepts one of `one`, `restart`, `carry`; default: one.
        epochs("epochs"): &str,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `local-jdp-gp-ucb`: GP-UCB over features from everybody's own noisy item: local joint differential privacy.
    LocalJdpGpUcb = Item::of("local-jdp-gp-ucb"); {
        /// Sets `features`: feature map; without one the posterior is exact, over the points visited. Accepts one of `exact`, `nystrom`, `quadrature-fourier`, `random-fourier`.
        features("features"): impl Into<SettingValue>,
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `noise_std`: rho: sub-Gaussian scale of the observation noise, for beta. Accepts a number > 0 and <= 1e12; default: the noise's standard deviation, else half of the clip range.
        noise_std("noise_std"): f64,
        /// Sets `repair`: what keeps the noisy Gram matrix positive: `multiple` of 2 Lambda on its diagonal, eigenvalues raised to that, or nothing. Accepts one of `shift`, `clip`, `none`; default: shift.
        repair("repair"): impl Into<SettingValue>,
        /// Sets `release`: when sums are released: after every round, every `rounds`, or when the count of users or the determinant has grown by `factor`. Accepts one of `every-round`, `interval`, `count`, `determinant`; default: every-round.
        release("release"): impl Into<SettingValue>,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `moma-gp-ucb`: median of means over Nystrom features: LDP-MoMA-GP-UCB, MoMA-GP-UCB.
    MomaGpUcb = Item::of("moma-gp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `resample`: when the dictionary is drawn again: after every update, when the number of updates has doubled, or never. Accepts one of `every-round`, `doubling`, `fixed`; default: every-round.
        resample("resample"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `accuracy`: error of the embedding that the theorem's constants suppose. Accepts a number > 0 and < 1; default: 0.5.
        accuracy("accuracy"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `q`: a play enters the dictionary with probability min(1, q times the posterior variance). Accepts a number > 0 and <= 1e12; default: the theorem's 6 rho ln(4 T/failure_prob)/accuracy² with beta `theory`, else 2.
        q("q"): f64,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `noise_moment`: c: bound on the second moment of a released reward's noise, or `train`: its mean over the train readings. Accepts a finite number > 0, or `train`; default: that of noise and mechanism.
        noise_moment("noise_moment"): impl Into<SettingValue>,
        /// Sets `k`: users that play the same point, at least 3, and estimates between which the median decides. Accepts a whole number >= 3; default: the theorem's ceil(24 ln(4 e T/failure_prob)) with beta `theory`, else ceil(ln T).
        k("k"): u64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `qff-gp-ucb`: GP-UCB over quadrature Fourier features, without privacy of its own.
    QffGpUcb = Item::of("qff-gp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes, beside the kernel's prior variance; `mechanism`: that of the observation noise and of the mechanism. Accepts a number > 0 and <= 1e12, or `mechanism`; default: 1.
        ridge("ridge"): impl Into<SettingValue>,
        /// Sets `features`: the feature map, for its keys. Accepts `quadrature-fourier`; default: quadrature-fourier.
        features("features"): impl Into<SettingValue>,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `rff-gp-ucb`: GP-UCB over random Fourier features.
    RffGpUcb = Item::of("rff-gp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes, beside the kernel's prior variance; `mechanism`: that of the observation noise and of the mechanism. Accepts a number > 0 and <= 1e12, or `mechanism`; default: 1.
        ridge("ridge"): impl Into<SettingValue>,
        /// Sets `features`: the feature map, for its keys. Accepts `random-fourier`; default: random-fourier.
        features("features"): impl Into<SettingValue>,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `tgp-ucb`: GP-UCB on truncated rewards: LDP-TGP-UCB, TGP-UCB.
    TgpUcb = Item::of("tgp-ucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `tails`: what is assumed of the observation noise, with and without privacy: light tails, so that only noise of an unbounded mechanism is truncated, or a bounded moment alone; `auto`: `moment` where `moment` is stated or the noise has heavy tails, else `sub-gaussian`. Accepts one of `auto`, `sub-gaussian`, `moment`; default: auto.
        tails("tails"): &str,
        /// Sets `moment`: v: bound on the moment of a released reward, or `train`: its mean over the train readings. Accepts a finite number > 0, or `train`; default: B² + variance of noise and mechanism.
        moment("moment"): impl Into<SettingValue>,
        /// Sets `moment_order`: 1 + a: the order of the moment that v bounds, for rewards without a second moment. Accepts a number > 1 and <= 2; default: 2.
        moment_order("moment_order"): f64,
        /// Sets `ridge`: regularizer: the noise variance the posterior assumes, beside the kernel's prior variance; `mechanism`: that of the observation noise and of the mechanism. Accepts a number > 0 and <= 1e12, or `mechanism`; default: 1.
        ridge("ridge"): impl Into<SettingValue>,
        /// Sets `input_noise`: what the kernel makes of noise that a curator put on the inputs. Accepts one of `modelled`, `without-row-term`, `ignored`; default: modelled.
        input_noise("input_noise"): &str,
        /// Sets `features`: feature map; without one the posterior is exact, over the points visited. Accepts one of `exact`, `nystrom`, `quadrature-fourier`, `random-fourier`.
        features("features"): impl Into<SettingValue>,
        /// Sets `initial`: first rounds: one random point, the prior's argmax, or `points` random points. Accepts one of `uniform`, `lowest-index`, `random`; default: uniform.
        initial("initial"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `uniform`: a uniformly random point every round.
    Uniform = Item::of("uniform"); {
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
        /// Sets `curator`: keys that override those of the spec.
        curator("curator"): impl Into<SettingValue>,
    }
    /// `dp-hdb`: private high-dimensional bandit: Frank-Wolfe over the l1 ball, one stream an arm.
    DpHdb = Item::of("dp-hdb"); {
        /// Sets `warm_up`: rounds in which each arm is shown before anything else. Accepts a whole number from 1 to 1099511627776; default: ln(dT) ln T, at most a quarter of the rounds over K.
        warm_up("warm_up"): u64,
        /// Sets `gap`: h_sub: arms whose warm-up estimate is behind the best by half of this or more are not shown, in units of the reward. Accepts a number > 0 and <= 1e12; default: none; every arm is kept.
        gap("gap"): f64,
        /// Sets `radius`: radius of the l1 ball of estimates. Accepts a number > 0 and <= 1e12; default: the environment's bound on the parameters.
        radius("radius"): f64,
        /// Sets `residual`: bound on |zeta - r| in a gradient, enforced by cutting it off. Accepts a number > 0 and <= 1e12; default: the largest that can occur.
        residual("residual"): f64,
        /// Sets `synthetic`: whether arms that were not shown step too; without it nothing is private. Accepts true or false; default: true.
        synthetic("synthetic"): bool,
        /// Sets `stated_smoothness`: beta in the printed formula. Accepts a number > 0 and <= 1e12; default: 1.
        stated_smoothness("stated_smoothness"): f64,
        /// Sets `stated_lipschitz`: L in the printed formula. Accepts a number > 0 and <= 1e12; default: 1.
        stated_lipschitz("stated_lipschitz"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `dp-linucb`: upper confidence bounds from noisy running sums: joint privacy.
    DpLinucb = Item::of("dp-linucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: what is added to the diagonal beside the shift. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `shift`: multiplies the bound on the noise's norm that is added to the diagonal. Accepts a number >= 0 and <= 1e6; default: 1.
        shift("shift"): f64,
        /// Sets `growth`: rounds of releases grow by this factor; 1 releases after every round. Accepts a number >= 1 and <= 100; default: 1 as printed or corrected, 1.1 under the tight calibration.
        growth("growth"): f64,
        /// Sets `context_length`: contexts longer than this are shortened to it. Accepts a number > 0 and <= 1e12; default: the environment's bound.
        context_length("context_length"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `ldp-linucb`: the same where everybody adds their own noise: local privacy.
    LdpLinucb = Item::of("ldp-linucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: what is added to the diagonal beside the shift. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `shift`: multiplies the bound on the noise's norm that is added to the diagonal. Accepts a number >= 0 and <= 1e6; default: 1.
        shift("shift"): f64,
        /// Sets `growth`: rounds of releases grow by this factor; 1 releases after every round. Accepts a number >= 1 and <= 100; default: 1 as printed or corrected, 1.1 under the tight calibration.
        growth("growth"): f64,
        /// Sets `context_length`: contexts longer than this are shortened to it. Accepts a number > 0 and <= 1e12; default: the environment's bound.
        context_length("context_length"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `linucb`: upper confidence bounds of ridge models, not private.
    Linucb = Item::of("linucb"); {
        /// Sets `beta`: what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, or a constant `value`. Accepts one of `theory`, `scaled`, `order`, `constant`; default: order.
        beta("beta"): impl Into<SettingValue>,
        /// Sets `failure_prob`: probability that the confidence bound fails. Accepts a number > 0 and < 1; default: 0.1.
        failure_prob("failure_prob"): f64,
        /// Sets `ridge`: what is added to the diagonal of every arm's matrix. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `lasso-bandit`: sparse models of arms with forced samples, not private.
    LassoBandit = Item::of("lasso-bandit"); {
        /// Sets `forced`: q: forced samples of an arm in one stretch; stretches double their distance. Accepts a whole number from 1 to 4294967296; default: 1.
        forced("forced"): u64,
        /// Sets `gap`: h: arms whose forced-sample estimate is behind the best by more than half of it are not shown. Accepts a number > 0 and <= 1e12; default: none; every arm is kept.
        gap("gap"): f64,
        /// Sets `lambda_1`: penalty on the l1 norm for forced samples. Accepts a number > 0 and <= 1e12; default: 0.05.
        lambda_1("lambda_1"): f64,
        /// Sets `lambda_2`: the same for all samples, times sqrt((ln t + ln d)/t). Accepts a number > 0 and <= 1e12; default: 0.05.
        lambda_2("lambda_2"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `epsilon-greedy`: the largest ridge estimate, now and then a random arm; not private.
    EpsilonGreedy = Item::of("epsilon-greedy"); {
        /// Sets `explore`: share of rounds with a random arm. Accepts a number >= 0 and <= 1; default: 0.05.
        explore("explore"): f64,
        /// Sets `decay`: whether that share falls as explore · K/t, from 1 on. Accepts true or false; default: false.
        decay("decay"): bool,
        /// Sets `ridge`: what is added to the diagonal of every arm's matrix. Accepts a number > 0 and <= 1e12; default: 1.
        ridge("ridge"): f64,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `random-arm`: a uniformly random arm every round.
    RandomArm = Item::of("random-arm"); {
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
        /// Sets `privacy`: keys that override those of the spec.
        privacy("privacy"): impl Into<SettingValue>,
    }
    /// `exact`: pivoted Cholesky of the Gram matrix, to a tolerance.
    ExactFeatures = Item::of("exact"); {
        /// Sets `tolerance`: largest variance left out, as a share of the largest prior variance. Accepts a number >= 0 and < 1; default: 1e-10.
        tolerance("tolerance"): f64,
        /// Sets `max_features`: most features; reaching it before the tolerance is an error. Accepts a whole number from 1 to 65536; default: 4096.
        max_features("max_features"): u64,
    }
    /// `nystrom`: Nystrom features over a fixed dictionary of points.
    NystromFeatures = Item::of("nystrom"); {
        /// Sets `points`: dictionary: indices of points of the domain, from 0. Accepts an array of numbers.
        points("points"): Vec<f64>,
        /// Sets `size`: number of dictionary points, each placed where the ones before leave the largest posterior variance. Accepts a whole number from 1 to 65536; default: 20, or all but one of a domain that has no more.
        size("size"): u64,
    }
    /// `quadrature-fourier`: cosines and sines at the nodes of a rule over the spectral density.
    QuadratureFourierFeatures = Item::of("quadrature-fourier"); {
        /// Sets `nodes`: nodes a coordinate: nodes^d features for each group of d coordinates. Accepts a whole number from 1 to 128; default: 8.
        nodes("nodes"): u64,
        /// Sets `max_error`: kernel error, as a share of the prior variance, beyond which features are refused. Accepts a number > 0 and <= 2; default: 0.9.
        max_error("max_error"): f64,
    }
    /// `random-fourier`: cosines and sines at random frequencies.
    RandomFourierFeatures = Item::of("random-fourier"); {
        /// Sets `features`: number of frequencies; each gives a cosine and a sine. Accepts a whole number from 1 to 65536; default: 200.
        features("features"): u64,
    }
}
