// Reduces numbers of a buffer, one per thread of a workgroup, to test a device's reductions. The results of a workgroup are
// its largest number, those of the negated numbers, of the squares and of the magnitudes, and the number of positive
// numbers.

@compute @workgroup_size(THREADS)
fn reduction(place: Place) {
    let value = source[place.group.x * THREADS + place.thread];
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
