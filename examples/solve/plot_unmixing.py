"""
Unmixing a hyperspectral image
==============================

A pixel of a hyperspectral image mixes the spectra of the materials in it, the endmembers. Their abundances are
non-negative and sum to one: fully constrained least squares (FCLS), pixel by pixel. ``solve`` does exactly that,
without a classifier, and certifies the result.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

from ancr import prepare, solve

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
# A scene of 64 × 64 pixels in which the materials run into each other, with noise about 30 dB below the signal.
side = 64
grid = np.stack(np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side)), axis=-1)
centres = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8], [0.9, 0.9]])
closeness = np.exp(-18 * ((grid[:, :, None, :] - centres) ** 2).sum(axis=-1))
abundances = closeness / closeness.sum(axis=-1, keepdims=True)
pixels = abundances.reshape(-1, 4) @ endmembers + 0.01 * rng.standard_normal((side * side, len(bands)))

# %%
# FCLS in one call for all pixels.
solve(endmembers, pixels, alpha=0.0)  # what a first call prepares is not timed
begin = time.perf_counter()
solution = solve(endmembers, pixels, alpha=0.0, constraint="simplex")
ours = time.perf_counter() - begin
found = solution.toarray().reshape(side, side, 4)
print(f"{len(pixels)} pixels in {1e3 * ours:.0f} ms, {solution.verify().mean():.0%} certified")

# %%
# What most scripts do instead is SciPy's ``nnls`` pixel by pixel, with a heavy row of ones that makes the abundances
# sum to one, or without it and normalised afterwards.
heavy = 1e3
design = np.vstack([endmembers.T, heavy * np.ones(4)])
begin = time.perf_counter()
by_row = np.array([nnls(design, np.append(pixel, heavy))[0] for pixel in pixels])
loop = time.perf_counter() - begin
afterwards = np.array([nnls(endmembers.T, pixel)[0] for pixel in pixels])
afterwards /= afterwards.sum(axis=1, keepdims=True)

for name, some in (("solve", found), ("nnls with a row of ones", by_row), ("nnls, normalised", afterwards)):
    off = np.sqrt(np.mean((some.reshape(-1, 4) - abundances.reshape(-1, 4)) ** 2))
    print(f"{name:24} RMSE of the abundances {off:.5f}")
print(f"the loop with a row of ones takes {loop / ours:.1f} times as long")

# %%
# Images that do not fit in memory are read from one memory map and written to another, block by block; see
# `ancr.solvers.coder.Coder.blocks`.
coder, written = prepare(endmembers, alpha=0.0), np.empty_like(by_row)
for rows, part in coder.blocks(pixels, size=1024):
    written[rows] = part.toarray()

# %%
figure, axes = plt.subplots(2, 4, figsize=(9, 4.6), layout="constrained")
for place, name in enumerate(materials):
    for row, (title, values) in enumerate((("true", abundances), ("estimated", found))):
        shown = axes[row, place].imshow(values[:, :, place], vmin=0, vmax=1)
        axes[row, place].set(title=f"{name}, {title}", xticks=[], yticks=[])
figure.colorbar(shown, ax=axes, label="abundance")
