# Prints the choices of GP-UCB over 16 features of 400 points, for tests/it/numpy.rs. Needs NumPy.
import numpy as np

m, rounds, ridge, beta = 16, 60, 0.1, 6.0
x = np.array([(i / 19, j / 19) for i in range(20) for j in range(20)])
k = np.arange(m)
phi = np.sqrt(2 / m) * np.cos(np.outer(x[:, 0], 1 + k % 5) + np.outer(x[:, 1], 1 + k % 7) + 0.3 * k)
f = np.sin(5 * x[:, 0]) + np.cos(7 * x[:, 1])
precision, sums, choices = ridge * np.eye(m), np.zeros(m), []
for _ in range(rounds):
    solved = np.linalg.solve(precision, phi.T)
    scores = sums @ solved + beta * np.sqrt(ridge * np.sum(phi.T * solved, axis=0))
    choices.append(int(np.argmax(scores)))
    precision += np.outer(phi[choices[-1]], phi[choices[-1]])
    sums += f[choices[-1]] * phi[choices[-1]]
print(choices)
