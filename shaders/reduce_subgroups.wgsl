// Reduces maxima and count over the threads of a workgroup: each subgroup by its own operations, then over the subgroups,
// of any size. The bits are those of the reduction by halves: maxima and integer sums are exact in any order.

// Index of a thread in its workgroup and subgroup.
struct Place {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) n_subgroups: u32,
    @builtin(subgroup_invocation_id) in_subgroup: u32,
}

// One entry per subgroup; a device may make subgroups as small as one thread.
var<workgroup> most_lower: array<Real, THREADS>;
var<workgroup> most_upper: array<Real, THREADS>;
var<workgroup> most_variance: array<Real, THREADS>;
var<workgroup> most_mean: array<Real, THREADS>;
var<workgroup> n_counted: array<u32, THREADS>;

// Every thread contributes one value; entry 0 holds the total at the end, for all threads to read.
fn reduce(place: Place, mine: Scored) {
    // All threads converge here, so that no subgroup is divided.
    workgroupBarrier();
    let lower = subgroupMax(mine.lower);
    let upper = subgroupMax(mine.upper);
    let variance = subgroupMax(mine.variance);
    let mean = subgroupMax(mine.mean);
    let counts = subgroupAdd(mine.counts);
    if (place.in_subgroup == 0u) {
        most_lower[place.subgroup] = lower;
        most_upper[place.subgroup] = upper;
        most_variance[place.subgroup] = variance;
        most_mean[place.subgroup] = mean;
        n_counted[place.subgroup] = counts;
    }
    workgroupBarrier();
    if (place.thread == 0u) {
        for (var other = 1u; other < place.n_subgroups; other++) {
            most_lower[0] = larger(most_lower[0], most_lower[other]);
            most_upper[0] = larger(most_upper[0], most_upper[other]);
            most_variance[0] = larger(most_variance[0], most_variance[other]);
            most_mean[0] = larger(most_mean[0], most_mean[other]);
            n_counted[0] += n_counted[other];
        }
    }
    workgroupBarrier();
}
