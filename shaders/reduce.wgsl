// Maxima and count over the 256 threads of a workgroup.

var<workgroup> most_lower: array<Real, 256>;
var<workgroup> most_upper: array<Real, 256>;
var<workgroup> most_variance: array<Real, 256>;
var<workgroup> most_mean: array<Real, 256>;
var<workgroup> n_counted: array<u32, 256>;

// Every thread brings one; place 0 holds the whole at the end, for all threads to read.
fn reduce(thread: u32, mine: Scored) {
    most_lower[thread] = mine.lower;
    most_upper[thread] = mine.upper;
    most_variance[thread] = mine.variance;
    most_mean[thread] = mine.mean;
    n_counted[thread] = mine.counts;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half >>= 1u) {
        if (thread < half) {
            most_lower[thread] = larger(most_lower[thread], most_lower[thread + half]);
            most_upper[thread] = larger(most_upper[thread], most_upper[thread + half]);
            most_variance[thread] = larger(most_variance[thread], most_variance[thread + half]);
            most_mean[thread] = larger(most_mean[thread], most_mean[thread + half]);
            n_counted[thread] += n_counted[thread + half];
        }
        workgroupBarrier();
    }
}

// Writes what a tile's threads found.
fn write_partials(w: u32, tile: u32, thread: u32) {
    if (thread == 0u) {
        let at = w * 4u * shape.n_tiles + tile;
        partials[at] = most_lower[0];
        partials[at + shape.n_tiles] = most_upper[0];
        partials[at + 2u * shape.n_tiles] = most_variance[0];
        partials[at + 3u * shape.n_tiles] = most_mean[0];
        counts[w * shape.n_tiles + tile] = n_counted[0];
    }
}
