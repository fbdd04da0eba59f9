// The state of a lane, its error bounds, and the posterior over visited points.
//
// A workgroup holds one lane. Same steps and magnitudes as `crates/backend/src/reference/trial`; derivation:
// `docs/derivations/device-loop.md`.

// Most visited points of a lane, and most points that a round decides among.
const MOST_VISITED: u32 = 128u;
const MOST_FOUND: u32 = 64u;

// Unit roundoff, roundings that a division or root counts for, and the factor for higher orders with its largest share.
const U: Real = 1.1102230246251565e-16lf;
const DIVISION: Real = 16.0lf;
const HIGHER_ORDERS: Real = 1.05lf;
const MOST_SHARE: Real = 0.01lf;

struct LoopSizes {
    n_points: u32,
    n_tiles: u32,
    // A multiple of four; those added are zero.
    n_features: u32,
    // Rows that a lane keeps.
    n_rows: u32,
    // Words and numbers of a lane.
    n_words: u32,
    n_numbers: u32,
    // Most rounds of a job of the submission, and of these those with a recommendation.
    n_rounds: u32,
    n_recorded: u32,
    // Where the rows of a lane begin, the factor, and memory for comparisons.
    at_rows: u32,
    at_factor: u32,
    at_scratch: u32,
    // Most observations, and most visited points, of the form of the posterior that is followed.
    most_observations: u32,
    most_points: u32,
}

@group(0) @binding(13) var<uniform> sizes: LoopSizes;
// Tile by tile: features x TILE points. A position is the index of a point in the order of the tiles.
@group(0) @binding(14) var<storage, read> features: array<Real>;
// Eight constants; radius, position of the centre and largest prior deviation of tiles; prior, residual and index of points.
@group(0) @binding(15) var<storage, read> domain: array<Real>;
@group(0) @binding(16) var<storage, read_write> lane_words: array<u32>;
@group(0) @binding(17) var<storage, read_write> lane_numbers: array<Real>;
// lanes x 5 x tiles x TILE: p, mean, variance, its error, and the function.
@group(0) @binding(18) var<storage, read_write> lane_planes: array<Real>;
// Jobs: lane, rounds, stamp, error of the function's values if it begins (else -1), the lane that holds the function, rounds with a
// recommendation as bits, forced rounds, where its shared numbers begin; then two numbers of each round: position and reward of those that are
// forced, which come first, noise and what a mechanism adds of the others. Shared numbers: ridge, slope and offset of the exploration factor, clip
// range, factors; then the factor at no information gain of each round that is not forced, or one for all.
@group(0) @binding(19) var<storage, read> jobs: array<Real>;
// Jobs x (stamp, rounds played, status, tiles visited; actions; recommended points, in order). A job that was paused goes on in
// the next dispatch.
@group(0) @binding(20) var<storage, read_write> played: array<u32>;

const JOB_HEADER: u32 = 9u;
const ROUND_NUMBERS: u32 = 2u;
const SHARED_HEADER: u32 = 6u;
const PLAYED_HEADER: u32 = 4u;

// Constants of the domain.
const D_PRIOR: u32 = 0u;
const D_RESIDUAL: u32 = 1u;
const D_DEPTH: u32 = 2u;
const D_PRIOR_ERROR: u32 = 3u;
// Where the host has covariances: error of one, with a sum's roundings, and relative rounding of its coefficients; else zeros.
const D_COVARIANCE_ERROR: u32 = 4u;
const D_COEFFICIENT_ROUNDING: u32 = 5u;
const D_TILES: u32 = 8u;

// Words of a lane: header, visited positions, candidates; then tiles' last rows plus one, and visited tiles.
const W_VISITED: u32 = 0u;
const W_FACTORED: u32 = 1u;
const W_ROWS: u32 = 2u;
const W_OPEN: u32 = 3u;
const W_FULL: u32 = 4u;
const W_NEW: u32 = 5u;
const W_POINTS: u32 = 16u;
const W_TILES: u32 = 144u;

// Numbers of a lane: scalars, counts, L^-1 C c of a new point; weights without the streak, direction, weights; tiles.
const N_COUNTS: u32 = 32u;
const N_SOLVED: u32 = 160u;
const N_VECTORS: u32 = 288u;
const TILE_NUMBERS: u32 = 11u;
const ROW_NUMBERS: u32 = 5u;

