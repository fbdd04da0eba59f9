// Plays rounds of trials, one lane a workgroup, until one must be left to the host.
//
// A dispatch is short: it ends once it has spent many iterations of loops, in the middle of a round if need be, and the next
// one goes on. A driver may reset a card that works long, and some software drivers leave loops silently after 65535 iterations
// of all loops of a thread together.

// Tie tolerance, and the smallest ridge as a share of the prior variance of the form that is followed.
const TIE: Real = 1e-10lf;
const LEAST_RIDGE: Real = 1e-10lf;

// Roundings of the host's sums over visited points.
const SUM_DEPTH: Real = 24.0lf;

// Ends of a job.
const PLAYING: u32 = 0u;
const UNDECIDED: u32 = 1u;
const UNBOUNDED: u32 = 2u;
const PAUSED: u32 = 3u;

// Iterations after which a dispatch begins no round, visits no tile; most in catching up at once, and most in all.
const ROUNDS_END: u32 = 25000u;
const TILES_END: u32 = 30000u;
const MOST_AT_ONCE: u32 = 12000u;
const MOST_SPENT: u32 = 60000u;

// Numbers of a tile: sums of its last row as far as they are applied; what bounded its scores at its last visit; moments of its
// centre; the bound of this round. Its weights at that visit follow.
const T_SQUARES: u32 = 0u;
const T_STEPS: u32 = 1u;
const T_LARGEST: u32 = 2u;
const T_DEVIATION: u32 = 3u;
const T_BETA: u32 = 4u;
const T_MEAN: u32 = 5u;
const T_INNOVATIONS: u32 = 6u;
const T_CENTRE_MEAN: u32 = 7u;
const T_CENTRE_VARIANCE: u32 = 8u;
const T_CENTRE_P: u32 = 9u;
const T_BOUND: u32 = 10u;

// Planes of a lane.
const L_P: u32 = 0u;
const L_MEAN: u32 = 1u;
const L_VARIANCE: u32 = 2u;
const L_ERROR: u32 = 3u;
const L_FUNCTION: u32 = 4u;
const LANE_PLANES: u32 = 5u;

// Distance to the model that decides, as in `Distance`, and the band of a round, as in `ScoreBand`.
struct LaneDistance {
    mean: Real,
    share: Real,
    mean_rounding: Real,
    variance_rounding: Real,
    deviation_rounding: Real,
    of_p: Real,
}

struct LaneBand {
    beta: Real,
    constant: Real,
    share: Real,
    variance: Real,
    widest: Real,
}

var<workgroup> status: u32;
var<workgroup> first_round: u32;
var<workgroup> tiles_visited: u32;
var<workgroup> n_visits: u32;
var<workgroup> best_tile: u32;
var<workgroup> tile_of: array<u32, THREADS>;
var<workgroup> best_lower: Real;
var<workgroup> is_done: u32;
var<workgroup> n_found: atomic<u32>;
var<workgroup> found: array<u32, MOST_FOUND>;
var<workgroup> sorted: array<u32, MOST_FOUND>;
var<workgroup> found_mean: array<Real, MOST_FOUND>;
var<workgroup> found_deviation: array<Real, MOST_FOUND>;
var<workgroup> found_rounding: array<Real, MOST_FOUND>;
var<workgroup> found_along: array<Real, MOST_FOUND>;
var<workgroup> found_low: array<Real, MOST_FOUND>;
var<workgroup> found_high: array<Real, MOST_FOUND>;
var<workgroup> first_found: u32;

fn lane_plane(which: u32, position: u32) -> u32 {
    return planes_at + which * TILE * sizes.n_tiles + position;
}

fn tie_margin(best: Real) -> Real {
    return TIE * (1.0lf + abs(best));
}

