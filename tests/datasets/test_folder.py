"""A user's own image folders and lists: what loads, and what is said about the rest."""

import shutil

import pytest

from ancr.datasets import DataWarning, WrongTreeError, load_folder
from tests.datasets.trees import write_image


@pytest.fixture
def folder(tmp_path):
    """Two classes of two images."""
    for seed, name in enumerate(["cat/1.jpg", "cat/deep/2.png", "dog/1.jpg", "dog/2.jpg"]):
        write_image(tmp_path / name, seed)
    return tmp_path


def test_one_folder_per_class(folder):
    bunch = load_folder(folder)
    assert bunch.target_names.tolist() == ["cat", "dog"]
    assert bunch.target.tolist() == [0, 0, 1, 1]
    assert bunch.filenames[1].endswith("cat/deep/2.png")
    assert bunch.train_indices is None


def test_train_and_test_folders_are_the_split(tmp_path):
    for seed, name in enumerate(["train/cat/1.jpg", "train/dog/1.jpg", "test/cat/2.jpg"]):
        write_image(tmp_path / name, seed)
    bunch = load_folder(tmp_path)
    assert bunch.target_names.tolist() == ["cat", "dog"]
    assert "train" in bunch.filenames[bunch.train_indices[0]]
    assert (len(bunch.train_indices), len(bunch.test_indices)) == (2, 1)


def test_flat_folder_is_a_wrong_tree(tmp_path):
    write_image(tmp_path / "applauding.jpg")
    with pytest.raises(WrongTreeError, match=r"(?s)Expected:.*first class/.*Found:.*applauding\.jpg"):
        load_folder(tmp_path)


def test_flat_folder_labelled_by_name(tmp_path):
    write_image(tmp_path / "applauding.jpg", 0)
    write_image(tmp_path / "reading.jpg", 1)
    assert load_folder(tmp_path, label_from="name").target_names.tolist() == ["applauding", "reading"]


def test_empty_class_is_named(folder):
    (folder / "empty").mkdir()
    with pytest.warns(DataWarning, match="Class 'empty' is empty"):
        assert load_folder(folder).target_names.tolist() == ["cat", "dog"]


def test_other_files_are_listed(folder):
    (folder / "cat" / "notes.txt").write_text("not an image")
    with pytest.warns(DataWarning, match=r"1 file is not an image .*notes\.txt"):
        bunch = load_folder(folder)
    assert bunch.ignored == [str(folder / "cat" / "notes.txt")]
    assert len(bunch.data) == 4


def test_hidden_files_pass_in_silence(folder, recwarn):
    (folder / "cat" / ".DS_Store").write_text("x")
    (folder / ".cache").mkdir()
    load_folder(folder)
    assert not recwarn.list


def test_equal_images_in_two_classes(folder):
    shutil.copy(folder / "cat" / "1.jpg", folder / "dog" / "copy.jpg")
    with pytest.warns(DataWarning, match="1 pairs of identical images are in different classes"):
        bunch = load_folder(folder)
    assert bunch.duplicates == [(str(folder / "cat" / "1.jpg"), str(folder / "dog" / "copy.jpg"))]


def test_equal_images_in_one_class_are_fine(folder, recwarn):
    shutil.copy(folder / "cat" / "1.jpg", folder / "cat" / "copy.jpg")
    assert load_folder(folder).duplicates == []
    assert not recwarn.list


def test_class_names_that_differ_in_case(tmp_path):
    (tmp_path / "list.csv").write_text("path,label\n1.jpg,Cat\n2.jpg,cat\n")
    write_image(tmp_path / "1.jpg", 1)
    write_image(tmp_path / "2.jpg", 2)
    with pytest.warns(DataWarning, match="'Cat', 'cat'"):
        load_folder(tmp_path / "list.csv")


def test_csv(folder):
    (folder / "list.csv").write_text("path,label,is_train\ncat/1.jpg,feline,1\ndog/1.jpg,canine,0\n")
    bunch = load_folder(folder / "list.csv")
    assert bunch.target_names.tolist() == ["canine", "feline"]
    assert bunch.target.tolist() == [1, 0]
    assert bunch.train_indices.tolist() == [0]
    assert bunch.test_indices.tolist() == [1]


def test_csv_columns_in_any_order(folder):
    (folder / "list.csv").write_text("label,path\nfeline,cat/1.jpg\n")
    assert load_folder(folder / "list.csv").target_names.tolist() == ["feline"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,label\ncat/1.jpg,a\ncat/1.jpg,b\n", "two labels: 'a' and 'b'"),
        ("path,label\nnowhere.jpg,a\n", r"1 files that do not exist: .*nowhere\.jpg"),
        ("path,label\ncat/1.jpg,\n", r"list\.csv holds no label"),
        ("", "is empty"),
        ("path,label\n", "no rows"),
        ("cat/1.jpg\n", "lacks the columns path, label"),
        ("path,label,is_train\ncat/1.jpg,a,maybe\n", "is_train='maybe'"),
    ],
)
def test_bad_csv(folder, text, message):
    (folder / "list.csv").write_text(text)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        load_folder(folder / "list.csv")


def test_no_such_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="neither a folder nor a"):
        load_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="label_from='colour'"):
        load_folder(tmp_path, label_from="colour")
