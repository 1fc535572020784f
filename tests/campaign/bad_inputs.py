"""Bad inputs for the command line, with what each must answer. ``test_bad_inputs.py`` runs them.

A case is a command that is run in a folder with ``good.csv``, ``good.npz``, ``new.csv``, ``model.npz``, the folder
``photos`` of images and the case's own files; and a part of the one line that it must answer.
"""

import io
import json
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np

GOOD = "a,b,label\n" + "".join(f"{i % 5},{i % 7 - 3},{'xy'[i % 2]}\n" for i in range(20))
NEW = "a,b\n1,2\n3,4\n"


@dataclass(frozen=True)
class Bad:
    """A command, a part of its answer, and files by name: text, bytes, or a function that makes the bytes."""

    name: str
    command: str
    answer: str
    files: dict = field(default_factory=dict)
    exit_code: int = 1


def npz(**arrays):
    """Bytes of an ``.npz`` file."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def npy(array, allow_pickle=False):
    """Bytes of an ``.npy`` file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=allow_pickle)
    return out.getvalue()


def declared(shape, dtype="<f8", content=b"\0" * 80):
    """Bytes of an ``.npy`` file whose header declares a shape, whatever it holds."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def archive(compression=zipfile.ZIP_DEFLATED, **members):
    """Bytes of a zip of ``.npy`` members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return out.getvalue()


def bomb():
    """An ``.npz`` of some 300 kB whose array of labels has 300 MiB of zeros."""
    out, size = io.BytesIO(), 300 * 2**20
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("X.npy", npy(np.eye(4)))
        file.writestr("header.npy", npy(np.array("{}")))
        with file.open("labels.npy", "w") as member:
            member.write(declared((size,), "|u1", b""))
            for _ in range(300):
                member.write(bytes(2**20))
    return out.getvalue()


def lying_archive():
    """An ``.npz`` whose directory declares 2 GiB for each of its arrays."""
    content = bytearray(npz(X=np.eye(4), y=np.arange(4)))
    place = -1
    while (place := content.find(b"PK\x01\x02", place + 1)) >= 0:
        content[place + 24 : place + 28] = struct.pack("<I", 0x7FFFFFFF)
    return bytes(content)


def classifier(name="ancr:CRCClassifier", **params):
    """A classifier as a model file writes it."""
    return {"class": name, "params": params}


HEADER = {
    "format": "ancr-model", "version": [2, 0], "ancr": "0.1.0", "columns": [{"name": "a"}, {"name": "b"}],
    "classifier": classifier(), "features": "table", "standardize": False,
}  # fmt: skip


def model(drop=(), **changes):
    """Bytes of a model file; changes are entries of its header, or its arrays."""
    arrays = {
        "samples": np.random.default_rng(0).standard_normal((6, 2)), "labels": np.array(list("xyxyxy")),
        "names": np.arange(6).astype(str),
    }  # fmt: skip
    header = {**HEADER, **{name: value for name, value in changes.items() if name not in arrays}}
    arrays |= {name: value for name, value in changes.items() if name in arrays}
    header = {name: value for name, value in header.items() if name not in drop}
    arrays = {name: value for name, value in arrays.items() if name not in drop}
    return npz(header=np.array(json.dumps(header)), **arrays)


def mat(**arrays):
    """Bytes of a MATLAB file."""
    from scipy.io import savemat

    out = io.BytesIO()
    savemat(out, arrays)
    return out.getvalue()


def mat_bomb():
    """A compressed MATLAB file of some 300 kB with 300 MiB of zeros."""
    squeeze = zlib.compressobj()
    parts = [squeeze.compress(bytes(2**20)) for _ in range(300)] + [squeeze.flush()]
    body = b"".join(parts)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    return head + struct.pack("<II", 15, len(body)) + body


def hdf5(shape):
    """A MATLAB v7.3 file whose array declares a shape and holds nothing."""
    import h5py

    out = io.BytesIO()
    with h5py.File(out, "w", userblock_size=512) as file:
        file.create_dataset("X", shape, "f8", chunks=(10, 10))
        file["y"] = np.arange(4)
    content = bytearray(out.getvalue())
    content[:128] = b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM"
    return bytes(content)


def parquet(**columns):
    """Bytes of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def png(width, height):
    """A PNG that declares a size and holds no pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


CELL = {
    "dataset": "good", "features": "table", "setting": "5 folds", "method": "CRC", "protocol": "paper", "draw": 0,
    "seed": 0, "params": {}, "accuracy": 90.0, "n_test": 4, "fit_s": 0.1, "predict_s": 0.1,
}  # fmt: skip