// Scalars, as in `LoopErrors`, `LoopTiles`, `LoopStreak` and `StreakSize`.
const OBSERVATIONS: u32 = 0u;
const ROTATED: u32 = 1u;
const MEAN_ERROR: u32 = 2u;
const STEPS: u32 = 3u;
const WEIGHTS: u32 = 4u;
const INNOVATIONS: u32 = 5u;
const TILES_MEAN: u32 = 6u;
const TILES_VARIANCE: u32 = 7u;
const COUNT: u32 = 8u;
const BEFORE: u32 = 9u;
const LEVERAGE: u32 = 10u;
const COEFFICIENT: u32 = 11u;
const ROW_SIZE: u32 = 12u;
const ENTRY: u32 = 13u;
const DIRECTION_SIZE: u32 = 14u;
const START_MEAN: u32 = 15u;
const PIVOT: u32 = 16u;
const RIDGE: u32 = 17u;
const REWARD: u32 = 18u;
const SQUARES: u32 = 19u;
const STEP: u32 = 20u;
const CLOSED: u32 = 21u;
const WEIGHTS_SIZE: u32 = 22u;
const WEIGHTS_SUM: u32 = 23u;
const GAIN: u32 = 24u;
const GAIN_ERROR: u32 = 25u;
const SLOPE: u32 = 26u;
const OFFSET: u32 = 27u;
const COEFFICIENTS: u32 = 28u;
const LEFT: u32 = 29u;
// Bound on the distance of the function's values, and of any reward so far, from the host's.
const OF_VALUES: u32 = 30u;
const OF_REWARDS: u32 = 31u;

var<workgroup> num: array<Real, 32>;
var<workgroup> vector: array<Real, MOST_VISITED>;
var<workgroup> solved: array<Real, MOST_VISITED>;
var<workgroup> row: array<Real, MOST_VISITED>;
var<workgroup> reduced: array<Real, THREADS>;
var<workgroup> largest: array<atomic<u32>, MOST_VISITED>;
var<workgroup> n_visited: u32;
var<workgroup> n_factored: u32;
var<workgroup> n_rows: u32;
var<workgroup> open_slot: u32;
var<workgroup> is_full: u32;
// Whether the current streak is the first of its point.
var<workgroup> is_new_point: u32;
var<workgroup> chosen: u32;
var<workgroup> slot: u32;
var<workgroup> solve_from: u32;

var<private> thread: u32;
var<private> numbers_at: u32;
var<private> words_at: u32;
var<private> planes_at: u32;
// Iterations of loops in this dispatch.
var<private> spent: u32;

fn number(at: u32) -> Real {
    return lane_numbers[numbers_at + at];
}

fn set_number(at: u32, value: Real) {
    lane_numbers[numbers_at + at] = value;
}

fn word(at: u32) -> u32 {
    return lane_words[words_at + at];
}

fn set_word(at: u32, value: u32) {
    lane_words[words_at + at] = value;
}

fn of_point(which: u32, position: u32) -> Real {
    return domain[D_TILES + 3u * sizes.n_tiles + which * TILE * sizes.n_tiles + position];
}

fn inside(position: u32) -> Real {
    return of_point(0u, position) - of_point(1u, position);
}

fn feature(position: u32, j: u32) -> Real {
    return features[((position / TILE) * sizes.n_features + j) * TILE + position % TILE];
}

fn lower(i: u32, j: u32) -> Real {
    return number(sizes.at_factor + i * (i + 1u) / 2u + j);
}

// Start of the weights without the streak (0), of the direction (1), of the weights (2).
fn vector_at(which: u32) -> u32 {
    return N_VECTORS + which * sizes.n_features;
}

fn tile_at(tile: u32) -> u32 {
    return vector_at(3u) + tile * (TILE_NUMBERS + sizes.n_features);
}

fn row_at(index: u32) -> u32 {
    return sizes.at_rows + index * (ROW_NUMBERS + sizes.n_features);
}

// Counts iterations of loops of a thread, by the same number in every thread.
fn spend(iterations: u32) {
    spent += iterations;
}

// Returns how many turns the threads take for so many items.
fn turns(items: u32) -> u32 {
    return (items + THREADS - 1u) / THREADS;
}

// Returns four features of a point.
fn four_features(position: u32, j: u32) -> vec4<Real> {
    let at = ((position / TILE) * sizes.n_features + j) * TILE + position % TILE;
    return vec4<Real>(features[at], features[at + TILE], features[at + 2u * TILE], features[at + 3u * TILE]);
}

