"""Learning curves on the deep features: 1, 2, 4, 8 and 16 samples per class, three draws, the official test set.

Every method chooses its settings on the samples drawn, as under protocol ``cv``; no test label is used. Cells that are
in the file already are not run again.

    python benchmarks/learning_curves.py [--sets stanford40,cub200,cars] [--methods "ANCR,Softmax (power)"]
        [--sizes 1,2,4,8,16] [--draws 3] [--output learning_curves.jsonl] [--table results/learning_curves.md]
        [--figure ../docs/images/learning-curves.svg]

With one sample per class nothing can be held out and no method can choose, so each takes the middle of its grid.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

import ancr
from ancr.datasets import find_data, per_class_split
from ancr.paper.methods import searched

FILES = {"stanford40": "stanford40", "cub200": "cub200_2011", "cars": "stanford_cars"}


def main():
    """Run the cells that are missing, then print the table."""
    options = _parser().parse_args()
    done = _read(options.output)
    for dataset in options.sets.split(","):
        vectors, labels, is_train = _load(dataset)
        methods = searched(is_large=True)
        for size in map(int, options.sizes.split(",")):
            for draw in range(options.draws):
                train, _ = per_class_split(labels, size, seed=draw, pool=np.flatnonzero(is_train))
                for name in options.methods.split(","):
                    key = (dataset, size, draw, name)
                    if key not in done:
                        done[key] = _cell(methods[name], size, vectors, labels, train, ~is_train)
                        _append(options.output, key, done[key])
                        print(*key, f"{done[key]:.2f}", flush=True)
    table = _table(done)
    print(table)
    if options.table:
        options.table.write_text(table, encoding="utf-8")
    if options.figure:
        _draw(done, options.figure)


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", default="stanford40,cub200,cars")
    parser.add_argument("--methods", default="ANCR,Softmax (power)")
    parser.add_argument("--sizes", default="1,2,4,8,16")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("learning_curves.jsonl"))
    parser.add_argument("--table", type=Path)
    parser.add_argument("--figure", type=Path)
    return parser


def _load(dataset):
    content = np.load(find_data(str(Path(FILES[dataset]) / "efficientnet_lite0_1280.npz")))
    return content["features"].astype(np.float32), content["labels"], content["is_train"].astype(bool)


def _cell(method, size, vectors, labels, train, test):
    """Accuracy in percent."""
    estimator = method.build()
    if size == 1:
        estimator = _without_choice(estimator)
    elif isinstance(estimator, GridSearchCV):
        estimator.set_params(cv=min(5, size))
    estimator.fit(vectors[train], labels[train])
    return 100.0 * float(np.mean(estimator.predict(vectors[test]) == labels[test]))


def _without_choice(estimator):
    """The middle of each list of a grid, the first of two."""
    if isinstance(estimator, GridSearchCV):
        return estimator.estimator.set_params(**{key: _middle(values) for key, values in estimator.param_grid.items()})
    return ancr.RepresentationClassifier(
        space=estimator.spaces[0] if estimator.spaces else "linear",
        constraint="free" if estimator.get_params().get("constraints") == ["free"] else "simplex",
        alpha=_middle(estimator.alphas),
    )


def _middle(values):
    return values[(len(values) - 1) // 2]


def _read(path):
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(row["key"]): row["accuracy"] for row in rows}


def _append(path, key, accuracy):
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"key": key, "accuracy": accuracy, "at": time.time()}) + "\n")


def _table(done):
    """Mean and standard deviation over the draws, in Markdown."""
    sizes = sorted({key[1] for key in done})
    lines = ["| set | method | " + " | ".join(map(str, sizes)) + " |", "|---|---|" + "---:|" * len(sizes)]
    for dataset, name in sorted({(key[0], key[3]) for key in done}):
        cells = [
            [value for key, value in done.items() if key[:2] == (dataset, size) and key[3] == name] for size in sizes
        ]
        shown = [f"{np.mean(cell):.1f} ± {np.std(cell):.1f}" if cell else "" for cell in cells]
        lines.append(f"| {dataset} | {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


_TITLES = {"stanford40": "Stanford 40", "cub200": "CUB", "cars": "Cars"}


def _draw(done, path):
    """One panel per set, one line per method with its standard deviation over the draws."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    sets = [name for name in FILES if any(key[0] == name for key in done)]
    figure, axes = plt.subplots(1, len(sets), figsize=(3.4 * len(sets), 3.2), layout="constrained", squeeze=False)
    for axis, dataset in zip(axes[0], sets, strict=True):
        for style, name in zip(("o-", "s--"), sorted({key[3] for key in done}), strict=False):
            sizes = sorted({key[1] for key in done if (key[0], key[3]) == (dataset, name)})
            cells = [[done[key] for key in done if (key[0], key[1], key[3]) == (dataset, n, name)] for n in sizes]
            mean, spread = (np.array([function(cell) for cell in cells]) for function in (np.mean, np.std))
            axis.plot(sizes, mean, style, label=name)
            axis.fill_between(sizes, mean - spread, mean + spread, alpha=0.2)
        axis.set(
            title=_TITLES[dataset], xscale="log", xlabel="samples per class", xticks=sizes, xticklabels=map(str, sizes)
        )
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("accuracy in %")
    axes[0][0].legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