def cells(**changes):
    """A file of results whose second line is a cell with other values."""
    return "\n".join(json.dumps(cell) for cell in (CELL, {**CELL, "draw": 1, **changes})) + "\n"


def _table(name, content, answer, options=""):
    """A bad table, for compare and for train."""
    file = name if "." in name else f"{name.replace(' ', '_')}.csv"
    yield Bad(f"compare {name}", f"compare {file} -o out {options}", answer, {file: content})
    yield Bad(f"train {name}", f"train {file} -o out.npz {options}", answer, {file: content})


TABLES = [
    *_table("empty", "", "empty.csv is empty"),
    *_table("only blank lines", "\n\n\n", "is empty"),
    *_table("only a header", "a,b,label\n", "has a header but no rows"),
    *_table("duplicate column", "a,a,label\n1,2,x\n3,4,y\n", "has several columns named 'a'; rename or remove"),
    *_table("two label columns", "label,a,label\nx,1,x\ny,2,y\n", "has several columns named 'label'"),
    *_table("two candidates", "target,a,label\nx,1,x\ny,2,y\n", "several candidates for the label: target, label;"),
    *_table("coordinates", "x,y,label\n1,2,u\n3,4,v\n", "several candidates for the label: y, label; name one"),
    *_table("empty text label", "a,label\n1,x\n2,\n3,x\n", "holds 1 class: 'x', but at least two are needed"),
    *_table("empty numeric label", "a,label\n1,0\n2,\n3,0\n", "holds 1 class: '0', but at least two are needed"),
    *_table("nan label", "a,label\n1,0\n2,nan\n3,0\n", "holds 1 class: '0', but at least two are needed"),
    *_table("blank label", "a,label\n1,x\n2,  \n3,x\n", "holds 1 class: 'x', but at least two are needed"),
    *_table("one number in two spellings", "a,label\n1,1\n2,1.0\n3,2\n", "the labels '1' and '1.0' are one number"),
    *_table("latin1", "a,label\n1,caf\xe9\n2,y\n".encode("latin1"), "line 2: byte 0xe9 is not UTF-8; save it as"),
    *_table("utf16", "a,label\n1,x\n2,y\n".encode("utf-16"), "is in UTF-16; save it as CSV in UTF-8"),
    *_table("binary", bytes(range(256)) * 20, "is not"),
    *_table("zero bytes", b"a,label\n1,x\n\0\0\0\n", "holds zero bytes"),
    *_table("bom and bad cell", "\ufeffa,label\n1,x\nz,y\n", "row 2 (line 3), column 'a': 'z' is not a number"),
    *_table("mixed types", "a,label\n1,x\n2,y\nthree,x\n", "row 3 (line 4), column 'a': 'three' is not a number"),
    *_table("short row", "a,b,label\n1,2,x\n3,y\n", "row 2 (line 3) has 2 cells, but the header has 3 columns"),
    *_table("long row", "a,b,label\n1,2,x\n3,4,y,z\n", "row 2 (line 3) has 4 cells, but the header has 3 columns"),
    *_table("long first row", "a,b,label\n1,2,3,x\n3,4,5,y\n", "row 1 (line 2) has 4 cells"),
    *_table("nothing but gaps", "a,b,label\n,?,x\n,NA,y\n", "no column to learn from; left out: a (empty), b (empty)"),
    *_table("nothing but constants", "a,label\n1,x\n1,y\n", "has no column to learn from; left out: a (constant)"),
    *_table("a kind of column", GOOD, "column 'a' cannot be 'colour'; choose from number", "--column a=colour"),
    *_table("no such column", GOOD, "there is no column 'grape'; there are a, b", "--drop grape"),
    *_table("an open option", GOOD, "--column 'a', but expected COLUMN=KIND", "--column a"),
    *_table("no dates", GOOD, "column 'a' cannot be read as dates: '0' is no date that is known", "--column a=date"),
    *_table("infinite", "a,b,label\n1,2,x\n3,inf,y\n", "row 2 (line 3), column 'b': 'inf' is infinite"),
    *_table("overflow", "a,b,label\n1,2,x\n3,1e999,y\n", "row 2 (line 3), column 'b': '1e999' is infinite"),
    *_table("decimal comma", 'a,label\n"1,5",x\n2,y\n', "row 1 (line 2), column 'a': '1,5' is not a number"),
    *_table("hexadecimal", "a,label\n0x1F,x\n2,y\n", "'0x1F' is not a number"),
    *_table("open quote", 'a,label\n"1,x\n2,y\n', "is a quotation mark missing?"),
    *_table("huge cell", "a,label\n" + "9" * 200_000 + ",x\n2,y\n", "field larger than field limit"),
    *_table("long text", "a,label\n" + "z" * 90_000 + ",x\n2,y\n", "zzz…' is not a number"),
    *_table("newline in a cell", 'a,label\n"1\n2",x\n2,y\n', "is not a number"),
    *_table("semicolons", "a;b;label\n1;2;x\n3;4\n", "row 2 (line 3) has 2 cells, but the header has 3 columns"),
    *_table("tabs", "a\tlabel\n1\tx\n3\ty\tz\n", "row 2 (line 3) has 3 cells"),
    *_table("no labels", "a,b\n1,2\n3,4\n", "no_labels.csv has no label by a usual name (target"),
    *_table("only labels", "label\nx\ny\n", "has no column to learn from beside the column 'label'"),
    *_table("one class", "a,label\n1,x\n2,x\n", "holds 1 class: 'x', but at least two are needed"),
    *_table("prose", "Once upon a time.\nThere was, they say,\n", "prose.csv has no label by a usual name"),
    *_table("bad flag", "a,label,is_train\n1,x,yes\n2,y,no\n", "row 1 (line 2), column 'is_train': is_train='yes'"),
    *_table("empty flag", "a,label,is_train\n1,x,1\n2,y,\n", "row 2 (line 3), column 'is_train'"),
    *_table("wrong label", GOOD, "label 'grape' is not in wrong_label.csv, which has a, b, label", "--label grape"),
    *_table("features of a table", GOOD, "--features 'vgg19' is for images", "--features vgg19"),
    *_table("prose.txt", "Once upon a time", "prose.txt has no label by a usual name"),
    *_table("prose.doc", "Once upon a time", "ends in '.doc', but expected .npz"),
    *_table("text.npz", "not an archive", "text.npz is not an .npz file that can be read"),
    *_table("empty.npz", b"", "empty.npz is not an .npz file"),
    *_table("cut.npz", npz(X=np.eye(4), y=np.arange(4))[:200], "cut.npz is not an .npz file"),
    *_table("objects.npz", npz(X=np.eye(4), y=np.array([{}, 1, 2, 3], object)), "Object arrays cannot be loaded"),
    *_table("pickle.npz", b"\x80\x04K\x01.", "pickle.npz is not an .npz file"),
    *_table("shape.npz", archive(X=declared((10**9, 10**6)), y=npy(np.arange(4))), "Unable to allocate 7.11 PiB"),
    *_table("short.npz", archive(X=declared((4, 4)), y=npy(np.arange(4))), "expected 128 bytes got 80"),
    *_table("no_vectors.npz", npz(pixels=np.eye(4), y=np.arange(4)), "feature); name one: it has pixels, y"),
    *_table("no_labels.npz", npz(X=np.eye(4)), "no_labels.npz has no label by a usual name (target"),
    *_table("flat.npz", npz(X=np.arange(4.0), y=np.arange(4)), "1 dimensions, but expected 2"),
    *_table("cube.npz", npz(X=np.zeros((2, 2, 2)), y=np.arange(2)), "3 dimensions, but expected 2"),
    *_table("text_vectors.npz", npz(X=np.array([["a"], ["b"]]), y=np.arange(2)), "but expected real numbers"),
    *_table("complex.npz", npz(X=np.eye(2) * 1j, y=np.arange(2)), "of type complex128, but expected real numbers"),
    *_table("uneven.npz", npz(X=np.eye(4), y=np.arange(3)), "(4, 4) vectors do not match 3 labels"),
    *_table("no_columns.npz", npz(X=np.zeros((4, 0)), y=np.arange(4)), "the vectors have no columns"),
    *_table("no_rows.npz", npz(X=np.zeros((0, 3)), y=np.zeros(0)), "holds 0 class"),
    *_table("nan.npz", npz(X=np.array([[1, 2], [3, np.nan]]), y=np.arange(2)), "row 2, column 2: the value is nan"),
    *_table("nan_label.npz", npz(X=np.eye(2), y=np.array([0, np.nan])), "nan_label.npz holds 1 class: '0'"),
    *_table("empty_label.npz", npz(X=np.eye(2), y=np.array(["a", " "])), "empty_label.npz holds 1 class: 'a'"),
    *_table("few_names.npz", npz(X=np.eye(2), y=np.arange(2), class_names=["a"]), "labels from 0 to 1, but 1 class_n"),
    *_table("text_split.npz", npz(X=np.eye(2), y=np.arange(2), is_train=["a", "b"]), "but expected 2 of 0 or 1"),
    *_table("short_split.npz", npz(X=np.eye(2), y=np.arange(2), is_train=[1]), "is_train has 1 values"),
    *_table("lonely.npy", npy(np.eye(4)), "lonely_labels.npy does not exist"),
    *_table("text.npy", "not an array", "text.npy is not an .npy file", "--label text.npy"),
    *_table("huge.npy", declared((10**9, 10**6)), "huge.npy is not an .npy file that can be read", "--label huge.npy"),
    *_table("objects.npy", npy(np.array([{}]), True), "Python objects in dtype", "--label objects.npy"),
    *_table("text.mat", "not a file of MATLAB's", "text.mat is not a MATLAB file that can be read"),
    *_table("empty.mat", b"", "empty.mat is not a MATLAB file"),
    *_table("cut.mat", mat(X=np.eye(4), y=np.arange(4))[:200], "cut.mat is not a MATLAB file"),
    *_table("noise.mat", mat(X=np.eye(4))[:128] + bytes(range(256)) * 4, "noise.mat is not a MATLAB file"),
    *_table("hdf5.mat", b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(500), "hdf5.mat is not a MATLAB"),
    *_table("hdf5_shape.mat", hdf5((10**6, 10**6)), "Unable to allocate 7.28 TiB"),
    *_table("text.parquet", "not a table", "text.parquet is not a Parquet file that can be read"),
    *_table("empty.parquet", b"", "empty.parquet is not a Parquet file"),
    *_table("mixed.parquet", parquet(a=["1", "s"], label=["x", "y"]), "row 2, column 'a': 's' is not a number"),
    *_table("nulls.parquet", parquet(a=[None, None], label=["x", "y"]), "left out: a (empty)"),
    *_table("null_label.parquet", parquet(a=[1, 2], label=["x", None]), "holds 1 class: 'x', but at least"),
    *_table("no_rows.parquet", parquet(a=[], label=[]), "no_rows.parquet has a header but no rows"),
    *_table("damaged.parquet", parquet(a=list(range(999)), label=[1] * 999)[:-600] + b"PAR1", "damaged.parquet is not"),
]