// Returns four numbers of the lane.
fn four_numbers(at: u32) -> vec4<Real> {
    return vec4<Real>(number(at), number(at + 1u), number(at + 2u), number(at + 3u));
}

fn sum_of(sums: vec4<Real>) -> Real {
    return (sums.x + sums.y) + (sums.z + sums.w);
}

// Returns the prior covariance of two points, in four partial sums.
fn covariance(a: u32, b: u32) -> Real {
    var sums = vec4<Real>();
    for (var j = 0u; j < sizes.n_features; j += 4u) {
        sums += four_features(a, j) * four_features(b, j);
    }
    return sum_of(sums);
}

// Returns the product of numbers of the lane and a point's features.
fn along(at: u32, position: u32) -> Real {
    var sums = vec4<Real>();
    for (var j = 0u; j < sizes.n_features; j += 4u) {
        sums += four_numbers(at + j) * four_features(position, j);
    }
    return sum_of(sums);
}

// Adds a number of each thread, or returns the largest; one that is NaN counts as that.
fn over_threads(mine: Real, adds: bool) -> Real {
    spend(8u);
    workgroupBarrier();
    reduced[thread] = mine;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half >>= 1u) {
        if (thread < half) {
            let one = reduced[thread];
            let other = reduced[thread + half];
            reduced[thread] = select(select(other, one, other <= one), one + other, adds);
        }
        workgroupBarrier();
    }
    return reduced[0];
}

fn total(mine: Real) -> Real {
    return over_threads(mine, true);
}

fn most(mine: Real) -> Real {
    return over_threads(mine, false);
}

// Error bounds: see `errors.rs`.

fn diagonal() -> Real {
    return domain[D_PRIOR] + num[RIDGE];
}

fn entry_error(k: Real) -> Real {
    return HIGHER_ORDERS * (U * (k + DIVISION + 8.0lf + domain[D_DEPTH]) * diagonal() + num[ROTATED] + domain[D_COVARIANCE_ERROR]);
}

fn kriging() -> Real {
    return HIGHER_ORDERS * sqrt(num[OBSERVATIONS] / num[RIDGE]);
}

fn solve_error(k: Real) -> Real {
    return U * diagonal() * (k + DIVISION + 3.0lf);
}

fn leverage_error(k: Real) -> Real {
    let ridge = num[RIDGE];
    let size = num[ROW_SIZE];
    let solve = solve_error(k);
    if (0.0lf < num[BEFORE]) {
        return ridge * (entry_error(k) + 2.0lf * solve) * size * size + (DIVISION + 9.0lf) * U / num[BEFORE];
    }
    return ridge * entry_error(k) * size * size + 2.0lf * solve * size
        + U * (2.0lf * domain[D_DEPTH] + 2.0lf * k + 8.0lf) * domain[D_PRIOR] / ridge;
}

// Returns the natural logarithm of a number from 1 to 2^64: exact halvings, then the series of 2 atanh((x - 1) / (x + 1)).
fn logarithm(number: Real) -> Real {
    spend(77u);
    var x = number;
    var halvings = 0.0lf;
    for (var i = 0u; i < 64u; i++) {
        let is_large = 1.4142135623730951lf < x;
        x = select(x, 0.5lf * x, is_large);
        halvings += select(0.0lf, 1.0lf, is_large);
    }
    let t = (x - 1.0lf) / (x + 1.0lf);
    var sum = 0.0lf;
    for (var n = 0u; n < 13u; n++) {
        sum = sum * (t * t) + 1.0lf / Real(25u - 2u * n);
    }
    return halvings * 0.6931471805599453lf + 2.0lf * t * sum;
}

// Returns the information gain with the current streak, and a bound on its error in one model.
fn information_gain(k: Real) -> vec2<Real> {
    let after = 1.0lf + num[COUNT] * num[LEVERAGE];
    let gain = num[GAIN] + 0.5lf * logarithm(after);
    return vec2<Real>(gain, num[GAIN_ERROR] + num[COUNT] * leverage_error(k) / after + U * (16.0lf + 8.0lf * gain));
}

fn root_of_gain(gain: Real) -> Real {
    return sqrt(larger(gain, 0.0lf) + num[OFFSET]);
}

