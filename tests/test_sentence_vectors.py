"""Texts as vectors of a sentence-transformers model: the same labels everywhere, and pinned by a hash."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import ancr
from ancr.samples.sentence_vectors import SentenceVectors, fingerprint, import_sentence_transformers
from tests.command_line import invoke
from tests.test_my_table import ALONE, predicted, studio_labels, texts, write

try:
    sentence_transformers = import_sentence_transformers()
except ImportError as missing:
    pytest.skip(str(missing), allow_module_level=True)
WORDS = [
    "my", "card", "stolen", "lost", "abroad", "loan", "rate", "repay", "password", "forgotten", "reset", "log", "in",
]  # fmt: skip


def model_of_words(folder, seed=0):
    """A model whose vector of a text is the mean of random vectors of its words."""
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"?": 0, **{word: i + 1 for i, word in enumerate(WORDS)}}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.random.default_rng(seed).normal(size=(len(WORDS) + 1, 12)).astype(np.float32)
    made = StaticEmbedding(tokenizer, embedding_weights=weights)
    sentence_transformers.SentenceTransformer(modules=[made], device="cpu").save(str(folder))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_of_words(tmp_path_factory.mktemp("models") / "words")


def test_vectors_are_those_of_the_model(model):
    made = SentenceVectors(str(model)).fit([])
    sentences = ["my card", "loan rate", "my card"]
    expected = sentence_transformers.SentenceTransformer(str(model), device="cpu").encode(sentences)
    np.testing.assert_allclose(made.transform(sentences), expected, rtol=1e-6)
    np.testing.assert_array_equal(made.transform(sentences[::-1]), made.transform(sentences)[::-1])


def test_python_command_line_and_studio_give_the_same_labels(model, tmp_path):
    pytest.importorskip("starlette")
    frame = texts()
    path, asked = write(frame, tmp_path / "questions.csv"), f"text:{model}"
    options = ["--label", "intent", "--method", "ANCR", "--set", "alpha=0.1", "-o", tmp_path / "m.npz"]
    trained = invoke(["train", path, "--column", f"question={asked}", *options])
    assert trained.stderr == f"{path}: 1 text (question by words); values are used as they are\n"
    assert invoke(["predict", tmp_path / "m.npz", path, "-o", tmp_path / "out.csv"]).exit_code == 0
    rows = predicted(tmp_path / "out.csv")
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1), kinds={"question": asked})
    labels = pipeline.fit(frame[["question"]], frame["intent"]).predict(frame).tolist()
    assert [row["label"] for row in rows] == labels == studio_labels(path, "intent", {"question": asked})
    assert np.mean(np.array(labels) == frame["intent"]) > 0.9
    assert rows[0]["because_1"].partition(": ")[2] in set(frame["question"])
    tfidf = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1)).fit(frame[["question"]], frame["intent"])
    assert tfidf[0].transform(frame).shape[1] != pipeline[0].transform(frame).shape[1] == 12
    (tmp_path / "plan.toml").write_text(f'[columns]\nquestion = "{asked}"\n')
    told = invoke(["audit", path, "--label", "intent", "--columns", tmp_path / "plan.toml", "-o", tmp_path / "audit"])
    assert "question by words" in told.stderr


def test_a_model_file_pins_the_model(model, tmp_path, monkeypatch):
    home = shutil.copytree(model, tmp_path / "words")
    path = write(texts(), tmp_path / "questions.csv")
    options = ["--label", "intent", "--column", f"question=text:{home}", "--method", "ANCR", "-o", tmp_path / "m.npz"]
    assert invoke(["train", path, *options]).exit_code == 0
    header = json.loads(str(np.load(tmp_path / "m.npz")["header"]))
    assert header["columns"][0]["model"] == str(home)
    assert header["columns"][0]["digest"] == fingerprint(str(model))
    home.rename(tmp_path / "moved")
    for folder, seed in ((tmp_path / "same", 0), (tmp_path / "other", 1)):
        folder.mkdir()
        model_of_words(folder / "words", seed)

    def answer():
        return invoke(["predict", tmp_path / "m.npz", path, "-o", tmp_path / "out.csv"])

    missing = answer().stderr.splitlines()[-1]
    assert missing.startswith(f"Error: the text model {str(home)!r} is not on this machine")
    monkeypatch.setenv("ANCR_TEXT_MODELS", str(tmp_path / "same"))
    assert answer().exit_code == 0
    monkeypatch.setenv("ANCR_TEXT_MODELS", str(tmp_path / "other"))
    assert f"but {fingerprint(str(model))[:12]} was trained with" in answer().stderr.splitlines()[-1]


def test_what_is_no_model_is_refused_in_one_line(model, tmp_path):
    path = write(texts(), tmp_path / "questions.csv")
    options = ["train", str(path), "--label", "intent", "-o", str(tmp_path / "m.npz")]
    own = shutil.copytree(model, tmp_path / "own")
    (own / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "mine.Module"}]')
    reasons = {
        f"text:{tmp_path}": "is not a sentence-transformers model: it has no modules.json",
        f"text:{own}": "brings code of its own (mine.Module), which is not run",
        "text:": "choose from number, yes/no, date, category, text, drop, id, group, text:MODEL",
    }
    for asked, reason in reasons.items():
        refused = invoke([*options, "--column", f"question={asked}"]).stderr
        assert reason in refused
        assert refused.count("\n") == 1
    command = [sys.executable, "-c", ALONE, *options, "--column", f"question=text:{model}"]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=300).stderr
    assert alone == "Error: vectors of sentences need a package: pip install sentence-transformers\n"