// Returns the distance to the model that decides; its first number is negative where there is no bound.
fn lane_distance() -> LaneDistance {
    let k = Real(n_factored);
    let share = entry_error(k) * num[OBSERVATIONS] / num[RIDGE];
    let follows = is_full == 0u && num[OBSERVATIONS] < Real(sizes.most_observations) && n_visited <= sizes.most_points
        && LEAST_RIDGE * domain[D_PRIOR] <= num[RIDGE];
    if (!(follows && share <= MOST_SHARE)) {
        return LaneDistance(-1.0lf, 0.0lf, 0.0lf, 0.0lf, 0.0lf, 0.0lf);
    }
    let prior = domain[D_PRIOR];
    let depth = domain[D_DEPTH];
    let unit = HIGHER_ORDERS * U;
    let weights = num[WEIGHTS] + abs(num[COEFFICIENT]) * num[DIRECTION_SIZE];
    let coefficients = num[COEFFICIENTS] + abs(num[COEFFICIENT]) * num[ROW_SIZE];
    let of_covariance = HIGHER_ORDERS * domain[D_COVARIANCE_ERROR];
    let solve = (k + DIVISION + 3.0lf) * diagonal();
    return LaneDistance(
        2.0lf * HIGHER_ORDERS * (num[MEAN_ERROR] + of_streak(k)) + num[OF_REWARDS] * kriging(),
        2.0lf * HIGHER_ORDERS * share,
        unit * 4.0lf * (depth + 3.0lf) * weights + of_covariance * coefficients,
        unit * prior * (4.0lf * (depth + k + 8.0lf) + 20.0lf) + of_covariance,
        (unit * 2.0lf * (solve + depth * prior) + of_covariance) * kriging(),
        U * ((SUM_DEPTH + depth + k) * prior + 3.0lf * solve) * num[ROW_SIZE],
    );
}

// Returns the factor of p squared in the fall of a variance by the current streak.
fn open_squares() -> Real {
    return num[RIDGE] * num[COUNT] / (1.0lf + num[COUNT] * num[LEVERAGE]);
}

// Bounds what the errors of p in both models change in that fall.
fn of_open_fall(apart: LaneDistance, p: Real) -> Real {
    return 2.0lf * open_squares() * apart.of_p * (2.0lf * abs(p) + apart.of_p);
}

// The exploration factor comes with a bound on its error, here and below.
fn lane_band(factor: vec2<Real>, apart: LaneDistance) -> LaneBand {
    let beta = factor.x;
    let highest = factor.x + factor.y;
    let deviation = sqrt(domain[D_PRIOR]);
    let magnitude = num[WEIGHTS_SIZE] + highest * deviation;
    let constant = num[TILES_MEAN] + apart.mean_rounding + highest * apart.deviation_rounding + 16.0lf * U * (1.0lf + magnitude);
    let share = apart.mean + highest * apart.share + factor.y;
    // A fall is at most the prior variance.
    let p = sqrt(domain[D_PRIOR] / larger(open_squares(), 2.2250738585072014e-308lf));
    let variance = apart.variance_rounding + of_open_fall(apart, p);
    let widest = constant + share * deviation + highest * sqrt(2.0lf * (num[TILES_VARIANCE] + variance));
    return LaneBand(beta, constant, share, variance, widest);
}

