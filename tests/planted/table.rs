//! Which audits and which test must catch each fault.

use privateer_privacy::planted::PlantedFault::{self, *};

/// What the audits must say.
pub enum Expected {
    /// Every audit of the row refutes a claim.
    Refuted,
    /// No audit can: why.
    Unseen(&'static str),
    /// No audit of a mechanism can, and that of a deployment's files does, which the row's test runs.
    OfDeployments,
}

/// A fault, the audits that must refute it (the first is run in every test), and the test that must fail.
pub struct Row {
    pub fault: PlantedFault,
    pub audits: &'static [&'static str],
    pub expected: Expected,
    pub test: &'static str,
}

const fn row(fault: PlantedFault, audits: &'static [&'static str], test: &'static str) -> Row {
    Row { fault, audits, expected: Expected::Refuted, test }
}

const DEPLOYMENTS: &str = "mechanisms::deployments::every_stated_epsilon_is_the_exact_one";

/// A fault of what adds losses up, which no audit of a mechanism can see.
const fn of_deployments(fault: PlantedFault) -> Row {
    Row { fault, audits: &[], expected: Expected::OfDeployments, test: DEPLOYMENTS }
}

const SUMS: &[&str] =
    &["sums-local-gaussian", "sums-tree", "sums-blt", "discrete-gaussian-sums", "visits-own", "visits-tree", "visits-blt"];

