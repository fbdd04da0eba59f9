//! Lists the faults; each changes one line of a mechanism.

/// Declares faults: a variant, its name in the environment variable, and a summary.
macro_rules! faults {
    ($($variant:ident $name:literal $summary:literal)*) => {
        /// Names a fault that can be planted in a mechanism.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PlantedFault {
            $(#[doc = $summary] $variant,)*
        }

        #[cfg(feature = "planted-faults")]
        impl PlantedFault {
            /// All faults, in the order of the table.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns the name used in the environment variable.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns what is wrong in the mechanism.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Self::$variant => $summary,)*
                }
            }
        }
    };
}

faults! {
    LaplaceClip "laplace-clip" "Laplace noise is added to a reward that is not clipped."
    GaussianClip "gaussian-clip" "Gaussian noise is added to a reward that is not clipped."
    UnitClip "unit-clip" "Randomisers on [-1, 1] take rewards beyond their range."
    RewardNan "reward-nan" "A reward that is NaN passes the clip."
    RowClip "row-clip" "Released rows are not moved to their bound."
    SumsRewardClip "sums-reward-clip" "Sums over users and interactions take rewards that are not clipped."
    SumsFeatureClip "sums-feature-clip" "Sums over users and interactions take features that are not shortened."
    SumsFinite "sums-finite" "Sums over users and interactions take features that are not finite."
    StreamFinite "stream-finite" "Running sums take items that are not finite."
    GradientClip "gradient-clip" "Gradients are not clipped to their bound."
    SampleClip "sample-clip" "Features of a sample are not clipped before its gradient is taken."
    GradientFinite "gradient-finite" "Gradients of samples that are not finite are taken."
    ChoiceBounds "choice-bounds" "Choices over interactions enforce no bound on rewards, contexts and contributions."
    LaplaceNoise "laplace-noise" "Laplace noise has half of its scale."
    GaussianNoise "gaussian-noise" "Gaussian noise has half of its standard deviation."
    DuchiNoise "duchi-noise" "The bit answers at twice its epsilon."
    PiecewiseNoise "piecewise-noise" "The two-level densities answer at more than their epsilon."
    ResponseNoise "response-noise" "Randomised response answers at twice its epsilon."
    CapCoin "cap-coin" "A vector is released outside of its cap less often than its epsilon lets it."
    HybridBranch "hybrid-branch" "The hybrid's public coin depends on the reward."
    StreamNoise "stream-noise" "Draws of running sums have half of their standard deviation."
    LocalNoise "local-noise" "Noise of a user's own item has half of its standard deviation."
    RowNoise "row-noise" "Simulated noise on rows has half of its standard deviation."
    GradientGaussianNoise "gradient-gaussian-noise" "Gaussian noise on gradients has half of its standard deviation."
    GradientGeneralizedNoise "gradient-generalized-noise" "Generalised Gaussian noise on gradients has half of its scale."
    VertexLaplaceNoise "vertex-laplace-noise" "Laplace noise on scores of vertices has half of its scale."
    VertexGumbelNoise "vertex-gumbel-noise" "The exponential mechanism over vertices has half of its scale."
    ArmLaplaceNoise "arm-laplace-noise" "Laplace noise on scores of an arm's vertices has half of its scale."
    ArmGumbelNoise "arm-gumbel-noise" "The exponential mechanism over an arm's vertices has half of its scale."
    ExactGaussianNoise "exact-gaussian-noise" "Exact Gaussian noise has half of its standard deviation."
    SmallNoise "small-noise" "Exact Laplace and Gaussian noise is 3 % too small."
    SharedDraw "shared-draw" "All entries of a sum share one draw."
    TreeReuse "tree-reuse" "The tree draws no fresh noise at odd rounds."
    BatchClip "batch-clip" "Sums of batches and of candidates take rewards that are not clipped."
    BatchNoise "batch-noise" "Noise on a sum of a batch is set by half of the width of the clip range."
    AnswerNoise "answer-noise" "The exponential mechanism over candidates has half of its scale."
    BatchTwice "batch-twice" "The last reward of a batch enters the next batch too."
    ShuffledAnswers "shuffled-answers" "Answers for a shuffler hide among ten times as many users."
    BatchDraw "batch-draw" "All sums of batches share the draw of the first."
    BatchSum "batch-sum" "The sum of a batch of gradients is not cleared for the next batch."
    RowSum "row-sum" "The row of an exact sum is not cleared for the next row."
    OwnNoise "own-noise" "Local interactions carry one user's noise per release, not one for each user."
    Participations "participations" "Noise of running sums is calibrated for one participation whatever is stated."
    ReturningRewards "returning-rewards" "Noise of rewards, batches and own items is calibrated for one participation whatever is stated."
    GroupPrice "group-price" "Several rounds of a user in one stream are priced as separate releases."
    ChoiceRange "choice-range" "The loss of a choice that depends on earlier ones is priced at half of its range."
    PlainSums "plain-sums" "Noise of sums of plain gradients covers a sample that is left out, not one that is replaced."
    HiddenSteps "hidden-steps" "Noise of a hidden descent covers a sample that is left out, not one that is replaced."
    EveryIterate "every-iterate" "Noise on the iterates of a hidden descent covers one of them, not all that a sample moves."
    ColumnScale "column-scale" "Columns of running sums that are multiplied to one norm have twice the norm that is priced."
    PublicSums "public-sums" "Noise of rewards at public points covers a reward that is left out, not one that is replaced."
    TreeNodes "tree-nodes" "The sensitivity of the tree counts one node too few."
    Neighbours "neighbours" "The sensitivity of a vector that is replaced is that of one that is left out."
    GridRounding "grid-rounding" "Rounding to the grid of a release is not paid for."
    KeyReuse "key-reuse" "Every release uses the same key."
    DroppedSpend "dropped-spend" "An odometer counts releases that are alike once."
    CoveredSpend "covered-spend" "A release does not count for changes other than the one that it names."
    PureAsGaussian "pure-as-gaussian" "Under the filter `gaussian-dp` a pure loss of epsilon counts as mu = epsilon."
    InteractionsAsValues "interactions-as-values" "Answers about whole records count as answers about values."
    HalfRadius "half-radius" "Released rows are calibrated at half of their radius."
    RadiusOverScale "radius-over-scale" "Released rows are calibrated at the radius over the first scale."
}
