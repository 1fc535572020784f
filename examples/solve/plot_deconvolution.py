"""
Cell types in bulk tissue
=========================

Bulk RNA sequencing measures a mixture of cells. With a signature matrix, the expression of marker genes in each cell
type, the fractions of the cell types in a sample are non-negative, sum to one, and explain what was measured:
deconvolution is simplex-constrained least squares, sample by sample.
"""

# %%
# Realistic data: six cell types, 300 marker genes, log-normal expression, and 500 bulk samples with noise that grows
# with expression, as counts have it.
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

from ancr import solve

rng = np.random.default_rng(0)
types = ["B", "CD4 T", "CD8 T", "NK", "monocyte", "neutrophil"]
n_genes, n_samples = 300, 500
base = rng.lognormal(2.0, 1.0, size=n_genes)
signature = base * rng.lognormal(0.0, 0.4, size=(6, n_genes))
signature[2] = signature[1] * rng.lognormal(0.0, 0.25, size=n_genes)  # CD8 T cells are much like CD4 T cells
for place in range(6):  # the markers of a type
    signature[place, 40 * place : 40 * place + 40] *= rng.uniform(3.0, 10.0, size=40)
fractions = rng.dirichlet([2.0, 3.0, 2.0, 1.0, 1.5, 4.0], size=n_samples)
expected = fractions @ signature
bulk = rng.poisson(expected * rng.lognormal(0.0, 0.15, size=expected.shape)).astype(float)

# %%
# Genes with high expression have the largest noise and would dominate; dividing by their variance, here estimated from
# their mean over the samples, gives all genes the same influence. ``feature_weight`` does that without changing the
# data. The usual method is ``nnls`` for each sample, with fractions normalised afterwards, which is as good where a
# sample's total is uncertain, as here. ``solve`` adds one call for all samples and the proof that each answer is
# optimal; ``constraint="nonnegative"`` is the problem of ``nnls``.
mean = bulk.mean(axis=0)
weight = 1.0 / (mean + 0.02 * mean**2)  # counting noise, and 15 % of variation between samples
solve(signature, bulk, alpha=0.0, feature_weight=weight)  # what a first call prepares is not timed
begin = time.perf_counter()
weighted = solve(signature, bulk, alpha=0.0, feature_weight=weight)
ours = time.perf_counter() - begin
plain = solve(signature, bulk, alpha=0.0)


def by_nnls(scale):
    """Non-negative least squares for each sample, normalised afterwards."""
    found = np.array([nnls((signature * scale).T, sample * scale)[0] for sample in bulk])
    return found / found.sum(axis=1, keepdims=True)


begin = time.perf_counter()
normalised = by_nnls(np.sqrt(weight))
loop = time.perf_counter() - begin
answers = {
    "solve, weighted": weighted.toarray(),
    "solve": plain.toarray(),
    "nnls, weighted and normalised": normalised,
    "nnls, normalised": by_nnls(1.0),
}
for name, found in answers.items():
    agreement = np.mean([np.corrcoef(found[:, k], fractions[:, k])[0, 1] for k in range(6)])
    print(f"{name:30} mean error {np.abs(found - fractions).mean():.4f}, mean correlation {agreement:.3f}")
print(f"certified: {weighted.verify().mean():.0%}; the loop takes {loop / ours:.1f} times as long")

# %%
# With weights every cell type is close to the truth, also the two kinds of T cells, which have much of their expression
# in common.
figure, axes = plt.subplots(2, 3, figsize=(9, 5.6), layout="constrained", sharex=True, sharey=True)
for ax, name, true, found in zip(axes.flat, types, fractions.T, answers["solve, weighted"].T, strict=True):
    ax.plot([0, 1], [0, 1], color="0.8")
    ax.plot(true, found, ".", markersize=2)
    ax.set(title=name)
figure.supxlabel("true fraction")
figure.supylabel("estimated fraction")