// Writes a bound on the scores of every tile.
fn bound_tiles(beta: Real) {
    let rounded = U * (4.0lf * domain[D_DEPTH] + 8.0lf) * (1.0lf + domain[D_PRIOR]);
    let now_sum = num[WEIGHTS_SUM];
    spend(turns(sizes.n_tiles) * (sizes.n_features / 4u + 1u));
    for (var tile = thread; tile < sizes.n_tiles; tile += THREADS) {
        let at = tile_at(tile);
        let radius = domain[D_TILES + tile];
        var apart = vec4<Real>();
        var length = vec4<Real>();
        var apart_sum = vec4<Real>();
        var then_sum = vec4<Real>();
        for (var j = 0u; j < sizes.n_features; j += 4u) {
            let now = four_numbers(vector_at(2u) + j);
            let then = four_numbers(at + TILE_NUMBERS + j);
            apart += (now - then) * (now - then);
            length += now * now;
            apart_sum += abs(now - then);
            then_sum += abs(then);
        }
        let of_apart = sum_of(apart_sum);
        let moved = sqrt(sum_of(apart) + rounded * of_apart * of_apart) + rounded * (now_sum + sum_of(then_sum));
        let reached = sqrt(sum_of(length) + rounded * now_sum * now_sum) + rounded * now_sum;
        let then_beta = number(at + T_BETA);
        let then_deviation = number(at + T_DEVIATION);
        let wider = larger(beta - then_beta, 0.0lf) * then_deviation;
        let near = wider + (number(at + T_CENTRE_MEAN) - number(at + T_MEAN)) + moved * radius;
        let more = larger(num[INNOVATIONS] - number(at + T_INNOVATIONS), 0.0lf) * (1.0lf + 1e-9lf);
        let far = larger(sqrt(beta * beta + more) - then_beta, 0.0lf) * then_deviation;
        let alone = beta * (sqrt(larger(number(at + T_CENTRE_VARIANCE), 0.0lf)) + sqrt(domain[D_RESIDUAL]));
        let fresh = number(at + T_CENTRE_MEAN) + alone + (reached + beta) * radius;
        let stale = number(at + T_LARGEST) + select(far, near, near < far);
        let bound = select(fresh, stale, stale < fresh);
        set_number(at + T_BOUND, select(LARGEST, bound, in_range(bound)));
    }
    storageBarrier();
    workgroupBarrier();
}

// Finds the tile with the highest bound.
fn find_tile() {
    spend(turns(sizes.n_tiles) + 9u);
    var bound = -LARGEST;
    var mine = 0u;
    for (var tile = thread; tile < sizes.n_tiles; tile += THREADS) {
        let other = number(tile_at(tile) + T_BOUND);
        if (bound < other) {
            bound = other;
            mine = tile;
        }
    }
    workgroupBarrier();
    reduced[thread] = bound;
    tile_of[thread] = mine;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half >>= 1u) {
        if (thread < half && reduced[thread] < reduced[thread + half]) {
            reduced[thread] = reduced[thread + half];
            tile_of[thread] = tile_of[thread + half];
        }
        workgroupBarrier();
    }
    if (thread == 0u) {
        best_tile = tile_of[0];
    }
}

// Applies the rows that a tile has not seen, as many as are allowed at once; returns whether those were all.
fn catch_up(tile: u32) -> bool {
    let at = tile_at(tile);
    let seen = word(W_TILES + tile);
    let first = max(seen, 1u) - 1u;
    let each = turns(TILE) * (sizes.n_features / 4u + 1u);
    let end = min(n_rows, first + 1u + MOST_AT_ONCE / each);
    spend((end - first) * each + turns(TILE));
    for (var x = tile * TILE + thread; x < (tile + 1u) * TILE; x += THREADS) {
        var p = lane_planes[lane_plane(L_P, x)];
        var mean = lane_planes[lane_plane(L_MEAN, x)];
        var variance = lane_planes[lane_plane(L_VARIANCE, x)];
        var error = lane_planes[lane_plane(L_ERROR, x)];
        for (var r = first; r < end; r++) {
            let current = row_at(r);
            let is_new = r + 1u != seen;
            var squares = number(current);
            var steps = number(current + 1u);
            if (is_new) {
                p = along(current + ROW_NUMBERS, x);
            } else {
                squares -= number(at + T_SQUARES);
                steps -= number(at + T_STEPS);
            }
            if (squares != 0.0lf) {
                var before = larger(variance, 0.0lf) + error;
                if (is_new) {
                    let closed = number(current + 4u) * before;
                    error += closed;
                    before += closed;
                }
                let band = vec2<Real>(number(current + 2u), number(current + 3u));
                error = (error + of_fall(band, squares, p, before)) * (1.0lf + 8.0lf * U);
                variance -= squares * p * p;
                mean += steps * p;
            }
        }
        lane_planes[lane_plane(L_P, x)] = p;
        lane_planes[lane_plane(L_MEAN, x)] = mean;
        lane_planes[lane_plane(L_VARIANCE, x)] = variance;
        lane_planes[lane_plane(L_ERROR, x)] = error;
    }
    storageBarrier();
    workgroupBarrier();
    if (thread == 0u) {
        let last = row_at(end - 1u);
        set_number(at + T_SQUARES, number(last));
        set_number(at + T_STEPS, number(last + 1u));
        set_word(W_TILES + tile, end);
    }
    storageBarrier();
    workgroupBarrier();
    return end == n_rows;
}

