// Computes the intervals of a subset of points, and their maxima; tiles are ranges of the subset. Workgroup: 256 entries x
// 1 slot.

@compute @workgroup_size(THREADS)
fn list(place: Place) {
    let w = indices[indices[2] + place.group.y];
    let work = works[w];
    var mine = nothing();
    for (var step = place.thread; step < TILE; step += THREADS) {
        let listed = place.group.x * TILE + step;
        if (listed < work.n_scored) {
            let x = indices[work.subset_at + listed];
            let mean = planes[plane(work.slot, MEAN) + x];
            let variance = planes[plane(work.slot, VARIANCE) + x];
            mine = both(mine, interval(numbers[w], mean, variance, planes[plane(work.slot, VARIANCE_ERROR) + x]));
        }
    }
    reduce(place, mine);
    write_partials(w, place.group.x, place.thread);
}
