//! Which audits and which test must catch each fault.

use privateer_privacy::planted::PlantedFault::{self, *};

/// A fault, the audits that must refute a claim under it, and the test of `mechanisms` that must fail.
pub struct Row {
    pub fault: PlantedFault,
    /// The first is run in every test. None for faults of what adds losses up: the audit of a deployment's files sees them, which the
    /// row's test runs.
    pub audits: &'static [&'static str],
    /// Why the audits refute nothing.
    pub unseen: Option<&'static str>,
    pub test: &'static str,
}

const fn row(fault: PlantedFault, audits: &'static [&'static str], test: &'static str) -> Row {
    Row { fault, audits, unseen: None, test }
}

const fn unseen(fault: PlantedFault, audits: &'static [&'static str], why: &'static str, test: &'static str) -> Row {
    Row { fault, audits, unseen: Some(why), test }
}

const DEPLOYMENTS: &str = "deployments::every_stated_epsilon_is_the_exact_one";

const SUMS: &[&str] =
    &["sums-local-gaussian", "sums-tree", "sums-blt", "discrete-gaussian-sums", "visits-own", "visits-tree", "visits-blt"];

pub const ROWS: &[Row] = &[
    row(LaplaceClip, &["laplace", "discrete-laplace"], "clips::laplace_clips_rewards"),
    row(GaussianClip, &["gaussian", "discrete-gaussian"], "clips::gaussian_clips_rewards"),
    row(UnitClip, &["duchi", "piecewise", "hybrid", "bit", "hybrid-on-a-grid"], "clips::bounded_randomisers_clip_rewards"),
    row(RewardNan, &["laplace", "gaussian"], "clips::laplace_clips_rewards"),
    row(RowClip, &["discrete-gaussian-rows"], "clips::released_rows_are_moved_to_their_bound"),
    row(SumsRewardClip, SUMS, "clips::sums_clip_rewards"),
    row(SumsFeatureClip, SUMS, "clips::sums_shorten_features"),
    // Exact sums count it as zero steps.
    row(
        SumsFinite,
        &["sums-local-gaussian", "sums-tree", "visits-own", "visits-tree"],
        "clips::sums_take_nothing_that_is_not_finite",
    ),
    row(StreamFinite, &["tree"], "clips::running_sums_take_nothing_that_is_not_finite"),
    row(
        GradientClip,
        &[
            "sample-gaussian",
            "sample-generalized-gaussian",
            "gradients-gaussian",
            "gradients-generalized-gaussian",
            "batch-gaussian",
            "stored-gaussian",
            "choices-gumbel",
            "choices-laplace",
        ],
        "clips::gradients_are_clipped",
    ),
    unseen(
        SampleClip,
        &["sample-gaussian", "gradients-gaussian", "batch-gaussian", "stored-gaussian"],
        "the bound on gradients holds the price alone",
        "clips::features_are_clipped_before_the_gradient",
    ),
    row(
        GradientFinite,
        &["sample-gaussian", "gradients-gaussian", "batch-gaussian", "stored-gaussian"],
        "clips::gradients_of_what_is_not_finite_are_zero",
    ),
    row(ChoiceBounds, &["visits-gumbel", "visits-laplace"], "clips::choices_enforce_their_bounds"),
    row(LaplaceNoise, &["laplace", "discrete-laplace"], "noise::laplace_noise_has_its_scale"),
    row(GaussianNoise, &["gaussian", "discrete-gaussian"], "noise::gaussian_noise_has_its_size"),
    row(DuchiNoise, &["duchi", "bit"], "noise::a_bit_answers_at_its_epsilon"),
    row(
        PiecewiseNoise,
        &["piecewise", "piecewise-on-a-grid", "warped-piecewise", "warped-on-a-grid"],
        "noise::the_densities_answer_at_their_epsilon",
    ),
    row(ResponseNoise, &["randomised-response", "response-on-levels"], "noise::randomised_response_answers_at_its_epsilon"),
    row(
        CapCoin,
        &["sums-privunit", "visits-privunit", "sample-privunit", "ranked-points"],
        "noise::a_cap_is_left_at_its_probability",
    ),
    row(HybridBranch, &["hybrid", "hybrid-on-a-grid"], "noise::the_hybrid_mixes_by_a_public_coin"),
    row(
        StreamNoise,
        &["gram-prefix", "tree", "honaker", "blt", "sqrt-toeplitz", "sums-tree", "visits-tree", "visits-own"],
        "noise::draws_of_running_sums_have_their_size",
    ),
    row(LocalNoise, &["sums-local-gaussian"], "noise::noise_of_own_items_has_its_size"),
    row(RowNoise, &["input-noise"], "noise::noise_on_rows_has_its_size"),
    row(
        GradientGaussianNoise,
        &["sample-gaussian", "gradients-gaussian", "batch-gaussian"],
        "noise::gaussian_noise_on_gradients_has_its_size",
    ),
    row(GradientGeneralizedNoise, &["sample-generalized-gaussian"], "noise::generalised_gaussian_noise_has_its_size"),
    row(VertexLaplaceNoise, &["choices-laplace"], "noise::laplace_noise_on_vertices_has_its_scale"),
    row(VertexGumbelNoise, &["choices-gumbel"], "noise::the_exponential_mechanism_over_vertices_has_its_scale"),
    unseen(
        ArmLaplaceNoise,
        &["visits-laplace"],
        "two vertices tie under Laplace noise as under Gumbel noise of the same scale, at half of the price",
        "noise::laplace_noise_over_arms_has_its_scale",
    ),
    row(ArmGumbelNoise, &["visits-gumbel"], "noise::the_exponential_mechanism_over_arms_has_its_scale"),
    row(
        ExactGaussianNoise,
        &["discrete-gaussian-rows", "discrete-gaussian", "discrete-gaussian-sums"],
        "noise::exact_gaussian_noise_has_its_size",
    ),
    unseen(
        SmallNoise,
        &["discrete-laplace", "discrete-gaussian"],
        "3 % of the noise are within the interval of 20 000 replays",
        "samplers::samplers_keep_the_stated_price",
    ),
    row(
        SharedDraw,
        &["visits-own", "sums-tree", "sums-blt", "visits-tree", "discrete-gaussian-sums"],
        "draws::entries_of_a_sum_have_draws_of_their_own",
    ),
    row(TreeReuse, &["sums-tree", "tree", "visits-tree"], "draws::the_tree_draws_in_every_round"),
    row(
        BatchClip,
        &["sums-batch-laplace", "exact-sums-batch-laplace", "sums-exponential", "exact-exponential"],
        "batches::rewards_are_clipped",
    ),
    row(
        BatchNoise,
        &["sums-batch-laplace", "sums-batch-gaussian", "exact-sums-batch-laplace", "exact-sums-batch-gaussian"],
        "batches::a_mean_has_the_stated_noise",
    ),
    row(AnswerNoise, &["sums-exponential", "exact-exponential"], "answers::a_choice_has_its_scale"),
    row(
        BatchTwice,
        &["sums-batch-laplace", "sums-batch-gaussian", "exact-sums-batch-laplace"],
        "batches::a_batch_holds_nothing_of_the_one_before",
    ),
    row(ShuffledAnswers, &["sums-batch-shuffle"], "batches::shuffled_answers_keep_their_price"),
    row(BatchDraw, &["sums-batch-laplace", "sums-batch-gaussian"], "batches::a_mean_has_the_stated_noise"),
    row(BatchSum, &["batch-gaussian"], "draws::a_batch_holds_nothing_of_the_one_before"),
    row(RowSum, &["discrete-gaussian-sums"], "draws::rows_of_an_exact_sum_are_cleared"),
    row(OwnNoise, &["visits-own"], "draws::every_local_interaction_has_noise_of_its_own"),
    row(Participations, &["tree", "honaker", "blt", "sqrt-toeplitz", "ftrl-gaussian"], "prices::every_participation_is_priced"),
    row(
        ReturningRewards,
        &["laplace", "gaussian", "duchi", "sums-batch-laplace", "sums-batch-gaussian", "sums-local-gaussian", "sums-privunit"],
        "prices::noise_of_rewards_covers_every_answer",
    ),
    row(GroupPrice, &["sums-tree", "sums-blt", "visits-tree"], "prices::a_group_in_one_stream_is_priced_as_a_group"),
    row(ChoiceRange, &["choices-gumbel", "visits-gumbel"], "prices::choices_that_depend_on_earlier_ones_are_enumerated"),
    row(PlainSums, &["ftrl-gaussian"], "prices::sums_of_plain_gradients_cover_a_replaced_sample"),
    row(
        HiddenSteps,
        &["phased-gaussian", "snowball-gaussian", "giga-gaussian"],
        "prices::a_hidden_descent_covers_a_replaced_sample",
    ),
    row(EveryIterate, &["giga-gaussian"], "prices::every_iterate_that_a_sample_moves_is_priced"),
    row(ColumnScale, &["normalised-toeplitz", "sums-normalised-toeplitz"], "prices::no_column_is_longer_than_priced"),
    row(PublicSums, &["reward-sums", "exact-reward-sums"], "prices::rewards_at_public_points_cover_a_replaced_reward"),
    row(TreeNodes, &["tree", "sums-tree", "discrete-gaussian-sums"], "prices::every_node_that_holds_a_round_is_priced"),
    row(Neighbours, &["tree"], "prices::a_replaced_vector_moves_by_twice_its_norm"),
    unseen(
        GridRounding,
        &["discrete-laplace", "discrete-gaussian"],
        "a millionth of the noise; no number of replays shows it",
        "prices::rounding_to_the_grid_is_paid_for",
    ),
    row(
        KeyReuse,
        &[
            "discrete-laplace",
            "bit",
            "hybrid-on-a-grid",
            "piecewise-on-a-grid",
            "discrete-gaussian",
            "discrete-gaussian-rows",
            "discrete-gaussian-sums",
        ],
        "draws::every_release_has_a_key_of_its_own",
    ),
    row(DroppedSpend, &[], DEPLOYMENTS),
    row(CoveredSpend, &[], DEPLOYMENTS),
    row(PureAsGaussian, &[], DEPLOYMENTS),
    row(InteractionsAsValues, &[], DEPLOYMENTS),
    row(HalfRadius, &["discrete-gaussian-rows"], DEPLOYMENTS),
    row(RadiusOverScale, &[], DEPLOYMENTS),
];
