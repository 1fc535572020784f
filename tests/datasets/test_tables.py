"""A user's own vectors in every format."""

import numpy as np
import pytest
from scipy.io import savemat

from ancr.datasets import load_table
from ancr.samples import readers

X = np.arange(12.0).reshape(4, 3)
LABELS = np.array(["b", "a", "b", "a"])
NUMBERS = np.array([2, 1, 2, 1])


def write(path, kind):
    """The same four samples in one of the formats."""
    file = path / f"table.{kind.split()[-1]}"
    if kind == "npz":
        np.savez(file, data=X, target=LABELS)
    elif kind == "npy":
        np.save(file, X)
        np.save(path / "table_labels.npy", LABELS)
    elif kind == "v5 mat":
        savemat(file, {"fea": X, "gnd": NUMBERS})
    elif kind == "v7.3 mat":
        import h5py

        # what MATLAB writes: a 512-byte header, and every array column-major, that is transposed
        with h5py.File(file, "w", userblock_size=512) as out:
            out["fea"] = X.T
            out["gnd"] = NUMBERS[None, :]
        with file.open("r+b") as out:
            out.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")
    else:
        import pandas as pd

        frame = pd.DataFrame(X, columns=["p", "q", "r"]).assign(label=LABELS)
        frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    return file


@pytest.mark.parametrize("kind", ["npz", "npy", "v5 mat", "v7.3 mat", "csv", "parquet"])
def test_every_format(tmp_path, kind):
    bunch = load_table(write(tmp_path, kind))
    np.testing.assert_array_equal(bunch.data, X)
    assert bunch.target.tolist() == [1, 0, 1, 0]
    assert bunch.target_names.tolist() == (["1", "2"] if "mat" in kind else ["a", "b"])


def test_samples_as_columns_are_turned(tmp_path):
    savemat(tmp_path / "t.mat", {"X": X.T, "y": NUMBERS})
    np.testing.assert_array_equal(load_table(tmp_path / "t.mat").data, X)


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64), (np.uint8, np.float64)],
)
def test_precision(tmp_path, stored, loaded):
    np.savez(tmp_path / "t.npz", data=X.astype(stored), target=LABELS)
    assert load_table(tmp_path / "t.npz").data.dtype == loaded


def test_names_may_be_given(tmp_path):
    np.savez(tmp_path / "t.npz", vectors=X, animal=LABELS)
    bunch = load_table(tmp_path / "t.npz", data="vectors", target="animal")
    assert bunch.target_names.tolist() == ["a", "b"]
    np.savetxt(tmp_path / "t.csv", np.c_[X, NUMBERS], delimiter=",", header="p,q,r,animal", comments="")
    bunch = load_table(tmp_path / "t.csv", data=["p", "r"], target="animal")
    np.testing.assert_array_equal(bunch.data, X[:, [0, 2]])


def test_class_names_and_split_are_kept(tmp_path):
    arrays = {"is_train": np.array([1, 0, 1, 0]), "class_names": np.array(["x", "y", "z"])}
    np.savez(tmp_path / "t.npz", features=X, labels=NUMBERS, **arrays)
    bunch = load_table(tmp_path / "t.npz")
    assert bunch.target.tolist() == NUMBERS.tolist()
    assert bunch.target_names.tolist() == ["x", "y", "z"]
    assert bunch.train_indices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("arrays", "arguments", "message"),
    [
        ({"data": X, "target": NUMBERS[:3]}, {"data": "nope"}, "data 'nope' is not in t.npz"),
        ({"data": X, "stuff": NUMBERS}, {}, r"t.npz has no label by a usual name \(target"),
        ({"data": X[0], "target": NUMBERS}, {}, "1 dimensions, but expected 2"),
        ({"data": X, "target": np.zeros(7)}, {}, "do not match 7 labels"),
        (
            {"data": X, "target": NUMBERS, "class_names": np.array(["a"])},
            {},
            "labels from 1 to 2, but 1 class_names",
        ),
    ],
)
def test_bad_tables(tmp_path, arrays, arguments, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load_table(tmp_path / "t.npz", **arguments)


def test_bad_files(tmp_path):
    with pytest.raises(ValueError, match=r"ends in '\.xls'"):
        load_table(tmp_path / "t.xls")
    with pytest.raises(FileNotFoundError, match=r"t\.npz"):
        load_table(tmp_path / "t.npz")
    np.save(tmp_path / "t.npy", X)
    with pytest.raises(ValueError, match=r"t_labels\.npy does not exist"):
        load_table(tmp_path / "t.npy")
    (tmp_path / "t.csv").write_text("p,label\n1,dog\n2,cat\nrex,dog\n")
    with pytest.raises(ValueError, match=r"row 3 \(line 4\), column .p.: .rex. is not a number"):
        load_table(tmp_path / "t.csv")


def test_spreadsheets_write_a_mark_spaces_and_truth(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfa , b, label\r\n1, True ,x \r\n2,False,y\r\n\r\n")
    bunch = load_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(bunch.data, [[1, 1], [2, 0]])
    assert bunch.target_names.tolist() == ["x", "y"]
    assert bunch.feature_names == ("a", "b")


def test_long_tables_are_read_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "_CHUNK_CELLS", 8)
    for kind in ("csv", "parquet"):
        np.testing.assert_array_equal(load_table(write(tmp_path, kind)).data, X)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (np.array([10.0, 9.0, 10.0, 9.0]), ["9", "10"]),
        (np.array([1.5, 1.0, 1.5, 1.0]), ["1", "1.5"]),
        (np.array([b"b", b"a", b"b", b"a"]), ["a", "b"]),
        (np.array([True, False, True, False]), ["False", "True"]),
    ],
)
def test_labels_are_kept(tmp_path, labels, names):
    np.savez(tmp_path / "t.npz", data=X, target=labels)
    bunch = load_table(tmp_path / "t.npz")
    assert bunch.target_names.tolist() == names
    assert bunch.target.tolist() == [1, 0, 1, 0]


def test_numbers_as_labels_of_a_table_are_in_order_and_as_written(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1,10\n2,9\n3,0\n")
    bunch = load_table(tmp_path / "t.csv")
    assert bunch.target_names[bunch.target].tolist() == ["10", "9", "0"]
    assert bunch.target_names.tolist() == ["0", "9", "10"]


def test_cells_of_matlab_are_labels(tmp_path):
    savemat(tmp_path / "t.mat", {"X": X, "y": np.array(["cat", "dog", "cat", "dog"], dtype=object)})
    assert load_table(tmp_path / "t.mat").target_names.tolist() == ["cat", "dog"]