IMAGES = [
    *_table("list.csv", "path,label\nnowhere.jpg,x\n", "lists 1 files that do not exist: nowhere.jpg"),
    *_table("unlabelled.csv", "path,label\nphotos/x/0.png,\n", "unlabelled.csv holds 0 classes, but at least two"),
    *_table("two_labels.csv", "path,label\nphotos/x/0.png,x\nphotos/x/0.png,y\n", "two labels: 'x' and 'y'"),
    *_table("bomb.csv", "path,label\nbomb.png,x\nphotos/x/0.png,y\n", "bomb.png"),
    *_table("label_of_images.csv", "path,label\nphotos/x/0.png,x\n", "holds images", "--label label"),
    Bad("decompression bomb", "compare pictures -o out", "x/bomb.png (it has more than 179 million pixels)",
        {"pictures/x/bomb.png": png(50_000, 50_000), "pictures/y/1.png": png(2, 2)}),
    Bad("image without pixels", "train pictures -o out.npz", "pictures/x/1.png (image file is truncated",
        {"pictures/x/1.png": png(2000, 2000), "pictures/y/1.png": png(2, 2)}),
    Bad("text as an image", "train pictures -o out.npz", "1.png cannot be read as an image",
        {"pictures/x/1.png": "text", "pictures/y/1.png": "text"}),
    Bad("empty image", "compare pictures -o out", "1.png cannot be read as an image",
        {"pictures/x/1.png": b"", "pictures/y/1.png": b""}),
    Bad("one class of images", "compare pictures -o out", "holds no image", {"pictures/x/note.txt": "text"}),
    Bad("an empty folder to train on", "train hollow -o out.npz", "hollow is empty, but expected one",
        {"hollow/.hidden": ""}),
    Bad("an empty folder to audit", "audit hollow", "hollow is empty", {"hollow/.hidden": ""}),
    Bad("an empty folder to extract from", "extract hollow -o out.npz", "hollow is empty",
        {"hollow/.hidden": ""}),
    Bad("name of a broken image", "train pictures -o out.npz", "pictures/x/1.png cannot be read as an image: it",
        {"pictures/x/1.png": "text", "pictures/y/1.png": "other text"}),
    Bad("extract from a table", "extract good.npz -o out.npz", "is neither a folder nor a .csv file"),
    Bad("extract from nowhere", "extract nowhere -o out.npz", "neither a path nor one of the data sets"),
    Bad("extract into nowhere", "extract photos -o no/out.npz", "no/out.npz cannot be written: the folder no does not"),
    Bad("extract to another suffix", "extract photos -o out.csv", "expected a file that ends in .npz"),
    Bad("extract pixel vectors", "extract usps -o out.npz", "consists of pixel vectors"),
]  # fmt: skip


