// A round of every lane, point by point: start, visit, anchor; then the interval of every point and the maxima of the tile,
// unless a subset is to be scored. Workgroup: 256 points x 1 lane.

@compute @workgroup_size(256)
fn update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let w = group.y;
    let work = works[w];
    let lane = numbers[w];
    let x = group.x * TILE + thread;
    var mine = nothing();
    if (x < shape.n_points) {
        let mean_at = plane(work.lane, MEAN) + x;
        let variance_at = plane(work.lane, VARIANCE) + x;
        let anchor_at = plane(work.lane, ANCHOR) + x;
        var mean = planes[mean_at];
        var variance = planes[variance_at];
        var anchor = planes[anchor_at];
        if (work.start == START_PRIOR) {
            mean = Real(0.0);
            variance = base[work.prior_at + x];
        }
        if (work.start != START_KEEP) {
            anchor = sqrt(larger(variance, Real(0.0)));
            planes[anchor_at] = anchor;
        }
        if (work.visit != 0u) {
            let p = planes[plane(work.lane, P) + x];
            let fall = lane.scale * p;
            variance = variance - fall * fall;
            mean = mean + lane.mean_step * p;
        }
        planes[mean_at] = mean;
        planes[variance_at] = variance;
        mine = interval(lane, mean, variance, anchor);
    }
    if (work.listed == 0u) {
        reduce(thread, mine);
        write_partials(w, group.x, thread);
    }
}
