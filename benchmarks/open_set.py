"""The reject option where it is needed most: queries of classes that the training set does not have.

    python benchmarks/open_set.py

CUB-200-2011 features: every fifth class is held out, `ANCRClassifierCV` is fitted on the others, and all test images
are classified with `RejectOption`. Prints accuracy, the precision requested and the one reached, on known classes and
with unknown classes among the queries, and how well `confidence` separates the two.
"""

import numpy as np
from sklearn.metrics import roc_auc_score

import ancr
from ancr.model_selection import RejectOption
from ancr.paper.paper_sources import StoredFeatures


def main():
    """Run and print."""
    split = StoredFeatures("cub200", "efficientnet_lite0").split("official", 0)
    X, queries = split.X.astype(np.float32), split.queries.astype(np.float32)
    known = split.y % 5 != 0
    grid = {"spaces": ["linear"], "constraints": ["simplex"], "rules": ["res"]}
    search = ancr.ANCRClassifierCV(**grid, alphas=(1e-2, 1e-1), relaxations=(1.0, 10.0, None))
    careful = RejectOption(search, precision=0.9).fit(X[known], split.y[known])
    clf = careful.estimator_
    familiar = split.truth % 5 != 0
    answers, confidence = careful.predict(queries), careful.confidence(queries)
    kept, right = answers != -1, answers == split.truth
    print(f"chosen: {clf.best_estimator_}; requested precision {careful.precision:.2f}")
    print(f"held-out training samples: accuracy {clf.best_score_:.3f}, accepted {careful.trust_.coverage:.3f}")
    print(
        f"known classes: accuracy {clf.score(queries[familiar], split.truth[familiar]):.3f}, accepted "
        f"{kept[familiar].mean():.3f}, precision {right[familiar & kept].mean():.3f}"
    )
    print(f"unknown classes: rejected {1 - kept[~familiar].mean():.3f}")
    plain = np.mean(clf.predict(queries) == split.truth)
    print(f"both together: precision {right[kept].mean():.3f} with reject, {plain:.3f} without")
    print(f"confidence, known against unknown: area under the ROC curve {roc_auc_score(familiar, confidence):.3f}")


if __name__ == "__main__":
    main()