// Returns the exploration factor of a round from that at no information gain, and a bound on its error.
fn exploration_factor(least: Real) -> vec2<Real> {
    let slope = num[SLOPE];
    if (slope == 0.0lf) {
        return vec2<Real>(least, 0.0lf);
    }
    let gain = information_gain(Real(n_factored));
    let root = root_of_gain(gain.x);
    let of_gain = root_of_gain(gain.x + 2.0lf * gain.y) - root_of_gain(gain.x - 2.0lf * gain.y);
    let beta = least + slope * (root - sqrt(num[OFFSET]));
    return vec2<Real>(beta, slope * of_gain + 256.0lf * U * (least + slope * root));
}

fn of_row(k: Real) -> Real {
    return (entry_error(k) + 2.0lf * solve_error(k) + U * diagonal() * (k + 2.0lf)) * num[ROW_SIZE];
}

fn of_start() -> Real {
    return U * (domain[D_DEPTH] + 2.0lf) * num[WEIGHTS] + domain[D_COVARIANCE_ERROR] * num[COEFFICIENTS];
}

fn of_coefficients() -> Real {
    return domain[D_COEFFICIENT_ROUNDING] * (num[COEFFICIENTS] + 2.0lf * abs(num[COEFFICIENT]) * num[ROW_SIZE]);
}

// Returns what the current streak adds to the bound on what the host's coefficients leave of their equations.
fn of_equation(k: Real) -> Real {
    let of_steps = U * num[STEPS] * (1.0lf + num[COUNT] * num[LEVERAGE]) / larger(num[BEFORE] + num[COUNT], 1.0lf);
    let of_coefficient = abs(num[COEFFICIENT]) * (of_row(k) + leverage_error(k));
    return HIGHER_ORDERS * (of_coefficient + of_start() + of_steps + diagonal() * of_coefficients());
}

fn of_streak(k: Real) -> Real {
    let t = num[OBSERVATIONS];
    let ridge = num[RIDGE];
    let prior = domain[D_PRIOR];
    let count = num[COUNT];
    let leverage = num[LEVERAGE];
    let coefficient = abs(num[COEFFICIENT]);
    let of_direction = sqrt(t) * of_row(k) * sqrt(1.0lf + count * leverage);
    let of_leverage = leverage_error(k);
    let of_steps = U * num[STEPS] * sqrt(leverage * (1.0lf + count * leverage));
    let norm = sqrt(ridge / prior + t);
    let of_sum = norm * U * (num[WEIGHTS] + 2.0lf * coefficient * num[DIRECTION_SIZE]) + norm * prior * of_coefficients();
    let sum = coefficient * (of_direction + sqrt(count) * of_leverage) + sqrt(count) * of_start() + of_steps + of_sum;
    return HIGHER_ORDERS * sum / sqrt(ridge);
}

// Returns the error of a fall; `band` holds the error of p, a constant and a share.
fn of_fall(band: vec2<Real>, squares: Real, p: Real, variance: Real) -> Real {
    let of_share = 2.0lf * (band.y * sqrt(squares) + band.y * band.y * squares) * variance;
    return 2.0lf * squares * band.x * (abs(p) + band.x) + of_share + U * (4.0lf * squares * p * p + 2.0lf * variance);
}

// Solves L x = b, where `vector` holds b; x goes to `solved`, whose entries before `solve_from` are zero.
fn solve_lower() {
    let n = workgroupUniformLoad(&n_factored);
    spend(n * (1u + turns(n)));
    let first = workgroupUniformLoad(&solve_from);
    for (var i = thread; i < first; i += THREADS) {
        solved[i] = 0.0lf;
    }
    for (var k = first; k < n; k++) {
        let x = vector[k] / lower(k, k);
        if (thread == 0u) {
            solved[k] = x;
        }
        for (var i = k + 1u + thread; i < n; i += THREADS) {
            vector[i] -= x * lower(i, k);
        }
        workgroupBarrier();
    }
}

// Solves L^T x = b, where `solved` holds b; x goes to `row`.
fn solve_transposed() {
    let n = workgroupUniformLoad(&n_factored);
    spend(n * (1u + turns(n)));
    for (var j = 0u; j < n; j++) {
        let k = n - 1u - j;
        let x = solved[k] / lower(k, k);
        if (thread == 0u) {
            row[k] = x;
        }
        for (var i = thread; i < k; i += THREADS) {
            solved[i] -= x * lower(k, i);
        }
        workgroupBarrier();
    }
}

