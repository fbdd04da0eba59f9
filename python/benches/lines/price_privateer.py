"""Epsilon(delta) of a hundred participations in a Laplace mechanism, and the least noise for a budget."""

import privateer as pv

(price,) = pv.account("laplace", answer_epsilon=0.1, clip=(-1.0, 1.0), participations=100)
for delta in (1e-4, 1e-6, 1e-8):
    print(f"delta {delta}: epsilon {price.at(delta):.3f}")
(least,) = pv.account("laplace", epsilon=2.0, delta=1e-6, clip=(-1.0, 1.0), participations=100)
print(f"epsilon of one answer for (2, 1e-6): {least.noise_size:.4f}")