def _model(name, content, answer):
    return Bad(f"model {name}", "predict bad.npz new.csv -o out.csv", answer, {"bad.npz": content})


NOT_A_MODEL = "bad.npz is not an ancr model"
MODELS = [
    _model("empty", b"", NOT_A_MODEL),
    _model("text", "once upon a time", NOT_A_MODEL),
    _model("pickle", b"\x80\x04K\x01.", NOT_A_MODEL),
    _model("cut", model()[:300], NOT_A_MODEL),
    _model("features", npz(X=np.eye(2), y=np.arange(2)), NOT_A_MODEL),
    _model("header of noise", npz(header=np.array("no json")), NOT_A_MODEL),
    _model("header of a list", npz(header=np.array("[]")), NOT_A_MODEL),
    _model("header of null", npz(header=np.array("null")), NOT_A_MODEL),
    _model("header of brackets", npz(header=np.array("[" * 100_000)), NOT_A_MODEL),
    _model("numeric header", npz(header=np.arange(3)), NOT_A_MODEL),
    _model("other format", model(format="other"), NOT_A_MODEL),
    _model("bomb", bomb, NOT_A_MODEL),
    _model("lying archive", lying_archive(), NOT_A_MODEL),
    _model("huge shape", archive(header=npy(np.array(json.dumps(HEADER))), samples=declared((10**9, 10**6)),
                                 labels=npy(np.array(["x"])), names=npy(np.array(["x"]))), NOT_A_MODEL),
    _model("objects", npz(header=np.array(json.dumps(HEADER)), samples=np.array([[{}]], object)), NOT_A_MODEL),
    *(_model(f"without {name}", model(drop=[name]), f"{NOT_A_MODEL}: '{name}' is missing")
      for name in ("version", "columns", "classifier", "features", "standardize", "samples", "labels", "names")),
    *(_model(f"null {name}", model(**{name: None}), f"{NOT_A_MODEL}: '{name}' is 'None', but expected")
      for name in ("version", "columns", "classifier", "features", "standardize")),
    _model("version of text", model(version="1.0"), "'version' is '1.0', but expected two whole numbers"),
    _model("version of three", model(version=[1, 0, 0]), "but expected two whole numbers"),
    _model("version of truth", model(version=[True, False]), "but expected two whole numbers"),
    _model("version of the future", model(version=[3, 0]), "has model format 3.0, but ancr"),
    _model("version of the past", model(version=[1, 0]), "has model format 1.0, but ancr"),
    _model("classifier of a list", model(classifier=[1]), "'classifier' is '[1]', but expected names with values"),
    _model("params of a list", model(classifier={**classifier(), "params": [1]}),
           "'params' is '[1]', but expected names with values"),
    _model("columns of numbers", model(columns=[1, 2]), "'columns' is '[1, 2]', but expected a list of columns"),
    _model("columns of texts", model(columns=["a", "b"]), "but expected a list of columns"),
    _model("a kind of column", model(columns=[{"name": "a", "kind": "x"}] * 2), "but expected a list of columns"),
    _model("too few columns", model(columns=[{"name": "a"}]), "'columns' has 1 that are used, but the samples have 2"),
    _model("no words", model(columns=[{"name": "a", "kind": "category"}, {"name": "b"}]), "words that are not among"),
    _model("standardize no", model(standardize="no"), "'standardize' is 'no', but expected true or false"),
    _model("standardize 1", model(standardize=1), "'standardize' is '1', but expected true or false"),
    _model("method of a number", model(classifier=classifier(7)), "bad.npz: 7 is not part of ancr"),
    _model("method of the system", model(classifier=classifier("os:system")), "os:system is not part of ancr"),
    _model("unknown parameter", model(classifier=classifier(colour=1)), "CRC has no parameter 'colour'"),
    _model("null parameter", model(classifier=classifier(alpha=None)), "alpha"),
    _model("text parameter", model(classifier=classifier(alpha="much")), "alpha"),
    _model("nested parameter", model(classifier=classifier(alpha={"a": [1]})), "alpha"),
    _model("negative parameter", model(classifier=classifier(alpha=-1)), "alpha"),
    _model("infinite parameter", model(classifier=classifier(alpha=float("nan"))), "alpha"),
    _model("short names", model(names=np.array(["a"])), "'names' has shape (1,)"),
    _model("short labels", model(labels=np.array(["a"])), "'labels' has shape (1,)"),
    _model("numeric labels", model(labels=np.arange(6)), "'labels' has shape (6,) and type int64"),
    _model("flat samples", model(samples=np.arange(6.0)), "1 dimensions, but expected 2"),
    _model("text samples", model(samples=np.array([["a"] * 2] * 6)), "but expected real numbers"),
    _model("nan samples", model(samples=np.full((6, 2), np.nan), columns=[]), "row 1, column 1: the value is nan"),
    _model("no samples", model(samples=np.zeros((0, 2)), labels=np.array([], "U1"), names=np.array([], "U1")), "empty"),
    _model("one class", model(labels=np.array(list("xxxxxx"))), "class"),
    Bad("model unknown features", "predict bad.npz photos -o out.csv",
        "'no_such_network'" if find_spec("torch") else "deep features need torch",
        {"bad.npz": model(features="no_such_network", columns=[])}),
]  # fmt: skip


