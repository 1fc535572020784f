"""The paper's printed numbers, from ``published.toml``: accuracy in percent, by data set, method and setting.

Yin, Wu, Feng, Kittler: *Affine Non-negative Collaborative Representation Based Pattern Classification*.
"""

import tomllib
from importlib.resources import files

# The methods of the ablation table, in its order.
ABLATION = ("CRC", "ACR", "NCR", "ANCR")
_FACTS = tomllib.loads(files("ancr.paper").joinpath("published.toml").read_text(encoding="utf-8"))
PRINTED: dict[str, dict[str, dict[str, float]]] = {
    name: {method: dict(zip(facts["settings"], row, strict=True)) for method, row in facts["printed"].items()}
    for name, facts in _FACTS.items()
}
# Results of other authors that the paper cites and that are not run here.
QUOTED: dict[str, dict[str, float]] = {name: facts["quoted"] for name, facts in _FACTS.items() if "quoted" in facts}


def printed(dataset: str, method: str, setting: str) -> float | None:
    """The paper's number, or None if it prints none."""
    return PRINTED.get(dataset, {}).get(method, {}).get(setting)
