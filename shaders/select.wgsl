// Selects every point whose upper end reaches the best lower end of its slot. Workgroup: 1 slot; skips tiles without a
// selected point. The list holds 64 points; the count includes all.

const CAPACITY: u32 = 64u;
const ANSWER_WORDS: u32 = 68u;

var<workgroup> chosen: array<u32, 64>;
var<workgroup> n_chosen: atomic<u32>;

@compute @workgroup_size(THREADS)
fn choose(place: Place) {
    let w = place.group.x;
    let thread = place.thread;
    let work = works[w];
    let own = numbers[w];
    let tiles = (work.n_scored + TILE - 1u) / TILE;
    for (var entry = thread; entry < CAPACITY; entry += THREADS) {
        chosen[entry] = NONE;
    }
    if (thread == 0u) {
        atomicStore(&n_chosen, 0u);
    }
    let partials_at = w * 4u * shape.n_tiles;
    var mine = nothing();
    for (var tile = thread; tile < tiles; tile += THREADS) {
        let found = Scored(
            partials[partials_at + tile],
            partials[partials_at + shape.n_tiles + tile],
            partials[partials_at + 2u * shape.n_tiles + tile],
            partials[partials_at + 3u * shape.n_tiles + tile],
            counts[w * shape.n_tiles + tile],
        );
        mine = both(mine, found);
    }
    reduce(place, mine);
    let best_lower = most_lower[0];
    for (var tile = 0u; tile < tiles; tile++) {
        if (partials[partials_at + shape.n_tiles + tile] >= best_lower) {
            for (var step = thread; step < TILE; step += THREADS) {
                let at = tile * TILE + step;
                if (at < work.n_scored) {
                    var x = at;
                    if (work.listed != 0u) {
                        x = indices[work.subset_at + at];
                    }
                    let mean = planes[plane(work.slot, MEAN) + x];
                    let variance = planes[plane(work.slot, VARIANCE) + x];
                    let one = interval(own, mean, variance, planes[plane(work.slot, VARIANCE_ERROR) + x]);
                    if (one.counts == 1u && one.upper >= best_lower) {
                        let entry = atomicAdd(&n_chosen, 1u);
                        if (entry < CAPACITY) {
                            chosen[entry] = x;
                        }
                    }
                }
            }
        }
    }
    workgroupBarrier();
    let answer_at = w * ANSWER_WORDS;
    for (var entry = thread; entry < CAPACITY; entry += THREADS) {
        answers[answer_at + 4u + entry] = chosen[entry];
    }
    if (thread == 0u) {
        let count = atomicLoad(&n_chosen);
        var sum = work.stamp + count;
        for (var entry = 0u; entry < CAPACITY; entry++) {
            sum += chosen[entry];
        }
        answers[answer_at] = work.stamp;
        answers[answer_at + 1u] = n_counted[0];
        answers[answer_at + 2u] = count;
        answers[answer_at + 3u] = sum;
        maxima[w * 4u] = most_lower[0];
        maxima[w * 4u + 1u] = most_upper[0];
        maxima[w * 4u + 2u] = most_variance[0];
        maxima[w * 4u + 3u] = most_mean[0];
    }
}