def _new(name, content, answer, file="data.csv"):
    return Bad(f"predict {name}", f"predict model.npz {file} -o out.csv --strict", answer, {file: content})


QUERIES = [
    _new("empty", "", "data.csv is empty"),
    _new("only a header", "a,b\n", "data.csv has a header but no rows"),
    _new("lacking a column", "a,c\n1,2\n", "lacks the columns b that the model was trained on"),
    _new("duplicate column", "a,b,a\n1,2,3\n", "has several columns named 'a'"),
    _new("text", "a,b\n1,2\n3,x\n", "data.csv, row 2 (line 3), column 'b': 'x' is not a number"),
    _new("text after many rows", "a,b\n" + "1,2\n" * 5000 + "1,x\n", "row 5001 (line 5002), column 'b': 'x' is not"),
    _new("short row", "a,b\n1,2\n3\n", "row 2 (line 3) has 1 cells, but the header has 2 columns"),
    _new("latin1", "a,b\n1,2\n1,\xe9\n".encode("latin1"), "line 3: byte 0xe9 is not UTF-8"),
    _new("binary", bytes(range(256)), "data.csv"),
    _new("other suffix", "a,b\n", "ends in '.doc', but expected .npz, .npy, .mat, .csv, .tsv, .parquet", "data.doc"),
    _new("mat", mat(X=np.eye(3)), "has vectors of 3 numbers, but the model was trained on 2", "data.mat"),
    _new("wide array", npy(np.zeros((3, 5))), "has vectors of 5 numbers, but the model was trained on 2", "data.npy"),
    _new("flat array", npy(np.zeros(3)), "1 dimensions, but expected 2", "data.npy"),
    _new("text array", npy(np.array([["a", "b"]])), "but expected real numbers", "data.npy"),
    _new("empty array", npy(np.zeros((0, 2))), "data.npy holds no vectors", "data.npy"),
    _new("nan array", npy(np.array([[0, 1], [np.nan, 2]])), "row 2, column 1: the value is nan", "data.npy"),
    _new("object array", npy(np.array([[{}, 1]]), True), "Python objects in dtype", "data.npy"),
    _new("huge array", declared((10**9, 10**6)), "data.npy is not an .npy file that can be read", "data.npy"),
    _new("archive without vectors", npz(z=np.eye(2)), "has no data by a usual name (data, features, X", "data.npz"),
    _new("damaged archive", npz(X=np.eye(2))[:99], "data.npz is not an .npz file", "data.npz"),
    _new("words in Parquet", parquet(a=["x"], b=[1]), "row 1, column 'a': 'x' is not a number", "data.parquet"),
    Bad("predict nowhere", "predict model.npz nowhere.csv -o out.csv", "nowhere.csv does not exist"),
    Bad("predict a folder", "predict model.npz photos -o out.csv", "photos is a folder, but the model"),
    Bad("predict without a model", "predict nowhere.npz new.csv -o out.csv", "nowhere.npz does not exist"),
    Bad("predict with a table as model", "predict good.csv new.csv -o out.csv", "good.csv is not an ancr model"),
]