// Returns lower end, upper end and posterior standard deviation of a point's score.
fn score(x: u32, band: LaneBand) -> vec3<Real> {
    let mean = lane_planes[lane_plane(L_MEAN, x)];
    let variance = lane_planes[lane_plane(L_VARIANCE, x)];
    let error = lane_planes[lane_plane(L_ERROR, x)] + band.variance;
    let deviation = sqrt(larger(variance + error, 0.0lf));
    let apart = band.constant + band.share * deviation;
    let low = mean + band.beta * sqrt(larger(variance - error, 0.0lf)) - apart;
    return vec3<Real>(low, mean + band.beta * deviation + apart, deviation);
}

// Counts a tile as visited, and remembers what bounds its scores later.
fn visit(tile: u32, band: LaneBand) {
    let at = tile_at(tile);
    spend(turns(TILE) + turns(sizes.n_features));
    var low = -LARGEST;
    var high = -LARGEST;
    var deviation = 0.0lf;
    for (var x = tile * TILE + thread; x < (tile + 1u) * TILE; x += THREADS) {
        let scored = score(x, band);
        low = larger(scored.x, low);
        high = select(scored.y, high, scored.y <= high);
        deviation = larger(scored.z, deviation);
    }
    let lowest = most(low);
    let highest = most(high);
    let widest = most(deviation);
    for (var j = thread; j < sizes.n_features; j += THREADS) {
        set_number(at + TILE_NUMBERS + j, number(vector_at(2u) + j));
    }
    if (thread == 0u) {
        set_number(at + T_LARGEST, highest);
        set_number(at + T_DEVIATION, widest);
        set_number(at + T_BETA, band.beta);
        set_number(at + T_MEAN, number(at + T_CENTRE_MEAN));
        set_number(at + T_INNOVATIONS, num[INNOVATIONS]);
        set_number(at + T_BOUND, -LARGEST);
        set_word(W_TILES + sizes.n_tiles + n_visits, tile);
        n_visits += 1u;
        best_lower = larger(lowest, best_lower);
    }
    storageBarrier();
    workgroupBarrier();
}

// Visits tiles, best first, and lists the points that may be the best by their indices.
fn find_candidates(band: LaneBand) {
    bound_tiles(band.beta);
    if (thread == 0u) {
        n_visits = 0u;
        best_lower = -LARGEST;
        atomicStore(&n_found, 0u);
    }
    for (var visits = 0u; visits < sizes.n_tiles; visits++) {
        find_tile();
        let tile = workgroupUniformLoad(&best_tile);
        if (thread == 0u) {
            is_done = u32(reduced[0] + 3.0lf * band.widest < best_lower - tie_margin(best_lower));
            if (is_done == 0u && TILES_END < spent) {
                status = PAUSED;
            }
        }
        spend(1u);
        if (workgroupUniformLoad(&is_done) != 0u) {
            break;
        }
        if (workgroupUniformLoad(&status) != PLAYING) {
            return;
        }
        let is_complete = catch_up(tile);
        if (thread == 0u && !is_complete) {
            status = PAUSED;
        }
        if (workgroupUniformLoad(&status) != PLAYING) {
            return;
        }
        visit(tile, band);
    }
    let floor = best_lower - tie_margin(best_lower);
    let visits = workgroupUniformLoad(&n_visits);
    spend(visits * (turns(TILE) + 1u));
    for (var i = 0u; i < visits; i++) {
        let tile = word(W_TILES + sizes.n_tiles + i);
        for (var x = tile * TILE + thread; x < (tile + 1u) * TILE; x += THREADS) {
            // A score that is not a number stays.
            if (x < sizes.n_points && !(score(x, band).y < floor)) {
                let place = atomicAdd(&n_found, 1u);
                if (place < MOST_FOUND) {
                    found[place] = x;
                }
            }
        }
    }
    sort_found();
    if (thread == 0u) {
        tiles_visited += visits;
        if (best_lower == -LARGEST) {
            status = UNDECIDED;
        }
    }
    workgroupBarrier();
}

