// Reduces maxima and count over the threads of a workgroup, by halves in shared memory.

// Index of a thread in its workgroup.
struct Place {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
}

var<workgroup> most_lower: array<Real, THREADS>;
var<workgroup> most_upper: array<Real, THREADS>;
var<workgroup> most_variance: array<Real, THREADS>;
var<workgroup> most_mean: array<Real, THREADS>;
var<workgroup> n_counted: array<u32, THREADS>;

// Every thread contributes one value; entry 0 holds the total at the end, for all threads to read.
fn reduce(place: Place, mine: Scored) {
    let thread = place.thread;
    most_lower[thread] = mine.lower;
    most_upper[thread] = mine.upper;
    most_variance[thread] = mine.variance;
    most_mean[thread] = mine.mean;
    n_counted[thread] = mine.counts;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half >>= 1u) {
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
