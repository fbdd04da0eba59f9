// Evaluates functions that are sums of kernels, and lists the points where each may be the largest or the least.
//
// A function has shape.n_columns terms: positions of the centres among the indices, weights among the coefficients. Its values are
// a plane, and `base` holds by how much a value may miss an end.

// Most points that are listed of a function, after their number.
const MOST_ENDS: u32 = 7u;

var<workgroup> highest: array<Real, THREADS>;
var<workgroup> lowest: array<Real, THREADS>;
var<workgroup> n_ends: atomic<u32>;

// Entry point: the values. Workgroup: THREADS points x 1 function; works[0] holds the kernel.
@compute @workgroup_size(THREADS)
fn values(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * THREADS + thread;
    let work = works[0];
    let own = numbers[0];
    var sum = Real(0.0);
    for (var i = group.y * shape.n_columns; i < (group.y + 1u) * shape.n_columns; i++) {
        sum += coefficients[i] * kernel_value(work, own, indices[i], x);
    }
    planes[group.y * shape.stride + x] = sum;
}

// Entry point: the ends. Workgroup: 1 function.
@compute @workgroup_size(THREADS)
fn ends(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * shape.stride;
    var high = -LARGEST;
    var low = -LARGEST;
    for (var x = thread; x < shape.n_points; x += THREADS) {
        high = larger(planes[at + x], high);
        low = larger(-planes[at + x], low);
    }
    highest[thread] = high;
    lowest[thread] = low;
    if (thread == 0u) {
        atomicStore(&n_ends, 0u);
    }
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half >>= 1u) {
        if (thread < half) {
            highest[thread] = larger(highest[thread], highest[thread + half]);
            lowest[thread] = larger(lowest[thread], lowest[thread + half]);
        }
        workgroupBarrier();
    }
    let list = group.x * (MOST_ENDS + 1u);
    for (var x = thread; x < shape.n_points; x += THREADS) {
        let value = planes[at + x];
        // A value that is not a number stays.
        if (!(value < highest[0] - base[group.x] && -value < lowest[0] - base[group.x])) {
            let place = atomicAdd(&n_ends, 1u);
            if (place < MOST_ENDS) {
                answers[list + 1u + place] = x;
            }
        }
    }
    workgroupBarrier();
    if (thread == 0u) {
        answers[list] = atomicLoad(&n_ends);
        maxima[2u * group.x] = highest[0];
        maxima[2u * group.x + 1u] = -lowest[0];
    }
}