// Sorts the points that may be the best by their indices; none, too many or a score that is not finite leave the choice open.
fn sort_found() {
    spend(turns(MOST_FOUND) * (MOST_FOUND + 1u));
    workgroupBarrier();
    let count = min(atomicLoad(&n_found), MOST_FOUND);
    for (var i = thread; i < count; i += THREADS) {
        let index = of_point(2u, found[i]);
        var rank = 0u;
        for (var j = 0u; j < count; j++) {
            rank += u32(of_point(2u, found[j]) < index);
        }
        sorted[rank] = found[i];
    }
    if (thread == 0u && (!in_range(best_lower) || count == 0u || MOST_FOUND < atomicLoad(&n_found))) {
        status = UNDECIDED;
    }
    workgroupBarrier();
}

// Where L^-1 C c of a candidate is stored.
fn scratch(candidate: u32, i: u32) -> u32 {
    return sizes.at_scratch + i * MOST_FOUND + candidate;
}

// Evaluates a candidate from the factor, by one thread.
fn evaluate(candidate: u32, factor: vec2<Real>, apart: LaneDistance) {
    let x = sorted[candidate];
    var squares = vec4<Real>();
    for (var i = 0u; i < n_factored; i++) {
        var sum = covariance(word(W_POINTS + i), x);
        for (var j = 0u; j < i; j++) {
            sum -= number(scratch(candidate, j)) * lower(i, j);
        }
        let value = sum / lower(i, i);
        set_number(scratch(candidate, i), value);
        squares[i % 4u] += value * value;
    }
    let p = along(vector_at(1u), x);
    let open = open_squares();
    let carried = inside(x) - ((squares.x + squares.y) + (squares.z + squares.w)) - open * p * p;
    let mean = along(vector_at(0u), x) + num[COEFFICIENT] * p;
    let variance = of_point(1u, x) + larger(carried, 0.0lf);
    let deviation = sqrt(variance);
    let low = sqrt(larger(variance - apart.variance_rounding - of_open_fall(apart, p), 0.0lf));
    found_mean[candidate] = mean;
    found_deviation[candidate] = deviation;
    found_along[candidate] = p;
    let highest = factor.x + factor.y;
    found_rounding[candidate] = apart.mean_rounding + highest * (deviation - low + apart.deviation_rounding)
        + 16.0lf * U * (1.0lf + abs(mean) + highest * deviation);
}

// Returns the ends of a candidate's score less that of the first one.
fn difference(candidate: u32, factor: vec2<Real>, apart: LaneDistance) -> vec2<Real> {
    let first = first_found;
    if (candidate == first) {
        return vec2<Real>();
    }
    let prior = inside(sorted[candidate]) + inside(sorted[first]) - 2.0lf * covariance(sorted[candidate], sorted[first]);
    var removed = 0.0lf;
    for (var i = 0u; i < n_factored; i++) {
        let of_both = number(scratch(candidate, i)) - number(scratch(first, i));
        removed += of_both * of_both;
    }
    let along_both = found_along[candidate] - found_along[first];
    let open = open_squares();
    let square = larger(prior - removed - open * along_both * along_both, 0.0lf) + 2.0lf * apart.variance_rounding;
    let length = sqrt(square) + 2.0lf * apart.deviation_rounding;
    let of_deviation = found_deviation[candidate] - found_deviation[first];
    let of_variance = (factor.x + factor.y) * apart.share * (length + 0.5lf * abs(of_deviation));
    let error = apart.mean * length + of_variance + factor.y * abs(of_deviation) + found_rounding[candidate] + found_rounding[first];
    let centre = (found_mean[candidate] - found_mean[first]) + factor.x * of_deviation;
    return vec2<Real>(centre - error, centre + error);
}

