"""The paper's printed numbers: accuracy in percent, by data set, method and setting.

Yin, Wu, Feng, Kittler: *Affine Non-negative Collaborative Representation Based Pattern Classification*. Some rows of
the paper are truncated after the first decimal instead of rounded.
"""

from collections.abc import Mapping

# The methods of the ablation table, in its order.
ABLATION = ("CRC", "ACR", "NCR", "ANCR")

_AR = {
    "NSC": (70.7, 75.5, 76.1), "SVM": (81.6, 89.3, 91.6), "SRC": (82.1, 88.3, 90.3), "CRC": (80.3, 90.1, 93.8),
    "CROC": (82.0, 90.8, 93.7), "ProCRC": (81.4, 90.7, 93.7), "SA-CRC": (75.1, 86.7, 92.5), "CCRC": (81.2, 88.9, 93.1),
    "NRC": (85.2, 91.3, 93.3), "ANCR": (86.0, 91.3, 94.0), "ACR": (78.5, 88.5, 91.4), "NCR": (85.2, 91.3, 93.3),
}  # fmt: skip

_USPS = {
    "NSC": (91.2, 92.2, 92.8, 92.8), "SVM": (91.6, 92.5, 93.1, 93.2), "SRC": (89.1, 91.2, 92.9, 93.8),
    "CRC": (89.8, 90.8, 91.5, 91.5), "CROC": (91.9, 91.3, 91.7, 91.8), "ProCRC": (90.9, 91.9, 92.2, 92.2),
    "SA-CRC": (86.4, 88.5, 90.5, 91.3), "CCRC": (90.9, 92.2, 93.1, 93.0), "NRC": (90.3, 91.6, 92.7, 93.0),
    "ANCR": (92.1, 93.0, 93.5, 94.3), "ACR": (85.6, 87.9, 89.3, 89.5), "NCR": (90.2, 91.6, 92.6, 92.9),
}  # fmt: skip

_LARGE = {
    "stanford40": {
        "Softmax": 77.2, "NSC": 74.7, "SRC": 78.7, "CRC": 78.2, "CROC": 79.2, "ProCRC": 80.9, "SA-CRC": 77.3,
        "CCRC": 79.2, "NRC": 81.1, "ANCR": 81.3, "ACR": 66.8, "NCR": 81.1,
    },
    "cub200": {
        "Softmax": 72.1, "NSC": 74.5, "SRC": 76.0, "CRC": 76.2, "CROC": 76.2, "ProCRC": 78.3, "SA-CRC": 75.5,
        "CCRC": 75.4, "NRC": 78.3, "ANCR": 78.6, "ACR": 70.4, "NCR": 78.4,
    },
    "aircraft": {
        "Softmax": 85.6, "NSC": 85.5, "SRC": 86.1, "CRC": 86.7, "CROC": 86.9, "ProCRC": 86.8, "SA-CRC": 86.9,
        "CCRC": 87.5, "NRC": 87.3, "ANCR": 87.7, "ACR": 87.4, "NCR": 87.3,
    },
    "cars": {
        "Softmax": 88.7, "NSC": 88.3, "SRC": 89.2, "CRC": 90.0, "CROC": 90.3, "ProCRC": 90.1, "SA-CRC": 90.4,
        "CCRC": 90.6, "NRC": 90.7, "ANCR": 90.7, "ACR": 90.5, "NCR": 90.6,
    },
}  # fmt: skip

# Results of other authors that the paper cites and that are not run here.
QUOTED = {
    "stanford40": {"AlexNet": 68.6, "EPM": 72.3, "ASPD": 75.4, "VGG19": 77.2},
    "cub200": {"POOF": 56.9, "FV-CNN": 66.7, "VGG19": 71.9, "PN-CNN": 75.7},
    "aircraft": {"VGG16": 85.6, "Symbiotic": 72.5, "FV-FGC": 80.7, "B-CNN": 84.1},
    "cars": {"VGG16": 88.7, "Symbiotic": 78.0, "FV-FGC": 82.7, "B-CNN": 90.6},
}


def _by_setting(rows: Mapping[str, tuple[float, ...]], settings: tuple[str, ...]) -> dict[str, dict[str, float]]:
    return {method: dict(zip(settings, values, strict=True)) for method, values in rows.items()}


PRINTED = {
    "ar": _by_setting(_AR, ("dim=54", "dim=120", "dim=300")),
    "usps": _by_setting(_USPS, ("N=50", "N=100", "N=200", "N=300")),
    **{name: {method: {"official": value} for method, value in rows.items()} for name, rows in _LARGE.items()},
}


def printed(dataset: str, method: str, setting: str) -> float | None:
    """The paper's number, or None if it prints none."""
    return PRINTED.get(dataset, {}).get(method, {}).get(setting)
