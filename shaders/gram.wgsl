// Writes Gram columns h_i(x) = k(z_i, x) for the points z_i of a list, from coordinates. Evaluated in Real, rounded to Out.
// Workgroup: THREADS points x 1 column; works[0] holds kernel and list.

@compute @workgroup_size(THREADS)
fn gram(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * THREADS + thread;
    let x = shape.chunk_first + at;
    if (at < shape.chunk_len) {
        var value = Real(0.0);
        if (x < shape.n_points) {
            let work = works[0];
            value = kernel_value(work, numbers[0], indices[work.slots_at + group.y], x);
        }
        table[group.y * shape.chunk_len + at] = Out(value);
    }
}