// Applies the tie rule to what is certain of the candidates' scores, by the first thread.
fn certify(count: u32, factor: vec2<Real>, apart: LaneDistance) {
    let best = found_mean[first_found] + factor.x * found_deviation[first_found];
    let share = apart.mean + (factor.x + factor.y) * apart.share + factor.y;
    let error = share * found_deviation[first_found] + found_rounding[first_found];
    let rounded = 4.0lf * U * (1.0lf + abs(best));
    let least_tie = tie_margin(larger(abs(best) - error, 0.0lf)) - rounded;
    let most_tie = tie_margin(abs(best) + error) + rounded;
    var lowest_best = -LARGEST;
    for (var i = 0u; i < count; i++) {
        lowest_best = larger(found_low[i], lowest_best);
    }
    var at = 0u;
    while (at < count && !(lowest_best - most_tie <= found_high[at])) {
        at++;
    }
    var best_other = -LARGEST;
    for (var i = 0u; i < count; i++) {
        best_other = larger(select(found_high[i], -LARGEST, i == at), best_other);
    }
    status = UNDECIDED;
    if (at < count && best_other - least_tie <= found_low[at]) {
        chosen = sorted[at];
        status = PLAYING;
    }
}

// Compares the candidates by differences of their scores.
fn compare(count: u32, factor: vec2<Real>, apart: LaneDistance) {
    for (var i = thread; i < count; i += THREADS) {
        evaluate(i, factor, apart);
    }
    storageBarrier();
    workgroupBarrier();
    if (thread == 0u) {
        first_found = 0u;
        for (var i = 1u; i < count; i++) {
            let best = found_mean[first_found] + factor.x * found_deviation[first_found];
            first_found = select(first_found, i, best < found_mean[i] + factor.x * found_deviation[i]);
        }
    }
    workgroupBarrier();
    for (var i = thread; i < count; i += THREADS) {
        let ends = difference(i, factor, apart);
        found_low[i] = ends.x;
        found_high[i] = ends.y;
    }
    workgroupBarrier();
    if (thread == 0u) {
        certify(count, factor, apart);
    }
}

// Chooses the point of a round with this exploration factor at no information gain, or ends the job.
fn decide(least: Real) {
    let apart = lane_distance();
    if (thread == 0u) {
        if (num[OBSERVATIONS] == 0.0lf) {
            status = UNDECIDED;
        } else if (apart.mean < 0.0lf) {
            status = UNBOUNDED;
        }
    }
    if (workgroupUniformLoad(&status) != PLAYING) {
        return;
    }
    let factor = exploration_factor(least);
    find_candidates(lane_band(factor, apart));
    choose(factor, apart);
}

// Chooses among the points that may be the best, or leaves the choice open.
fn choose(factor: vec2<Real>, apart: LaneDistance) {
    if (workgroupUniformLoad(&status) != PLAYING) {
        return;
    }
    let count = atomicLoad(&n_found);
    if (thread == 0u) {
        chosen = sorted[0];
        is_done = u32(count == 1u);
    }
    if (workgroupUniformLoad(&is_done) == 0u) {
        let n = n_factored;
        spend((turns(count) + 1u) * (n * (sizes.n_features / 4u + n / 2u + 3u) + sizes.n_features) + 4u * count);
        if (thread == 0u && MOST_SPENT < spent) {
            status = PAUSED;
        }
        if (workgroupUniformLoad(&status) == PLAYING) {
            compare(count, factor, apart);
        }
    }
}

