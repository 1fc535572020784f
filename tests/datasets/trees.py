"""Tiny trees in the official layout of each image data set, made of generated JPEGs."""

import numpy as np
from scipy.io import savemat


def write_image(path, seed=0, size=(40, 32)):
    """A small JPEG of seeded noise; two seeds give two different files."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def stanford40(home, actions=("applauding", "riding_a_bike"), n_train=2, n_test=1):
    root = home / "stanford40"
    splits = root / "ImageSplits"
    splits.mkdir(parents=True)
    rows = ["action_name\tnumber_of_images", *(f"{action}\t{n_train + n_test}" for action in actions)]
    (splits / "actions.txt").write_text("\n".join(rows) + "\n")
    for label, action in enumerate(actions):
        names = [f"{action}_{i:03d}.jpg" for i in range(n_train + n_test)]
        for i, name in enumerate(names):
            write_image(root / "JPEGImages" / name, 10 * label + i)
        (splits / f"{action}_train.txt").write_text("\n".join(names[:n_train]) + "\n")
        (splits / f"{action}_test.txt").write_text("\n".join(names[n_train:]) + "\n")
    return root


def cub200(home, classes=("001.Black_footed_Albatross", "002.Laysan_Albatross"), n_each=3):
    root = home / "cub200_2011" / "CUB_200_2011"
    names = [f"{name}/{name[4:]}_{i:04d}.jpg" for name in classes for i in range(n_each)]
    for seed, name in enumerate(names):
        write_image(root / "images" / name, seed)
    numbered = list(enumerate(names, start=1))
    (root / "classes.txt").write_text("".join(f"{i} {name}\n" for i, name in enumerate(classes, start=1)))
    (root / "images.txt").write_text("".join(f"{i} {name}\n" for i, name in numbered))
    (root / "image_class_labels.txt").write_text("".join(f"{i} {int(name[:3])}\n" for i, name in numbered))
    (root / "train_test_split.txt").write_text("".join(f"{i} {int(i % n_each != 0)}\n" for i, _ in numbered))
    return root


def aircraft(home, variants=("707-320", "Boeing 717")):
    root = home / "fgvc_aircraft" / "fgvc-aircraft-2013b"
    images = {"trainval": ["0000001", "0000002", "0000003"], "test": ["0000004"]}
    for part, names in images.items():
        for name in names:
            write_image(root / "data" / "images" / f"{name}.jpg", int(name))
        lines = [f"{name} {variants[int(name) % 2]}\n" for name in names]
        (root / "data" / f"images_variant_{part}.txt").write_text("".join(lines))
    (root / "data" / "variants.txt").write_text("\n".join(variants) + "\n")
    return root


def cars(home, models=("AM General Hummer SUV 2000", "Acura RL Sedan 2012")):
    root = home / "stanford_cars"
    (root / "devkit").mkdir(parents=True)
    savemat(root / "devkit" / "cars_meta.mat", {"class_names": np.array(models, dtype=object)})
    parts = {
        "cars_train": ("devkit/cars_train_annos.mat", 3),
        "cars_test": ("cars_test_annos_withlabels.mat", 2),
    }
    for folder, (file, n_images) in parts.items():
        rows = np.zeros((1, n_images), dtype=[("class", object), ("fname", object)])
        for i in range(n_images):
            rows[0, i] = (i % 2 + 1, f"{i + 1:05d}.jpg")
            write_image(root / folder / f"{i + 1:05d}.jpg", i)
        savemat(root / file, {"annotations": rows})
    return root