// Replaces the factor by that of A - delta e e^T at the slot of the streak, and counts the errors.
fn lower_diagonal() {
    let n = workgroupUniformLoad(&n_factored);
    spend(n * (1u + 2u * turns(n)) + 2u * turns(n));
    let first = workgroupUniformLoad(&open_slot);
    var squares_of_row = 0.0lf;
    for (var i = first + thread; i < n; i += THREADS) {
        var sum = 0.0lf;
        for (var k = first; k <= i; k++) {
            sum += lower(i, k) * lower(i, k);
        }
        squares_of_row = larger(sum, squares_of_row);
    }
    let of_rows = most(squares_of_row);
    let count = num[COUNT];
    let before = num[BEFORE];
    for (var i = thread; i < n; i += THREADS) {
        vector[i] = select(0.0lf, sqrt(num[RIDGE] * count / (before * (before + count))), i == first);
        atomicStore(&largest[i], 0u);
    }
    workgroupBarrier();
    var squares = 0.0lf;
    var rest = 0.0lf;
    var last = 0.0lf;
    for (var k = first; k < n; k++) {
        let pivot = lower(k, k);
        let x = vector[k];
        let lowered = sqrt(larger((pivot - x) * (pivot + x), 2.2250738585072014e-308lf));
        let inverse_c = pivot / lowered;
        let s = x / pivot;
        let c = lowered / pivot;
        workgroupBarrier();
        if (thread == 0u) {
            set_number(sizes.at_factor + k * (k + 1u) / 2u + k, lowered);
        }
        for (var i = k + 1u + thread; i < n; i += THREADS) {
            let entry = (lower(i, k) - s * vector[i]) * inverse_c;
            set_number(sizes.at_factor + i * (i + 1u) / 2u + k, entry);
            let rotated = c * vector[i] - s * entry;
            vector[i] = rotated;
            // Rounded up, beyond the rounding to f32.
            atomicMax(&largest[k], bitcast<u32>(f32(abs(rotated)) * 1.000001f + 1e-37f));
        }
        workgroupBarrier();
        let before_rotation = s * last * inverse_c;
        let kept = c * last;
        last = Real(bitcast<f32>(atomicLoad(&largest[k])));
        squares += before_rotation * before_rotation;
        rest += last * (kept + abs(s) * (1.0lf + abs(before_rotation)));
    }
    if (thread == 0u) {
        let of_entries = (4.0lf * DIVISION + 11.0lf) * of_rows + (2.0lf * DIVISION + 4.0lf) * sqrt(squares * of_rows);
        let error = U * (of_entries + (2.0lf * DIVISION + 17.0lf) * larger(sqrt(of_rows), 1.0lf) * rest);
        num[ROTATED] += error;
        num[CLOSED] = error * kriging() * kriging();
    }
}

// Applies the current streak to factor and weights.
fn close() {
    let ended = workgroupUniformLoad(&open_slot);
    if (ended == NONE) {
        return;
    }
    for (var j = thread; j < sizes.n_features; j += THREADS) {
        set_number(vector_at(0u) + j, number(vector_at(0u) + j) + num[COEFFICIENT] * number(vector_at(1u) + j));
    }
    let n = workgroupUniformLoad(&n_factored);
    let is_new = workgroupUniformLoad(&is_new_point) != 0u;
    if (is_new) {
        let start = sizes.at_factor + n * (n + 1u) / 2u;
        for (var i = thread; i < n; i += THREADS) {
            set_number(start + i, number(N_SOLVED + i));
        }
        if (thread == 0u) {
            set_number(start + n, sqrt(num[PIVOT] + num[RIDGE] / num[COUNT]));
            n_factored = n + 1u;
        }
    }
    if (thread == 0u) {
        let k = Real(select(n, n + 1u, is_new));
        num[MEAN_ERROR] += of_streak(k);
        num[LEFT] += of_equation(k);
        num[COEFFICIENTS] += abs(num[COEFFICIENT]) * num[ROW_SIZE];
        let gain = information_gain(k);
        num[GAIN] = gain.x;
        num[GAIN_ERROR] = gain.y;
        num[CLOSED] = 0.0lf;
    }
    storageBarrier();
    workgroupBarrier();
    if (!is_new) {
        lower_diagonal();
    }
    storageBarrier();
    workgroupBarrier();
}