// Writes the visited point with the highest mean by the tie rule; NONE where it is not certain.
fn recommend(answer: u32) {
    let n = workgroupUniformLoad(&n_visited);
    var apart = lane_distance();
    if (0.0lf < domain[D_COEFFICIENT_ROUNDING]) {
        apart.mean_rounding += num[LEFT] + of_equation(Real(n_factored));
    }
    if (thread == 0u) {
        played[answer] = NONE;
        is_done = u32(apart.mean < 0.0lf || MOST_SPENT < spent);
        atomicStore(&n_found, 0u);
    }
    if (workgroupUniformLoad(&is_done) != 0u) {
        return;
    }
    spend(turns(n) * (sizes.n_features / 4u + 3u));
    var low = -LARGEST;
    for (var i = thread; i < n; i += THREADS) {
        let mean = along(vector_at(2u), word(W_POINTS + i));
        // The posterior variance of a visited point is at most the regularizer over its count.
        let of_model = apart.mean * sqrt(num[RIDGE] / number(N_COUNTS + i)) + apart.mean_rounding;
        let error = of_model + 16.0lf * U * (1.0lf + abs(mean));
        vector[i] = mean + error;
        low = larger(mean - error, low);
    }
    let best = most(low);
    for (var i = thread; i < n; i += THREADS) {
        if (!(vector[i] < best - tie_margin(best))) {
            let place = atomicAdd(&n_found, 1u);
            if (place < MOST_FOUND) {
                found[place] = word(W_POINTS + i);
            }
        }
    }
    if (thread == 0u) {
        best_lower = best;
    }
    sort_found();
    choose(vec2<Real>(), apart);
    if (thread == 0u) {
        played[answer] = select(NONE, u32(of_point(2u, chosen)), status == PLAYING);
        status = PLAYING;
    }
}

// Entry point: sets the lanes of jobs that begin to the prior.
@compute @workgroup_size(THREADS)
fn begin(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let job = group.x * (JOB_HEADER + ROUND_NUMBERS * sizes.n_rounds);
    if (jobs[job + 3u] < 0.0lf) {
        return;
    }
    enter(u32(jobs[job]), index);
    for (var at = thread; at < sizes.at_rows; at += THREADS) {
        set_number(at, 0.0lf);
    }
    for (var at = thread; at < sizes.n_words; at += THREADS) {
        set_word(at, select(0u, NONE, at == W_OPEN));
    }
    storageBarrier();
    workgroupBarrier();
    for (var tile = thread; tile < sizes.n_tiles; tile += THREADS) {
        // The prior counts as a visit with exploration factor 0.
        set_number(tile_at(tile) + T_DEVIATION, domain[D_TILES + 2u * sizes.n_tiles + tile]);
        let centre = u32(domain[D_TILES + sizes.n_tiles + tile]);
        set_number(tile_at(tile) + T_CENTRE_VARIANCE, of_point(0u, centre));
    }
    if (thread == 0u) {
        set_number(RIDGE, jobs[u32(jobs[job + 8u])]);
        set_number(OF_VALUES, jobs[job + 3u]);
        set_number(TILES_VARIANCE, domain[D_PRIOR_ERROR] * domain[D_PRIOR]);
    }
    for (var x = thread; x < TILE * sizes.n_tiles; x += THREADS) {
        let prior = of_point(0u, x);
        lane_planes[lane_plane(L_P, x)] = 0.0lf;
        lane_planes[lane_plane(L_MEAN, x)] = 0.0lf;
        lane_planes[lane_plane(L_VARIANCE, x)] = prior;
        lane_planes[lane_plane(L_ERROR, x)] = domain[D_PRIOR_ERROR] * prior;
    }
}

fn enter(lane: u32, index: u32) {
    thread = index;
    numbers_at = lane * sizes.n_numbers;
    words_at = lane * sizes.n_words;
    planes_at = lane * LANE_PLANES * TILE * sizes.n_tiles;
    spent = 4u;
}