OUTPUTS = [
    Bad("train into nowhere", "train good.csv -o nodir/out.npz", "nodir/out.npz cannot be written: the folder"),
    Bad("train into a file", "train good.csv -o good.csv/out.npz", "good.csv is not a folder"),
    Bad("train over the data", "train good.npz -o good.npz", "--output good.npz would overwrite the input"),
    Bad("predict into nowhere", "predict model.npz new.csv -o nodir/out.csv", "nodir/out.csv cannot be written"),
    Bad("predict over the data", "predict model.npz new.csv -o new.csv", "--output new.csv would overwrite the input"),
    Bad("predict over the model", "predict model.npz new.csv -o model.npz", "would overwrite the input"),
    Bad("predict into a folder", "predict model.npz new.csv -o photos", "is a directory", exit_code=2),
    Bad("train into a folder", "train good.csv -o photos", "is a directory", exit_code=2),
    Bad("compare into a file", "compare good.csv -o new.csv", "is a file", exit_code=2),
    Bad("compare under a file", "compare good.csv -o new.csv/out", "new.csv is not a folder"),
    Bad("reproduce under a file", "reproduce digits -o new.csv/out", "new.csv is not a folder"),
    Bad("compare where there is other data", "compare good.csv -o mine --methods CRC --no-figures",
        "mine holds results on good, other, and their report would be replaced; choose another folder with --output",
        {"mine/cells.jsonl": cells(dataset="other")}),
    Bad("compare where there is other data of this name", "compare good.csv -o mine --methods CRC",
        "mine holds results on good (/far/good.csv)", {"mine/cells.jsonl": cells(data="0123", origin="/far/good.csv")}),
    Bad("reproduce where there is other data", "reproduce digits -o mine", "mine holds results on good",
        {"mine/cells.jsonl": cells(data="0123")}),
]  # fmt: skip