// Begins a streak at the chosen point without observations.
fn start() {
    let z = workgroupUniformLoad(&chosen);
    let at = workgroupUniformLoad(&slot);
    let n = workgroupUniformLoad(&n_factored);
    let ridge = num[RIDGE];
    spend(turns(sizes.n_features) * (n + 2u) + (turns(n) + turns(sizes.n_tiles)) * (sizes.n_features / 4u + 1u) + 4u * turns(n));
    if (thread == 0u && at == n_visited) {
        set_word(W_POINTS + at, z);
        set_number(N_COUNTS + at, 0.0lf);
        n_visited = at + 1u;
    }
    storageBarrier();
    workgroupBarrier();
    let before = number(N_COUNTS + at);
    var leverage = 0.0lf;
    var pivot = 0.0lf;
    if (at < n) {
        for (var i = thread; i < n; i += THREADS) {
            vector[i] = select(0.0lf, 1.0lf / before, i == at);
        }
        if (thread == 0u) {
            solve_from = at;
        }
        solve_lower();
        solve_transposed();
        leverage = (1.0lf - ridge * row[at]) / before;
    } else {
        for (var i = thread; i < n; i += THREADS) {
            vector[i] = covariance(word(W_POINTS + i), z);
        }
        if (thread == 0u) {
            solve_from = 0u;
        }
        solve_lower();
        var squares = 0.0lf;
        for (var i = thread; i < n; i += THREADS) {
            set_number(N_SOLVED + i, solved[i]);
            squares += solved[i] * solved[i];
        }
        pivot = larger(inside(z) - total(squares), 0.0lf);
        leverage = pivot / ridge;
        solve_transposed();
        for (var i = thread; i < n; i += THREADS) {
            row[i] *= -1.0lf / ridge;
        }
        if (thread == 0u) {
            row[n] = 1.0lf / ridge;
        }
    }
    workgroupBarrier();
    let length = select(n + 1u, n, at < n);
    var of_weights = 0.0lf;
    var of_direction = 0.0lf;
    var of_mean = 0.0lf;
    for (var j = thread; j < sizes.n_features; j += THREADS) {
        var sum = 0.0lf;
        for (var i = 0u; i < length; i++) {
            sum += row[i] * feature(word(W_POINTS + i), j);
        }
        set_number(vector_at(1u) + j, sum);
        set_number(row_at(n_rows) + ROW_NUMBERS + j, sum);
        let theta = number(vector_at(0u) + j);
        of_direction += sum * sum;
        of_weights += theta * theta;
        of_mean += theta * feature(z, j);
    }
    var of_row = 0.0lf;
    for (var i = thread; i < length; i += THREADS) {
        of_row += abs(row[i]);
    }
    let direction = total(of_direction);
    let weights = total(of_weights);
    let mean = total(of_mean);
    let size = total(of_row);
    if (thread == 0u) {
        let prior = domain[D_PRIOR];
        let g = diagonal();
        let k = Real(n);
        num[COUNT] = 0.0lf;
        num[BEFORE] = before;
        num[LEVERAGE] = larger(leverage, 0.0lf);
        num[COEFFICIENT] = 0.0lf;
        num[ROW_SIZE] = size;
        num[ENTRY] = row[at];
        num[DIRECTION_SIZE] = sqrt(direction * prior);
        num[START_MEAN] = mean;
        num[PIVOT] = pivot;
        num[WEIGHTS] = larger(sqrt(weights * prior), num[WEIGHTS]);
        num[STEPS] = 0.0lf;
        let solve = HIGHER_ORDERS * U * (k + DIVISION + 3.0lf);
        let of_p = solve * sqrt(g * prior) * size
            + HIGHER_ORDERS * U * ((k + 3.0lf) * prior * size + (domain[D_DEPTH] + 2.0lf) * num[DIRECTION_SIZE]);
        var share = 0.0lf;
        if (0.0lf < before) {
            let root = sqrt(larger(num[ENTRY], 0.0lf) / before);
            let of_leverage = solve * 2.0lf * ridge * sqrt(g) * size * root + (DIVISION + 9.0lf) * U / before;
            share = solve * sqrt(g) * root * kriging() + of_leverage / sqrt(larger(num[LEVERAGE], of_leverage) * ridge);
        }
        let new_row = row_at(n_rows);
        set_number(new_row, 0.0lf);
        set_number(new_row + 1u, 0.0lf);
        set_number(new_row + 2u, of_p);
        set_number(new_row + 3u, share);
        set_number(new_row + 4u, num[CLOSED]);
        num[TILES_VARIANCE] += num[CLOSED] * prior;
        n_rows += 1u;
        open_slot = at;
        is_new_point = u32(at >= n);
    }
    storageBarrier();
    workgroupBarrier();
    for (var tile = thread; tile < sizes.n_tiles; tile += THREADS) {
        set_number(tile_at(tile) + T_CENTRE_P, along(vector_at(1u), u32(domain[D_TILES + sizes.n_tiles + tile])));
    }
}

