"""Epsilon(delta) of a hundred participations in a Laplace mechanism, and the least noise for a budget."""

import opendp.prelude as dp

dp.enable_features("contrib")
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def hundred(scale):
    one = dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*space, scale))
    return dp.c.make_zCDP_to_approxDP(dp.c.make_composition([one] * 100))


profile = hundred(2.0 / 0.1).map(2.0)
for delta in (1e-4, 1e-6, 1e-8):
    print(f"delta {delta}: epsilon {profile.epsilon(delta):.3f}")
least = dp.binary_search(lambda scale: hundred(scale).map(2.0).epsilon(1e-6) <= 2.0, bounds=(10.0, 1e3))
print(f"epsilon of one answer for (2, 1e-6): {2.0 / least:.4f}")