def _cell(name, content, answer):
    return Bad(f"cells {name}", "compare good.csv -o mine", answer, {"mine/cells.jsonl": content})


CELLS = [
    _cell("accuracy of text", cells(accuracy="high"), "line 2 is not a cell: accuracy is 'high', but expected float"),
    _cell("accuracy of nothing", cells(accuracy=None), "line 2 is not a cell: accuracy is 'None'"),
    _cell("accuracy nan", cells(accuracy=float("nan")), "line 2 is not a cell: accuracy is nan"),
    _cell("accuracy infinite", cells(accuracy=float("inf")), "line 2 is not a cell: accuracy is inf"),
    _cell("draw of text", cells(draw="1"), "line 2 is not a cell: draw is '1', but expected int"),
    _cell("params of a list", cells(params=[1]), "line 2 is not a cell: params is '[1]', but expected dict"),
    _cell("certified of text", cells(certified="all"), "line 2 is not a cell: certified is 'all'"),
    _cell("method of nothing", cells(method=None), "line 2 is not a cell: method is 'None', but expected str"),
    _cell("noise", "noise\n", "line 1 is not a cell"),
    _cell("not UTF-8", b"\xff\xfe\xff\n", "line 1 is not a cell"),
    _cell("a list", "[]\n", "line 1 is not a cell"),
    _cell("a number", "7\n", "line 1 is not a cell"),
    _cell("brackets", "[" * 100_000 + "\n", "line 1 is not a cell"),
    _cell("a part", '{"dataset": "good"}\n', "line 1 is not a cell: missing"),
]