// Adds the observation of the chosen point.
fn observe() {
    let z = workgroupUniformLoad(&chosen);
    let visited = workgroupUniformLoad(&n_visited);
    spend(turns(visited) + turns(sizes.n_tiles) + 2u * turns(sizes.n_features));
    if (thread == 0u) {
        slot = visited;
    }
    workgroupBarrier();
    for (var i = thread; i < visited; i += THREADS) {
        if (word(W_POINTS + i) == z) {
            slot = i;
        }
    }
    let at = workgroupUniformLoad(&slot);
    if (at != workgroupUniformLoad(&open_slot)) {
        if (at == MOST_VISITED || workgroupUniformLoad(&n_rows) == sizes.n_rows) {
            if (thread == 0u) {
                is_full = 1u;
                num[OBSERVATIONS] += 1.0lf;
            }
            workgroupBarrier();
            return;
        }
        close();
        start();
    }
    if (thread == 0u) {
        let leverage = num[LEVERAGE];
        let mean = num[START_MEAN] + num[COEFFICIENT] * leverage;
        let surprise = num[REWARD] - mean;
        let before = 1.0lf + num[COUNT] * leverage;
        let after = before + leverage;
        let step = surprise / after;
        let squares = num[RIDGE] / (before * after);
        num[COUNT] += 1.0lf;
        num[COEFFICIENT] += step;
        set_number(N_COUNTS + at, number(N_COUNTS + at) + 1.0lf);
        num[OBSERVATIONS] += 1.0lf;
        let magnitude = abs(num[REWARD]) + abs(mean) + abs(surprise);
        num[STEPS] += 4.0lf * magnitude / after + abs(num[COEFFICIENT]) + (DIVISION + 4.0lf) * abs(step);
        num[LEFT] += 8.0lf * U * magnitude;
        num[SQUARES] = squares;
        num[STEP] = step;
        let current = row_at(n_rows - 1u);
        set_number(current, number(current) + squares);
        set_number(current + 1u, number(current + 1u) + step);
        num[INNOVATIONS] += step * step / squares;
        let prior = domain[D_PRIOR];
        let band = vec2<Real>(number(current + 2u), number(current + 3u));
        num[TILES_VARIANCE] += of_fall(band, squares, sqrt(prior / squares), prior);
    }
    workgroupBarrier();
    for (var tile = thread; tile < sizes.n_tiles; tile += THREADS) {
        let centre = tile_at(tile);
        let p = number(centre + T_CENTRE_P);
        set_number(centre + T_CENTRE_VARIANCE, number(centre + T_CENTRE_VARIANCE) - num[SQUARES] * p * p);
        set_number(centre + T_CENTRE_MEAN, number(centre + T_CENTRE_MEAN) + num[STEP] * p);
    }
    var squares = 0.0lf;
    var sum = 0.0lf;
    for (var j = thread; j < sizes.n_features; j += THREADS) {
        let weight = number(vector_at(0u) + j) + num[COEFFICIENT] * number(vector_at(1u) + j);
        set_number(vector_at(2u) + j, weight);
        squares += weight * weight;
        sum += abs(weight);
    }
    let of_weights = total(squares);
    let of_sum = total(sum);
    if (thread == 0u) {
        num[WEIGHTS_SIZE] = sqrt(of_weights * domain[D_PRIOR]);
        num[WEIGHTS_SUM] = of_sum;
        let rounded = (domain[D_DEPTH] + 4.0lf) * num[DIRECTION_SIZE] * abs(num[STEP]);
        num[TILES_MEAN] += U * (rounded + 2.0lf * num[WEIGHTS_SIZE]);
    }
    storageBarrier();
    workgroupBarrier();
}
