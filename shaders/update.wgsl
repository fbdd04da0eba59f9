// Runs a round of every slot, point by point: reset, observation, error of the variance; then the interval of every point and the
// maxima of the tile, unless a subset is to be scored. Workgroup: 256 points x 1 slot.

// Runs the round of one point and returns its interval.
fn updated(work: Work, own: Numbers, x: u32) -> Scored {
    let mean_at = plane(work.slot, MEAN) + x;
    let variance_at = plane(work.slot, VARIANCE) + x;
    let error_at = plane(work.slot, VARIANCE_ERROR) + x;
    var mean = planes[mean_at];
    var variance = planes[variance_at];
    if (work.start == START_PRIOR) {
        // Weights have been projected into the plane of means.
        mean = select(Real(0.0), mean, work.visit == VISIT_WEIGHTS);
        variance = base[work.prior_at + x];
    }
    let positive = larger(variance, Real(0.0));
    var error = Real(0.0);
    if (work.start == START_KEEP) {
        error = planes[error_at] * GROWTH;
    }
    var added = own.c0 + own.c2 * positive;
    if (own.c3 > Real(0.0)) {
        added = added + own.c3 * sqrt(positive + error);
    }
    if (work.visit != VISIT_NONE) {
        let p = planes[plane(work.slot, P) + x];
        let fall = own.scale * p;
        added = added + own.c1 * abs(fall);
        variance = variance - fall * fall;
        mean = mean + own.mean_step * p;
    }
    error = error + added * GROWTH;
    planes[mean_at] = mean;
    planes[variance_at] = variance;
    planes[error_at] = error;
    return interval(own, mean, variance, error);
}

@compute @workgroup_size(THREADS)
fn update(place: Place) {
    let w = place.group.y;
    let work = works[w];
    let own = numbers[w];
    var mine = nothing();
    for (var step = place.thread; step < TILE; step += THREADS) {
        let x = place.group.x * TILE + step;
        if (x < shape.n_points) {
            mine = both(mine, updated(work, own, x));
        }
    }
    if (work.listed == 0u) {
        reduce(place, mine);
        write_partials(w, place.group.x, place.thread);
    }
}