// Entry point: plays the rounds of jobs, or goes on with them.
@compute @workgroup_size(THREADS)
fn play(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let job = group.x * (JOB_HEADER + ROUND_NUMBERS * sizes.n_rounds);
    let answer = group.x * (PLAYED_HEADER + sizes.n_rounds + sizes.n_recorded);
    let stamp = u32(jobs[job + 2u]);
    let n_forced = u32(jobs[job + 7u]);
    let shared_at = u32(jobs[job + 8u]);
    let clip = vec2<Real>(jobs[shared_at + 3u], jobs[shared_at + 4u]);
    let n_factors = u32(jobs[shared_at + 5u]);
    enter(u32(jobs[job]), index);
    for (var i = thread; i < 32u; i += THREADS) {
        num[i] = number(i);
    }
    workgroupBarrier();
    if (thread == 0u) {
        num[SLOPE] = jobs[shared_at + 1u];
        num[OFFSET] = jobs[shared_at + 2u];
        n_visited = word(W_VISITED);
        n_factored = word(W_FACTORED);
        n_rows = word(W_ROWS);
        open_slot = word(W_OPEN);
        is_full = word(W_FULL);
        is_new_point = word(W_NEW);
        let goes_on = played[answer] == stamp;
        first_round = select(0u, played[answer + 1u], goes_on);
        tiles_visited = select(0u, played[answer + 3u], goes_on);
        status = select(PLAYING, select(played[answer + 2u], PLAYING, played[answer + 2u] == PAUSED), goes_on);
    }
    // The plane that holds the lane's function is that of the first lane with the same one.
    let function_at = (u32(jobs[job + 4u]) * LANE_PLANES + L_FUNCTION) * TILE * sizes.n_tiles;
    let recorded = vec2<u32>(u32(jobs[job + 5u]), u32(jobs[job + 6u]));
    let rounds = u32(jobs[job + 1u]);
    let first = workgroupUniformLoad(&first_round);
    if (workgroupUniformLoad(&status) != PLAYING || first == rounds) {
        return;
    }
    var n_played = first;
    for (var k = first; k < rounds; k++) {
        let at = job + JOB_HEADER + ROUND_NUMBERS * k;
        let is_forced = k < n_forced;
        if (thread == 0u && ROUNDS_END < spent) {
            status = PAUSED;
        }
        spend(1u);
        if (workgroupUniformLoad(&status) != PLAYING) {
            break;
        }
        if (is_forced) {
            if (thread == 0u) {
                chosen = u32(jobs[at]);
            }
        } else {
            decide(jobs[shared_at + SHARED_HEADER + min(k - n_forced, n_factors - 1u)]);
        }
        if (workgroupUniformLoad(&status) != PLAYING) {
            break;
        }
        if (thread == 0u) {
            let x = chosen;
            let seen = lane_planes[function_at + x] + jobs[at];
            let kept = select(seen, clip.x, seen < clip.x);
            let released = select(kept, clip.y, clip.y < kept) + jobs[at + 1u];
            num[REWARD] = select(released, jobs[at + 1u], is_forced);
            let rounded = num[OF_VALUES] + 4.0lf * U * (abs(seen) + abs(released));
            num[OF_REWARDS] = select(num[OF_REWARDS], larger(num[OF_REWARDS], rounded), !is_forced && 0.0lf < num[OF_VALUES]);
            played[answer + PLAYED_HEADER + k] = u32(of_point(2u, x));
        }
        n_played = k + 1u;
        observe();
        let bits = recorded[k / 32u];
        let bit = 1u << (k % 32u);
        if ((bits & bit) != 0u) {
            let before = countOneBits(bits & (bit - 1u)) + select(0u, countOneBits(recorded[0]), 32u <= k);
            recommend(answer + PLAYED_HEADER + sizes.n_rounds + before);
        }
    }
    workgroupBarrier();
    for (var i = thread; i < 32u; i += THREADS) {
        set_number(i, num[i]);
    }
    if (thread == 0u) {
        set_word(W_VISITED, n_visited);
        set_word(W_FACTORED, n_factored);
        set_word(W_ROWS, n_rows);
        set_word(W_OPEN, open_slot);
        set_word(W_FULL, is_full);
        set_word(W_NEW, is_new_point);
        played[answer] = stamp;
        played[answer + 1u] = n_played;
        played[answer + 2u] = status;
        played[answer + 3u] = tiles_visited;
    }
}