OPTIONS = [
    Bad("no such command", "classify good.csv", "No such command 'classify'", exit_code=2),
    Bad("no such option", "compare good.csv --colour red", "No such option", exit_code=2),
    Bad("compare nothing", "compare", "Missing argument 'DATA'", exit_code=2),
    Bad("compare nowhere", "compare nowhere.csv -o out", "nowhere.csv does not exist"),
    Bad("one fold", "compare good.csv --folds 1 -o out", "--folds", exit_code=2),
    Bad("more folds than samples", "compare one.csv --folds 2 -o out", "class 'y' has only 1 sample, which cannot be",
        {"one.csv": "a,label\n1,x\n2,x\n3,y\n"}),
    Bad("many folds", "compare good.csv --folds 11 -o out", "--folds 11, but class 'x' has only 10 samples"),
    Bad("no jobs", "compare good.csv --jobs 0 -o out", "--jobs", exit_code=2),
    Bad("unknown method", "compare good.csv --methods CRC,XYZ -o out", "--methods XYZ: no such method here"),
    Bad("empty method", "compare good.csv --methods= -o out", "no such method here"),
    Bad("no module before the colon", "compare good.csv --methods :Mine -o out", "--methods :Mine: no module or file"),
    Bad("no time", "compare good.csv --time 0 -o out", "--time", exit_code=2),
    Bad("nan minutes", "compare good.csv --time nan -o out", "is not a duration above zero", exit_code=2),
    Bad("unknown protocol", "compare good.csv --protocol oracle -o out", "--protocol 'oracle' is unknown"),
    Bad("label of images", "compare photos --label x -o out", "--label 'x', but photos holds images"),
    Bad("only training", "compare split.csv -o out", "leaves 0 for testing",
        {"split.csv": "a,label,is_train\n1,x,1\n2,y,1\n"}),
    Bad("one class in training", "compare split.csv -o out", "marks 1 sample of 1 class and leaves 1",
        {"split.csv": "a,label,is_train\n1,x,1\n2,y,0\n"}),
    Bad("train without output", "train good.csv", "Missing option", exit_code=2),
    Bad("train an unknown method", "train good.csv -o out.npz --method Forest", "method 'Forest' is unknown"),
    Bad("train another package's", "train good.csv -o out.npz --method os.system", "method 'os.system' is unknown"),
    Bad("setting without value", "train good.csv -o out.npz --set alpha", "--set 'alpha', but expected NAME=VALUE"),
    Bad("setting of another method", "train good.csv -o out.npz --set beta=1", "ANCR has no parameter 'beta'"),
    Bad("setting given twice", "train good.csv -o out.npz --set alpha=1 --set alpha=2", "--set alpha is given twice"),
    Bad("setting given by its option, too", "train good.csv -o out.npz --kernel rbf --set space__kernel=poly",
        "--set space__kernel is given twice"),
    Bad("gamma without a kernel", "train good.csv -o out.npz --gamma 1", "gamma requires a kernel"),
    Bad("negative setting", "train good.csv -o out.npz --set alpha=-1", "alpha"),
    Bad("text setting", "train good.csv -o out.npz --set alpha=much", "alpha"),
    Bad("null setting", "train good.csv -o out.npz --set alpha=null", "alpha"),
    Bad("list setting", "train good.csv -o out.npz --set alpha=[1,2]", "alpha"),
    Bad("object setting", 'train good.csv -o out.npz --set alpha={"a":1}', "alpha"),
    Bad("nan setting", "train good.csv -o out.npz --set alpha=NaN", "alpha"),
    Bad("infinite setting", "train good.csv -o out.npz --set alpha=Infinity", "alpha"),
    Bad("unknown solver", "train good.csv -o out.npz --set solver=magic", "solver"),
    Bad("unknown rule", "train good.csv -o out.npz --method CRC --set rule=magic", "rule"),
    Bad("no iterations", "train good.csv -o out.npz --set solver=admm --set max_iter=0", "max_iter"),
    Bad("reproduce an unknown set", "reproduce mnist -o out", "'mnist' is not one of the data sets digits, ar, usps"),
    Bad("reproduce other features", "reproduce digits --features vgg -o out", "--features 'vgg' is for the large data"),
    Bad("reproduce features of nothing", "reproduce --features vgg -o out", "--features 'vgg' needs the name"),
    Bad("reproduce no draws", "reproduce digits --draws 0 -o out", "--draws", exit_code=2),
    Bad("reproduce words as draws", "reproduce digits --draws many -o out", "--draws", exit_code=2),
    Bad("reproduce an unknown method", "reproduce digits --methods XYZ -o out", "--methods XYZ: no such method here"),
    Bad("reproduce an unknown protocol", "reproduce digits --protocol x -o out", "--protocol 'x' is unknown"),
    Bad("reproduce without data", "reproduce ar --data-home nowhere -o out", "ar/AR_DAT.mat not found"),
    Bad("fetch an unknown set", "fetch mnist", "'mnist' is not one of the data sets"),
    Bad("fetch nothing", "fetch", "Missing argument 'NAME'", exit_code=2),
    Bad("next with a negative seed", "next model.npz new.csv --seed -1", "--seed", exit_code=2),
    Bad("data home is a file", "datasets --data-home good.csv", "is a file", exit_code=2),
]  # fmt: skip

BAD_INPUTS = [*TABLES, *IMAGES, *MODELS, *QUERIES, *OUTPUTS, *CELLS, *OPTIONS]
# The bombs that take a moment to make.
BAD_INPUTS += [
    Bad("table bomb", "train bomb.npz -o out.npz", "do not match 314572800 labels", {"bomb.npz": bomb}),
    Bad("query bomb", "predict model.npz bomb.npz -o out.csv", "bomb.npz", {"bomb.npz": bomb}),
    Bad(
        "mat bomb",
        "train bomb.mat -o out.npz",
        "bomb.mat is not a MATLAB file that can",
        {"bomb.mat": mat_bomb},
    ),
]
