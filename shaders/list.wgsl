// The intervals of a subset of points, and their maxima; tiles are over places in the subset.
// Workgroup: 256 places x 1 lane.

@compute @workgroup_size(256)
fn list(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let w = indices[indices[2] + group.y];
    let work = works[w];
    let place = group.x * TILE + thread;
    var mine = nothing();
    if (place < work.n_scored) {
        let x = indices[work.subset_at + place];
        let mean = planes[plane(work.lane, MEAN) + x];
        let variance = planes[plane(work.lane, VARIANCE) + x];
        mine = interval(numbers[w], mean, variance, planes[plane(work.lane, ANCHOR) + x]);
    }
    reduce(thread, mine);
    write_partials(w, group.x, thread);
}
