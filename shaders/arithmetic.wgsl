// Sums, differences, products, quotients, roots and integers of pairs of numbers: whether a device computes in its type as
// it should. Values come from a buffer, as constants would be folded before they reach the device.

@compute @workgroup_size(256)
fn arithmetic(@builtin(local_invocation_index) thread: u32) {
    if (thread < shape.n_columns) {
        let a = source[2u * thread];
        let b = source[2u * thread + 1u];
        table[8u * thread] = Out(a + b);
        table[8u * thread + 1u] = Out(a - b);
        table[8u * thread + 2u] = Out(a * b);
        table[8u * thread + 3u] = Out(a / b);
        table[8u * thread + 4u] = Out(sqrt(abs(a)));
        table[8u * thread + 5u] = Out(floor(a));
        table[8u * thread + 6u] = Out(Real(i32(b)));
        table[8u * thread + 7u] = Out(exp_negative(abs(b)));
    }
}
