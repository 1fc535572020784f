"""
Unmixing a hyperspectral image
==============================

A pixel of a hyperspectral image mixes the spectra of the materials in it. Their shares are non-negative and sum to one:
simplex-constrained least squares, pixel by pixel. ``solve`` does just that, without a classifier, and certifies it.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

from ancr import solve

rng = np.random.default_rng(0)
bands = np.linspace(0.4, 2.5, 120)  # wavelengths in µm


def spectrum(*bumps):
    """A smooth spectrum: a sum of bumps (centre, width, height)."""
    return 0.1 + sum(height * np.exp(-(((bands - centre) / width) ** 2)) for centre, width, height in bumps)


materials = {
    "vegetation": spectrum((0.55, 0.05, 0.1), (0.95, 0.35, 0.5), (1.65, 0.15, 0.25)),
    "soil": spectrum((1.7, 0.8, 0.4)),
    "water": spectrum((0.45, 0.15, 0.15)),
    "roof": spectrum((0.65, 0.1, 0.3), (2.1, 0.3, 0.35)),
}
endmembers = np.array(list(materials.values()))

# %%
# A scene of 64 × 64 pixels in which the materials run into each other, with noise.
side = 64
grid = np.stack(np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side)), axis=-1)
centres = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8], [0.9, 0.9]])
closeness = np.exp(-18 * ((grid[:, :, None, :] - centres) ** 2).sum(axis=-1))
shares = closeness / closeness.sum(axis=-1, keepdims=True)
pixels = shares.reshape(-1, 4) @ endmembers + 0.01 * rng.standard_normal((side * side, len(bands)))

# %%
solve(endmembers, pixels[:2], alpha=0.0)  # compiles, once per machine
start = time.perf_counter()
solution = solve(endmembers, pixels, alpha=0.0, constraint="simplex")
print(f"{len(pixels)} pixels in {1e3 * (time.perf_counter() - start):.0f} ms, {solution.verify().mean():.0%} certified")
found = np.asarray(solution.codes.todense()).reshape(side, side, 4)
print(f"root mean square error of the shares: {np.sqrt(np.mean((found - shares) ** 2)):.4f}")

# %%
figure, axes = plt.subplots(2, 4, figsize=(9, 4.6), layout="constrained")
for place, name in enumerate(materials):
    for row, (title, values) in enumerate((("true", shares), ("found", found))):
        axes[row, place].imshow(values[:, :, place], vmin=0, vmax=1)
        axes[row, place].set(title=f"{name}, {title}", xticks=[], yticks=[])