/// The table.
pub const ROWS: &[Row] = &[
    row(LaplaceClip, &["laplace", "discrete-laplace"], "mechanisms::clips::laplace_clips_rewards"),
    row(GaussianClip, &["gaussian", "discrete-gaussian"], "mechanisms::clips::gaussian_clips_rewards"),
    row(
        UnitClip,
        &["duchi", "piecewise", "hybrid", "bit", "hybrid-on-a-grid"],
        "mechanisms::clips::bounded_randomisers_clip_rewards",
    ),
    row(RewardNan, &["laplace", "gaussian"], "mechanisms::clips::laplace_clips_rewards"),
    row(RowClip, &["discrete-gaussian-rows"], "mechanisms::clips::released_rows_are_moved_to_their_bound"),
    row(SumsRewardClip, SUMS, "mechanisms::clips::sums_clip_rewards"),
    row(SumsFeatureClip, SUMS, "mechanisms::clips::sums_shorten_features"),
    // Exact sums count it as zero steps.
    row(
        SumsFinite,
        &["sums-local-gaussian", "sums-tree", "visits-own", "visits-tree"],
        "mechanisms::clips::sums_take_nothing_that_is_not_finite",
    ),
    row(StreamFinite, &["tree"], "mechanisms::clips::running_sums_take_nothing_that_is_not_finite"),
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
        "mechanisms::clips::gradients_are_clipped",
    ),
    Row {
        fault: SampleClip,
        audits: &["sample-gaussian", "gradients-gaussian", "batch-gaussian", "stored-gaussian"],
        expected: Expected::Unseen("the bound on gradients holds the price alone"),
        test: "mechanisms::clips::features_are_clipped_before_the_gradient",
    },
    row(
        GradientFinite,
        &["sample-gaussian", "gradients-gaussian", "batch-gaussian", "stored-gaussian"],
        "mechanisms::clips::gradients_of_what_is_not_finite_are_zero",
    ),
    row(ChoiceBounds, &["visits-gumbel", "visits-laplace"], "mechanisms::clips::choices_enforce_their_bounds"),
    row(LaplaceNoise, &["laplace", "discrete-laplace"], "mechanisms::noise::laplace_noise_has_its_scale"),
    row(GaussianNoise, &["gaussian", "discrete-gaussian"], "mechanisms::noise::gaussian_noise_has_its_size"),
    row(DuchiNoise, &["duchi", "bit"], "mechanisms::noise::a_bit_answers_at_its_epsilon"),
    row(PiecewiseNoise, &["piecewise", "piecewise-on-a-grid"], "mechanisms::noise::the_density_answers_at_its_epsilon"),
    row(
        ResponseNoise,
        &["randomised-response", "response-on-levels"],
        "mechanisms::noise::randomised_response_answers_at_its_epsilon",
    ),
    row(
        CapCoin,
        &["sums-privunit", "visits-privunit", "sample-privunit", "ranked-points"],
        "mechanisms::noise::a_cap_is_left_at_its_probability",
    ),
    row(HybridBranch, &["hybrid", "hybrid-on-a-grid"], "mechanisms::noise::the_hybrid_mixes_by_a_public_coin"),
    row(
        StreamNoise,
        &["gram-prefix", "tree", "honaker", "blt", "sqrt-toeplitz", "sums-tree", "visits-tree", "visits-own"],
        "mechanisms::noise::draws_of_running_sums_have_their_size",
    ),
    row(LocalNoise, &["sums-local-gaussian"], "mechanisms::noise::noise_of_own_items_has_its_size"),
    row(RowNoise, &["input-noise"], "mechanisms::noise::noise_on_rows_has_its_size"),
    row(
        GradientGaussianNoise,
        &["sample-gaussian", "gradients-gaussian", "batch-gaussian"],
        "mechanisms::noise::gaussian_noise_on_gradients_has_its_size",
    ),
    row(GradientGeneralizedNoise, &["sample-generalized-gaussian"], "mechanisms::noise::generalised_gaussian_noise_has_its_size"),
    row(VertexLaplaceNoise, &["choices-laplace"], "mechanisms::noise::laplace_noise_on_vertices_has_its_scale"),
    row(VertexGumbelNoise, &["choices-gumbel"], "mechanisms::noise::the_exponential_mechanism_over_vertices_has_its_scale"),
    Row {
        fault: ArmLaplaceNoise,
        audits: &["visits-laplace"],
        expected: Expected::Unseen(
            "two vertices tie under Laplace noise as under Gumbel noise of the same scale, at half of the price",
        ),
        test: "mechanisms::noise::laplace_noise_over_arms_has_its_scale",
    },
    row(ArmGumbelNoise, &["visits-gumbel"], "mechanisms::noise::the_exponential_mechanism_over_arms_has_its_scale"),
    row(
        ExactGaussianNoise,
        &["discrete-gaussian-rows", "discrete-gaussian", "discrete-gaussian-sums"],
        "mechanisms::noise::exact_gaussian_noise_has_its_size",
    ),
    Row {
        fault: SmallNoise,
        audits: &["discrete-laplace", "discrete-gaussian"],
        expected: Expected::Unseen("3 % of the noise are within the interval of 20 000 replays"),
        test: "mechanisms::samplers::samplers_keep_the_stated_price",
    },
    row(
        SharedDraw,
        &["visits-own", "sums-tree", "sums-blt", "visits-tree", "discrete-gaussian-sums"],
        "mechanisms::draws::entries_of_a_sum_have_draws_of_their_own",
    ),
    row(TreeReuse, &["sums-tree", "tree", "visits-tree"], "mechanisms::draws::the_tree_draws_in_every_round"),
    row(
        BatchClip,
        &["sums-batch-laplace", "exact-sums-batch-laplace", "sums-exponential", "exact-exponential"],
        "mechanisms::batches::rewards_are_clipped",
    ),
    row(
        BatchNoise,
        &["sums-batch-laplace", "sums-batch-gaussian", "exact-sums-batch-laplace", "exact-sums-batch-gaussian"],
        "mechanisms::batches::a_mean_has_the_stated_noise",
    ),
    row(AnswerNoise, &["sums-exponential", "exact-exponential"], "mechanisms::answers::a_choice_has_its_scale"),
    row(
        BatchTwice,
        &["sums-batch-laplace", "sums-batch-gaussian", "exact-sums-batch-laplace"],
        "mechanisms::batches::a_batch_holds_nothing_of_the_one_before",
    ),
    row(ShuffledAnswers, &["sums-batch-shuffle"], "mechanisms::batches::shuffled_answers_keep_their_price"),
    row(BatchDraw, &["sums-batch-laplace", "sums-batch-gaussian"], "mechanisms::batches::a_mean_has_the_stated_noise"),
    row(BatchSum, &["batch-gaussian"], "mechanisms::draws::a_batch_holds_nothing_of_the_one_before"),
    row(RowSum, &["discrete-gaussian-sums"], "mechanisms::draws::rows_of_an_exact_sum_are_cleared"),
    row(OwnNoise, &["visits-own"], "mechanisms::draws::every_local_interaction_has_noise_of_its_own"),
    row(
        Participations,
        &["tree", "honaker", "blt", "sqrt-toeplitz", "ftrl-gaussian"],
        "mechanisms::prices::every_participation_is_priced",
    ),
    row(
        ReturningRewards,
        &["laplace", "gaussian", "duchi", "sums-batch-laplace", "sums-batch-gaussian", "sums-local-gaussian", "sums-privunit"],
        "mechanisms::prices::noise_of_rewards_covers_every_answer",
    ),
    row(GroupPrice, &["sums-tree", "sums-blt", "visits-tree"], "mechanisms::prices::a_group_in_one_stream_is_priced_as_a_group"),
    row(PlainSums, &["ftrl-gaussian"], "mechanisms::prices::sums_of_plain_gradients_cover_a_replaced_sample"),
    row(
        HiddenSteps,
        &["phased-gaussian", "snowball-gaussian", "giga-gaussian"],
        "mechanisms::prices::a_hidden_descent_covers_a_replaced_sample",
    ),
    row(EveryIterate, &["giga-gaussian"], "mechanisms::prices::every_iterate_that_a_sample_moves_is_priced"),
    row(
        TreeNodes,
        &["tree", "sums-tree", "discrete-gaussian-sums"],
        "mechanisms::prices::every_node_that_holds_a_round_is_priced",
    ),
    row(Neighbours, &["tree"], "mechanisms::prices::a_replaced_vector_moves_by_twice_its_norm"),
    Row {
        fault: GridRounding,
        audits: &["discrete-laplace", "discrete-gaussian"],
        expected: Expected::Unseen("a millionth of the noise; no number of replays shows it"),
        test: "mechanisms::prices::rounding_to_the_grid_is_paid_for",
    },
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
        "mechanisms::draws::every_release_has_a_key_of_its_own",
    ),
    of_deployments(DroppedSpend),
    of_deployments(CoveredSpend),
    of_deployments(PureAsGaussian),
    of_deployments(InteractionsAsValues),
    row(HalfRadius, &["discrete-gaussian-rows"], DEPLOYMENTS),
    of_deployments(RadiusOverScale),
];
