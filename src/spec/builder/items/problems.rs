//! Typed builders of the problems of bandits, made from the lists (`PRIVATEER_UPDATE=1 cargo test reference`).

use super::super::macros::items;
use super::super::{Item, SettingValue};

items! {
    /// `rkhs`: random functions in the kernel's space.
    Rkhs = Item::of("rkhs"); {
        /// Sets `centres`: p: terms of the sum, centres uniform on the domain. Accepts a whole number from 1 to 1000000; default: 100.
        centres("centres"): u64,
        /// Sets `weights`: each uniform on \[-1, 1\], or all uniform on the simplex (not negative, with sum 1). Accepts one of `uniform`, `simplex`; default: uniform.
        weights("weights"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: where the function lives: a grid, uniformly random points of a cube, or of a ball. Accepts one of `grid`, `random`, `ball`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `gp-sample`: draws of the Gaussian process.
    GpSample = Item::of("gp-sample"); {
        /// Sets `tolerance`: prior variance that a draw may leave out, as a share. Accepts a number > 0 and < 1; default: 1e-10.
        tolerance("tolerance"): f64,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: where the function lives: a grid, uniformly random points of a cube, or of a ball. Accepts one of `grid`, `random`, `ball`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `arms-table`: a CSV of readings: arms by columns, rounds by rows.
    ArmsTable = Item::of("arms-table"); {
        /// Sets `synthetic`: use a generated table of the same shape instead of the files. Accepts true or false; default: false.
        synthetic("synthetic"): bool,
        /// Sets `synthetic_shape`. Accepts a table.
        synthetic_shape("synthetic_shape"): Item,
        /// Sets `kernel`: covariance of the arms, from the train file. Accepts `empirical-covariance`; default: empirical-covariance.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `test`: CSV (plain or .gz): the readings that rewards are drawn from. Accepts a text.
        test("test"): &str,
        /// Sets `train`: CSV: the readings that the covariance comes from. Accepts a text.
        train("train"): &str,
        /// Sets `about`: what the files are and where their publisher has them; shown when they are missing. Accepts a text.
        about("about"): &str,
        /// Sets `arms`: whether arms are the files' columns or rows. Accepts one of `columns`, `rows`; default: columns.
        arms("arms"): &str,
        /// Sets `header`: whether the files' first row names the columns. Accepts one of `auto`, `yes`, `no`; default: auto.
        header("header"): &str,
        /// Sets `columns`: the files' columns to read, by name (by number without a header); absent: all. Accepts an array of texts.
        columns("columns"): Vec<&str>,
        /// Sets `bound`: B: public bound on the mean reward. Accepts a finite number > 0; default: the largest |mean| of an arm.
        bound("bound"): f64,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: relative.
        regret("regret"): &str,
        /// Sets `public`: numbers of the data that are public knowledge; undeclared, claims that rest on them have no guarantee. Accepts an array of texts.
        public("public"): Vec<&str>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `points-table`: a CSV of points with values.
    PointsTable = Item::of("points-table"); {
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `inputs`: columns that are coordinates. Accepts an array of texts.
        inputs("inputs"): Vec<&str>,
        /// Sets `synthetic`: use a generated table of the same columns instead of the file. Accepts true or false; default: false.
        synthetic("synthetic"): bool,
        /// Sets `synthetic_rows`: rows of the generated table. Accepts a whole number from 2 to 1000000; default: 1000.
        synthetic_rows("synthetic_rows"): u64,
        /// Sets `value`: column that is the mean reward; without it rewards are told (`privateer init`), and `bound` must be stated. Accepts a text.
        value("value"): &str,
        /// Sets `log`: take the logarithm of the values. Accepts true or false; default: false.
        log("log"): bool,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the largest |value|.
        bound("bound"): f64,
        /// Sets `units`: units of `bound` and `privacy.clip`: of the rewards as they are computed, or of the column `value` in the file. Accepts one of `rewards`, `data`; default: rewards.
        units("units"): &str,
        /// Sets `hyperparameters`: where kernel and scales come from: `fitted` to this table's own values, which `public` may declare. Accepts one of `stated`, `fitted`; default: stated.
        hyperparameters("hyperparameters"): &str,
        /// Sets `file`: CSV (plain or .gz) with a header. Accepts a text.
        file("file"): &str,
        /// Sets `about`: what the file is and where its publisher has it; shown when it is missing. Accepts a text.
        about("about"): &str,
        /// Sets `released`: ledger that `privateer curate` wrote: `file` holds released inputs, with noise. Accepts a text.
        released("released"): &str,
        /// Sets `goal`: whether large or small values are good. Accepts one of `maximise`, `minimise`; default: maximise.
        goal("goal"): &str,
        /// Sets `scales`: divide the input columns by these public length-scales, after `standardise`, which must be stated then. Accepts an array of numbers.
        scales("scales"): Vec<f64>,
        /// Sets `standardise`: centre coordinates and values and divide by their standard deviations. Accepts true or false; default: true.
        standardise("standardise"): bool,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `public`: numbers of the data that are public knowledge; undeclared, claims that rest on them have no guarantee. Accepts an array of texts.
        public("public"): Vec<&str>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `branin`: the Branin function of two coordinates.
    Branin = Item::of("branin"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, or uniformly random ones. Accepts one of `grid`, `random`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `camelback`: the six-hump camel of two coordinates.
    Camelback = Item::of("camelback"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, or uniformly random ones. Accepts one of `grid`, `random`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `styblinski-tang`: the Styblinski-Tang function, additive.
    StyblinskiTang = Item::of("styblinski-tang"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, uniformly random ones, or points of each axis, freely combined. Accepts one of `grid`, `random`, `axes`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `michalewicz`: the Michalewicz function, additive.
    Michalewicz = Item::of("michalewicz"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, uniformly random ones, or points of each axis, freely combined. Accepts one of `grid`, `random`, `axes`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `hartmann-6`: the Hartmann function of six coordinates.
    Hartmann6 = Item::of("hartmann-6"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, or uniformly random ones. Accepts one of `grid`, `random`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `ackley`: the Ackley function.
    Ackley = Item::of("ackley"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, or uniformly random ones. Accepts one of `grid`, `random`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `levy`: the Levy function.
    Levy = Item::of("levy"); {
        /// Sets `variant`: as in the literature, on its own box; or on \[-1/2, 1/2\]^d, divided so that values are of order one. Accepts one of `textbook`, `scaled`; default: textbook.
        variant("variant"): &str,
        /// Sets `kernel`: prior covariance. Accepts one of `squared-exponential`, `matern`, `additive`, `linear`, `empirical-covariance`.
        kernel("kernel"): impl Into<SettingValue>,
        /// Sets `domain`: points of the function's box: a grid, or uniformly random ones. Accepts one of `grid`, `random`; default: grid.
        domain("domain"): impl Into<SettingValue>,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `bound`: B: public bound on |f|. Accepts a finite number > 0; default: the trial's largest |f|, as in \[Zhou2021\].
        bound("bound"): f64,
        /// Sets `output`: `unit` maps each trial's function onto \[0, 1\], `peak` divides it by its largest value. Accepts one of `raw`, `unit`, `peak`; default: raw.
        output("output"): &str,
        /// Sets `sets`: points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones. Accepts one of `whole`, `random`, `gap`; default: whole.
        sets("sets"): impl Into<SettingValue>,
        /// Sets `regret`: unit of regret: the reward's own, or shares of the largest mean. Accepts one of `raw`, `relative`; default: raw.
        regret("regret"): &str,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `generalized-linear`: fresh contexts, a parameter vector an arm, linear or logistic rewards.
    GeneralizedLinear = Item::of("generalized-linear"); {
        /// Sets `dimension`: d: features of a context. Accepts a whole number from 1 to 100000.
        dimension("dimension"): u64,
        /// Sets `arms`: K: arms. Accepts a whole number from 2 to 10000; default: 2.
        arms("arms"): u64,
        /// Sets `contexts`: law of a context's entries. Accepts one of `gaussian`, `uniform`, `sparse`; default: gaussian.
        contexts("contexts"): impl Into<SettingValue>,
        /// Sets `scale`: what is 1 of every context: its largest entry, its Euclidean length, or neither (entries are cut off at 6). Accepts one of `largest`, `length`, `none`; default: largest.
        scale("scale"): &str,
        /// Sets `parameters`: law of an arm's parameters before they are scaled. Accepts one of `gaussian`, `uniform`, `sparse`; default: sparse.
        parameters("parameters"): impl Into<SettingValue>,
        /// Sets `signs`: signs of the entries of sparse arms. Accepts one of `positive`, `random`; default: positive.
        signs("signs"): &str,
        /// Sets `radius`: l1 norm of every arm's parameters. Accepts a number > 0 and <= 1e6; default: 1.
        radius("radius"): f64,
        /// Sets `link`: mean reward as a function of <x, theta>. Accepts one of `linear`, `logistic`; default: linear.
        link("link"): &str,
        /// Sets `margin`: users whose best arm is ahead of their second by less do not come, in units of the reward. Accepts a number >= 0 and <= 1e6; default: 0.
        margin("margin"): f64,
        /// Sets `noise`: observation noise. Accepts one of `uniform`, `gaussian`, `student-t`, `pareto`, `bernoulli`, `none`.
        noise("noise"): impl Into<SettingValue>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `contexts-table`: the users of a CSV, with every arm's reward or the right arm.
    ContextsTable = Item::of("contexts-table"); {
        /// Sets `file`: CSV (plain or .gz) with a header: a row a user. Accepts a text.
        file("file"): &str,
        /// Sets `about`: what the file is and where its publisher has it; shown when it is missing. Accepts a text.
        about("about"): &str,
        /// Sets `synthetic`: make users up instead of reading the file, as many as there are rounds. Accepts true or false; default: false.
        synthetic("synthetic"): bool,
        /// Sets `numbers`: columns of numbers that are features, by name. Accepts an array of texts.
        numbers("numbers"): Vec<&str>,
        /// Sets `lows`: public lower end of each of `numbers`: values are scaled to \[-1, 1\]. Accepts an array of numbers.
        lows("lows"): Vec<f64>,
        /// Sets `highs`: public upper end of each; values beyond an end are moved to it. Accepts an array of numbers.
        highs("highs"): Vec<f64>,
        /// Sets `categories`: columns of texts with a 0/1 feature for each level, by name. Accepts an array of texts.
        categories("categories"): Vec<&str>,
        /// Sets `least`: levels with fewer rows have no feature of their own. Accepts a whole number from 1 to 1099511627776; default: 20.
        least("least"): u64,
        /// Sets `missing`: numbers that are missing (empty or `NA`) are a mistake, or at the middle of their range. Accepts one of `refuse`, `middle`; default: refuse.
        missing("missing"): &str,
        /// Sets `length`: public bound on the Euclidean length of a context; longer ones are shortened to it. Accepts a number > 0 and <= 1e6; default: sqrt(1 + columns), which none exceeds.
        length("length"): f64,
        /// Sets `label`: column that says which arm is right for a user. Accepts a text.
        label("label"): &str,
        /// Sets `cuts`: the right arm is the number of these that the label is at or above; ascending. Accepts an array of numbers.
        cuts("cuts"): Vec<f64>,
        /// Sets `classes`: the right arm is the place of the label among these. Accepts an array of texts.
        classes("classes"): Vec<&str>,
        /// Sets `rewards`: columns with the reward of each arm, instead of a label. Accepts an array of texts.
        rewards("rewards"): Vec<&str>,
        /// Sets `payoff`: rewards of a wrong arm and of the right one; absent: \[0, 1\]. Accepts an array of numbers.
        payoff("payoff"): Vec<f64>,
        /// Sets `reward_range`: public range of the `rewards`; beyond it is a mistake; absent: that of the file. Accepts an array of numbers.
        reward_range("reward_range"): Vec<f64>,
        /// Sets `users`: each user comes once, in random order; or a user is drawn every round, so that users return. Accepts one of `once`, `again`; default: once.
        users("users"): &str,
        /// Sets `radius`: l1 norm that policies suppose of an arm's parameters, at most. Accepts a number > 0 and <= 1e6; default: 1.
        radius("radius"): f64,
        /// Sets `link`: mean reward as a function of <x, theta>. Accepts one of `linear`, `logistic`; default: linear.
        link("link"): &str,
        /// Sets `public`: numbers of the data that are public knowledge; undeclared, claims that rest on them have no guarantee. Accepts an array of texts.
        public("public"): Vec<&str>,
    }
    /// `logged-replay`: a log with propensities: what a policy would have earned is estimated.
    LoggedReplay = Item::of("logged-replay"); {
        /// Sets `file`: CSV (plain or .gz) with a header: a row for each time that an arm was shown. Accepts a text.
        file("file"): &str,
        /// Sets `about`: what the file is and where its publisher has it; shown when it is missing. Accepts a text.
        about("about"): &str,
        /// Sets `synthetic`: make users up instead of reading the file, as many as there are rounds. Accepts true or false; default: false.
        synthetic("synthetic"): bool,
        /// Sets `numbers`: columns of numbers that are features, by name. Accepts an array of texts.
        numbers("numbers"): Vec<&str>,
        /// Sets `lows`: public lower end of each of `numbers`: values are scaled to \[-1, 1\]. Accepts an array of numbers.
        lows("lows"): Vec<f64>,
        /// Sets `highs`: public upper end of each; values beyond an end are moved to it. Accepts an array of numbers.
        highs("highs"): Vec<f64>,
        /// Sets `categories`: columns of texts with a 0/1 feature for each level, by name. Accepts an array of texts.
        categories("categories"): Vec<&str>,
        /// Sets `least`: levels with fewer rows have no feature of their own. Accepts a whole number from 1 to 1099511627776; default: 20.
        least("least"): u64,
        /// Sets `missing`: numbers that are missing (empty or `NA`) are a mistake, or at the middle of their range. Accepts one of `refuse`, `middle`; default: refuse.
        missing("missing"): &str,
        /// Sets `length`: public bound on the Euclidean length of a context; longer ones are shortened to it. Accepts a number > 0 and <= 1e6; default: sqrt(1 + columns), which none exceeds.
        length("length"): f64,
        /// Sets `arm`: column with the arm that was shown. Accepts a text.
        arm("arm"): &str,
        /// Sets `arms`: the arms that policies choose among, as that column names them; rows with others count as not matched. Accepts an array of texts.
        arms("arms"): Vec<&str>,
        /// Sets `reward`: column with what came of it. Accepts a text.
        reward("reward"): &str,
        /// Sets `reward_range`: public range of a reward; absent: \[0, 1\]. Accepts an array of numbers.
        reward_range("reward_range"): Vec<f64>,
        /// Sets `propensity`: column with the probability with which the arm was shown to this user. Accepts a text.
        propensity("propensity"): &str,
        /// Sets `radius`: l1 norm that policies suppose of an arm's parameters, at most. Accepts a number > 0 and <= 1e6; default: 1.
        radius("radius"): f64,
        /// Sets `link`: mean reward as a function of <x, theta>. Accepts one of `linear`, `logistic`; default: linear.
        link("link"): &str,
        /// Sets `public`: numbers of the data that are public knowledge; undeclared, claims that rest on them have no guarantee. Accepts an array of texts.
        public("public"): Vec<&str>,
        /// Sets `label`, the name in results and of the random streams.
        label("label"): &str,
    }
    /// `squared-exponential`: exp(-r² / 2 l²).
    SquaredExponential = Item::of("squared-exponential"); {
        /// Sets `lengthscales`: length-scale of each coordinate (in place of `lengthscale`). Accepts an array of numbers.
        lengthscales("lengthscales"): Vec<f64>,
        /// Sets `lengthscale`: length-scale of every coordinate, in the domain's units. Accepts a finite number > 0.
        lengthscale("lengthscale"): f64,
        /// Sets `variance`: prior variance k(x, x) of the function. Accepts a finite number > 0; default: 1.
        variance("variance"): f64,
    }
    /// `matern`: Matern of any smoothness nu > 0.
    Matern = Item::of("matern"); {
        /// Sets `nu`: smoothness: samples are differentiable less than `nu` times. Accepts a number > 0 and <= 1000; default: 2.5.
        nu("nu"): f64,
        /// Sets `lengthscales`: length-scale of each coordinate (in place of `lengthscale`). Accepts an array of numbers.
        lengthscales("lengthscales"): Vec<f64>,
        /// Sets `lengthscale`: length-scale of every coordinate, in the domain's units. Accepts a finite number > 0.
        lengthscale("lengthscale"): f64,
        /// Sets `variance`: prior variance k(x, x) of the function. Accepts a finite number > 0; default: 1.
        variance("variance"): f64,
    }
    /// `additive`: mean of a kernel over groups of coordinates.
    Additive = Item::of("additive"); {
        /// Sets `group_size`: neighbouring coordinates of a group. Accepts a whole number from 1 to 1000; default: 1.
        group_size("group_size"): u64,
        /// Sets `part`: the kernel of which this one is made. Accepts one of `squared-exponential`, `matern`, `linear`.
        part("part"): impl Into<SettingValue>,
    }
    /// `linear`: x · y.
    Linear = Item::of("linear"); {
        /// Sets `scale`: prior variance of each weight. Accepts a finite number > 0; default: 1.
        scale("scale"): f64,
        /// Sets `bias`: prior variance of the offset. Accepts a finite number >= 0; default: 0.
        bias("bias"): f64,
    }
    /// `empirical-covariance`: covariance of a train table's arms.
    EmpiricalCovariance = Item::of("empirical-covariance"); {
        /// Sets `normalise`: `correlation`: every arm has variance 1; `covariance`: divided by the largest variance. Accepts one of `correlation`, `covariance`; default: correlation.
        normalise("normalise"): &str,
    }
    /// `uniform`: uniform on \[-bound, bound\] around the mean.
    UniformNoise = Item::of("uniform"); {
        /// Sets `bound`: largest distance of a reward from its mean. Accepts a number > 0 and <= 1e100.
        bound("bound"): f64,
    }
    /// `gaussian`: normal around the mean.
    GaussianNoise = Item::of("gaussian"); {
        /// Sets `sd`: standard deviation of a reward around its mean. Accepts a number > 0 and <= 1e100.
        sd("sd"): f64,
    }
    /// `student-t`: Student's t around the mean: heavy tails.
    StudentTNoise = Item::of("student-t"); {
        /// Sets `dof`: degrees of freedom; moments below this order are finite. Accepts a number >= 0.5 and <= 1e6.
        dof("dof"): f64,
        /// Sets `scale`: factor of the standard draw. Accepts a number > 0 and <= 1e100; default: 1.
        scale("scale"): f64,
    }
    /// `pareto`: symmetric Pareto around the mean: heavier tails.
    ParetoNoise = Item::of("pareto"); {
        /// Sets `shape`: tail index; moments below this order are finite. Accepts a number >= 0.5 and <= 1e6.
        shape("shape"): f64,
        /// Sets `scale`: factor of the standard draw. Accepts a number > 0 and <= 1e100; default: 1.
        scale("scale"): f64,
    }
    /// `bernoulli`: 1 with probability the mean, else 0.
    BernoulliNoise = Item::of("bernoulli"); {
    }
    /// `none`: the mean itself.
    NoneNoise = Item::of("none"); {
    }
}
