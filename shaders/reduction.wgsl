// Reduces numbers of a buffer, one per thread of a workgroup, to test a device's reductions. The results of a workgroup are
// its largest number, those of the negated numbers, of the squares and of the magnitudes, and the number of positive
// numbers. Before it, threads leave a loop at different steps and change the sign in each, as threads of a round diverge.

@compute @workgroup_size(THREADS)
fn reduction(place: Place) {
    var value = source[place.group.x * THREADS + place.thread];
    for (var step = place.thread % 4u; step < shape.n_columns; step++) {
        value = -value;
    }
    reduce(place, Scored(value, -value, value * value, abs(value), select(0u, 1u, value > Real(0.0))));
    if (place.thread == 0u) {
        let at = 5u * place.group.x;
        table[at] = Out(most_lower[0]);
        table[at + 1u] = Out(most_upper[0]);
        table[at + 2u] = Out(most_variance[0]);
        table[at + 3u] = Out(most_mean[0]);
        table[at + 4u] = Out(Real(n_counted[0]));
    }
}
