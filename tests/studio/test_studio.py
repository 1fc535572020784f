"""Answers, labels, exports and what the background finds, through the page's own requests."""

import csv
import io
import time

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

from ancr.classifiers.settings import is_same, key
from ancr.samples.model_file import Model
from ancr.studio import jobs as jobs_module
from ancr.studio import recogniser as recogniser_module
from ancr.studio.openings import open_source
from ancr.studio.recogniser import Query


def wait_for(client, ready, seconds=120):
    """The state, once it is as wanted."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = client.get("/api/state").json()
        if ready(state):
            return state
        time.sleep(0.05)
    raise AssertionError(state)


def is_settled(state):
    return bool(state["estimate"] and state["estimate"]["current"])


def act(client, **action):
    answer = client.post("/api/act", json=action)
    assert answer.status_code == 200, answer.text
    return answer.json()


def next_sample(client):
    return client.post("/api/next", json={"n": 1}).json()["next"][0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"alpha": 0.3},
        {"space__kernel": "rbf", "space__gamma": 2.0},
        {"space__power": 0.5},
        {"space__power": 0.5, "space__kernel": "rbf", "rule": "label"},
    ],
)
def test_an_answer_over_few_samples_is_that_of_all(studio, settings):
    """The code of the small problem is the optimum over all labelled samples."""
    recogniser, source = studio.recogniser, studio.source
    chosen = studio.state.adjusted(settings)
    queries = [Query(source.data.vectors[i], int(i), chosen) for i in studio.jobs.held_out[:30]]
    recogniser.fitted = None
    few = recogniser._over_few(queries)
    snapshot = recogniser.snapshot(chosen)
    whole = clone(chosen).fit(source.data.vectors[snapshot.members], snapshot.labels)
    vectors = np.stack([query.vector for query in queries])
    np.testing.assert_array_equal([one.label for one in few], whole.predict(vectors))
    codes = whole.codes(vectors)
    for one, (start, end) in zip(few, zip(codes.indptr[:-1], codes.indptr[1:], strict=True), strict=True):
        dense = dict(zip(snapshot.members[codes.indices[start:end]], codes.data[start:end], strict=True))
        for sample, weight in zip(one.support, one.weights, strict=True):
            assert abs(dense.get(sample, 0.0) - weight) < 2e-4
    decisions = np.stack([one.decisions for one in few])
    np.testing.assert_allclose(decisions, whole.decision_function(vectors), atol=1e-3)


def test_a_labelled_sample_does_not_answer_for_itself(client, studio):
    own = studio.state.ids[studio.recogniser.snapshot().members[0]]
    for settings in ({}, {"method": "CRC"}, {"relaxation": 0.3}):
        answer = client.post("/api/answer", json={"sample": own, "settings": settings}).json()
        assert own not in [witness["id"] for witness in answer["witnesses"]]
        assert answer["truth"] is not None


def test_a_label_changes_the_answer_at_once(client, studio):
    sample = next_sample(client)
    for text in ("0", "brand new"):
        act(client, do="label", sample=sample["id"], label=text)
        vector = studio.source.data.vectors[studio.state.index(sample["id"])]
        pixels = Image.fromarray((vector.reshape(8, 8) * 255).astype(np.uint8))
        assert pixels.size == (8, 8)
        answer = client.post("/api/answer", json={"row": vector.tolist()}).json()
        assert answer["label"] == text
        assert answer["witnesses"][0]["id"] == sample["id"]
    act(client, do="undo")
    act(client, do="undo")
    assert studio.state.labels[studio.state.index(sample["id"])] is None
    assert "brand new" not in studio.state.classes


def test_a_drawing_is_centred_and_scaled_as_the_data_is(client):
    """Digits of the data, drawn large and off centre, are recognised; and so is dark ink on light paper."""
    X, y = load_digits(return_X_y=True)
    right = {1: 0, 0: 0}
    for drawn in right:
        for i in range(40):
            canvas = Image.new("L", (256, 256))
            canvas.paste(Image.fromarray((X[i] * 15).reshape(8, 8).astype(np.uint8)).resize((120, 120)), (100, 30))
            image = canvas if drawn else Image.eval(canvas, lambda value: 255 - value)
            buffer = io.BytesIO()
            image.save(buffer, "PNG")
            answer = client.post(
                f"/api/image?drawn={drawn}", content=buffer.getvalue(), headers={"content-type": "image/png"}
            )
            right[drawn] += answer.json()["label"] == str(y[i])
    assert min(right.values()) >= 32


def test_labelling_with_the_ranked_pool_and_the_accuracy_estimate(client, studio):
    wait_for(client, is_settled)
    first = client.get("/api/state").json()["estimate"]
    for _ in range(12):
        sample = client.post("/api/next", json={"n": 1, "fresh": True}).json()["next"][0]
        act(client, do="label", sample=sample["id"], label=str(load_digits().target[sample["number"] - 1]))
    state = wait_for(client, is_settled)
    assert state["estimate"]["n"] == first["n"] + 12
    snapshot = studio.recogniser.snapshot()
    assert state["estimate"]["accuracy"] == pytest.approx(snapshot.estimate().accuracy)


def test_each_page_that_waits_for_a_rank_gets_its_own(studio):
    futures = [
        studio.worker.submit("read", lambda n=n, seed=seed: studio.jobs.awaited_queue(n, seed)).result()
        for n, seed in ((10, 0), (2, 0), (10, 1), (3, 0))
    ]
    futures[1].cancel()
    assert [len(futures[place].result(60)) for place in (0, 2, 3)] == [10, 10, 3]
    again = studio.worker.submit("read", lambda: studio.jobs.awaited_queue(2)).result()
    assert len(again.result(60)) == 2


def test_a_query_that_cannot_be_answered_leaves_the_others_alone(blobs, make_studio):
    path, _ = blobs
    studio = make_studio(open_source(path))
    recogniser, samples, labels = studio.recogniser, studio.source.data.vectors, studio.state.labels
    alone, other = labels.index("bee"), labels.index("ant")
    for index, label in enumerate(labels):
        if label == "cat" or (label == "bee" and index != alone):
            studio.worker.submit("act", ("", {"do": "exclude", "sample": studio.state.ids[index]})).result()
    classifier = studio.state.adjusted({"method": "CRC"})
    refused, answered = recogniser.judge([Query(samples[i], int(i), classifier) for i in (alone, other)])
    assert "two classes" in str(refused)
    assert answered.label == "ant"


def test_guesses_can_be_accepted_at_once_and_taken_back_at_once(client):
    wait_for(client, lambda state: is_settled(state) and client.get("/api/surest").json()["total"])
    found = client.get("/api/surest", params={"label": "0"}).json()
    assert {one["guess"]["label"] for one in found["samples"]} == {"0"}
    confidences = [one["guess"]["confidence"] for one in found["samples"]]
    assert confidences == sorted(confidences, reverse=True)
    before = client.get("/api/state").json()
    act(client, do="accept", labels=[[one["id"], "0"] for one in found["samples"][:20]])
    assert client.get("/api/state").json()["labelled"] == before["labelled"] + 20
    act(client, do="undo")
    assert client.get("/api/state").json()["labelled"] == before["labelled"]


@pytest.mark.filterwarnings("error:every class")  # which ends up in the terminal
def test_nothing_is_ticked_before_claims_are_checked(tmp_path, make_studio, make_client):
    """Iris with two labels: the classifier is sure of everything, and nothing supports that."""
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "iris.npz", features=X)
    studio = make_studio(open_source(tmp_path / "iris.npz"))
    client = make_client(studio)
    for place in (0, 60):
        act(client, do="label", sample=studio.state.ids[place], label=str(y[place]))
    wait_for(client, lambda state: is_settled(state) and client.get("/api/surest").json()["total"])
    found = client.get("/api/surest").json()
    assert not any(one["ticked"] for one in found["samples"])
    assert "each class has 5 labels" in found["why_not"]
    assert max(one["guess"]["confidence"] for one in found["samples"]) < 0.5


def test_what_is_ticked_is_right_as_often_as_it_says(client, studio):
    truth = load_digits().target
    waiting = np.flatnonzero(studio.state.waiting)[:500]
    act(client, do="accept", labels=[[studio.state.ids[i], str(truth[i])] for i in waiting])
    wait_for(client, lambda state: is_settled(state) and client.get("/api/surest").json()["why_not"] == "")
    ticked = [one for one in client.get("/api/surest").json()["samples"] if one["ticked"]]
    assert len(ticked) > 50
    assert np.mean([one["guess"]["label"] == str(truth[one["number"] - 1]) for one in ticked]) >= 0.95


def test_long_work_reports_and_can_be_ended(client):
    wait_for(client, is_settled)
    assert client.post("/api/start/compare", json={}).status_code == 200
    wait_for(client, lambda state: state["progress"].get("compare", {"done": 0})["done"] > 0)
    start = time.monotonic()
    act(client, do="label", sample=next_sample(client)["id"], label="1")
    client.post("/api/answer", json={"sample": next_sample(client)["id"]})
    assert time.monotonic() - start < 5  # it does not wait for the comparison
    assert client.post("/api/cancel/compare", json={}).status_code == 200
    state = wait_for(client, lambda state: not state["busy"]["compare"], 20)
    assert "compare" not in state["done"]
    assert "compare" not in state["problems"]


def test_a_table_with_units_is_audited_and_an_all_zero_row_is_ordinary(tmp_path, make_studio, make_client):
    X, y = load_iris(return_X_y=True)
    X = np.vstack([X * [1, 10, 100, 1000], np.zeros(4)])
    rows = [",".join(f"{value:.3f}" for value in row) for row in X]
    lines = [f"{row},{label}" for row, label in zip(rows, [*map(str, y), ""], strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    studio = make_studio(open_source(tmp_path / "iris.csv"))
    client = make_client(studio)
    assert studio.source.plan.standardize
    zero = studio.state.ids[-1]
    query = studio.query({"sample": zero})
    assert studio.recogniser.is_quick(query)
    act(client, do="label", sample=zero, label="0")
    start = time.monotonic()
    assert client.post("/api/answer", json={"sample": zero}).status_code == 200
    assert time.monotonic() - start < 10
    assert client.post("/api/start/audit", json={}).status_code == 200
    state = wait_for(client, lambda state: "audit" in state["done"] or "audit" in state["problems"])
    assert state["problems"] == {}
    assert client.get("/api/audit").json()["suspicious"]


def test_prepared_columns_answer_as_a_classifier_fitted_without_the_sample(tmp_path, make_studio):
    X, y = load_iris(return_X_y=True)
    np.savetxt(
        tmp_path / "iris.csv", np.column_stack([X * [1, 10, 100, 1000], y]), delimiter=",", header="a,b,c,d,label",
        comments="", fmt="%.3f",
    )  # fmt: skip
    studio = make_studio(open_source(tmp_path / "iris.csv"))
    recogniser = studio.recogniser
    for settings in ({}, {"space__kernel": "rbf", "space__gamma": 0.5}, {"space__power": 0.5, "alpha": 0.1}):
        classifier = studio.state.adjusted(settings)
        for sample in (3, 77, 120):
            query = Query(studio.source.data.vectors[sample], sample, classifier)
            assert recogniser.is_quick(query)
            (few,), (whole,) = recogniser._over_few([query]), recogniser._by_all([query])
            assert few.label == whole.label
            np.testing.assert_allclose(few.decisions, whole.decisions, atol=1e-6)


def test_the_model_and_the_labels_leave_and_come_back(client, studio, tmp_path, make_studio):
    sample = next_sample(client)
    act(client, do="label", sample=sample["id"], label="=cmd()")
    act(client, do="settings", settings={"alpha": 0.05, "space__kernel": "rbf", "space__gamma": 2.0})
    content = client.get("/api/export/model.npz").content
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    model = Model.load(path)
    assert len(model.labels) == 101
    queries = studio.source.data.vectors[studio.jobs.held_out[:20]]
    answers = [
        client.post("/api/answer", json={"sample": studio.state.ids[i]}).json()["label"]
        for i in studio.jobs.held_out[:20]
    ]
    assert model.build().predict(queries).tolist() == answers
    again = open_source(path)
    assert is_same(clone(again.classifier).set_params(temperature=0.1), studio.state.classifier)
    reopened = make_studio(again)
    assert reopened.recogniser.is_ready()
    rows = list(csv.DictReader(io.StringIO(client.get("/api/export/labels.csv").text)))
    assert {"sample": sample["name"], "label": "'=cmd()", "given": "", "status": "labelled", "id": sample["id"]} in rows
    raw = client.get("/api/export/labels.csv?raw=1").text
    assert "\n" + sample["name"] + ",=cmd(),,labelled," in raw


def test_audit_relabel_exclude(client, studio):
    wait_for(client, is_settled)
    members = studio.recogniser.snapshot().members.tolist()
    chances = [
        client.post("/api/answer", json={"sample": studio.state.ids[i]}).json()["classes"][0]["residual"]
        for i in members
    ]
    names = [studio.state.ids[members[place]] for place in np.argsort(chances)[:3]]  # that others represent best
    right = [studio.state.labels[studio.state.index(name)] for name in names]
    for name, label in zip(names, right, strict=True):
        act(client, do="label", sample=name, label=str((int(label) + 5) % 10))
    assert client.post("/api/start/audit", json={}).status_code == 200
    wait_for(client, lambda state: "audit" in state["done"] and not state["busy"]["audit"])
    audit = client.get("/api/audit").json()
    found = [entry["sample"]["id"] for entry in audit["suspicious"][:15]]
    assert set(names) <= set(found)
    for name, label in zip(names, right, strict=True):
        entry = next(entry for entry in audit["suspicious"] if entry["sample"]["id"] == name)
        assert entry["suggested"] == label
        assert entry["against"]
    act(client, do="label", sample=names[0], label=right[0])
    act(client, do="exclude", sample=names[1])
    act(client, do="keep", sample=names[2])
    decided = {entry["sample"]["id"]: entry["decided"] for entry in client.get("/api/audit").json()["suspicious"]}
    assert [decided[name] for name in names] == ["relabelled", "excluded", "kept"]
    rows = csv.DictReader(io.StringIO(client.get("/api/export/suspicious.csv").text))
    table = {row["sample"]: (row["suggested"], row["decided"]) for row in rows}
    told = [table[studio.state.names[studio.state.index(name)]] for name in names]
    assert told == list(zip(right, ["relabelled", "excluded", "kept"], strict=True))
    state = wait_for(client, is_settled)
    assert state["estimate"]["accuracy"] > audit["accuracy"]
    rows = csv.DictReader(io.StringIO(client.get("/api/export/labels.csv").text))
    statuses = {row["id"]: row["status"] for row in rows}
    assert statuses[names[1]] == "excluded"


def test_undo_brings_the_sample_back(client):
    for kind in ({"do": "label", "label": "3"}, {"do": "skip"}):
        sample = next_sample(client)
        act(client, sample=sample["id"], **kind)
        wait_for(client, is_settled)  # and the others are ranked anew
        assert act(client, do="undo")["next"][0]["id"] == sample["id"]


def test_ranks_and_estimates_of_many_labels_come_from_another_process(client, studio, monkeypatch):
    wait_for(client, is_settled)
    here = studio.recogniser.snapshot().estimate()
    monkeypatch.setattr(jobs_module, "_MOST_HERE", 10)
    monkeypatch.setattr(type(studio.recogniser.snapshot()), "estimate", None)  # nobody works it out here
    before = studio.jobs.n_guessed
    act(client, do="skip", sample=next_sample(client)["id"])
    state = wait_for(client, lambda state: state["guessed"] > before and not studio.jobs.quick.is_busy("estimate"))
    assert state["problems"] == {}
    assert studio.recogniser.estimate.accuracy == here.accuracy
    assert len(client.post("/api/next", json={"n": 3, "fresh": True}).json()["next"]) == 3


def test_settings_are_chosen(client):
    assert client.post("/api/start/choose", json={}).status_code == 200
    state = wait_for(client, lambda state: state["chosen"] is not None)
    assert state["chosen"]["accuracy"] > 0.85
    assert state["progress"]["choose"]["done"] == state["progress"]["choose"]["total"] > 5
    act(client, do="settings", settings=state["chosen"]["settings"])
    wait_for(client, is_settled)


def test_a_restart_gives_the_same_state(studio, client, make_studio, tmp_path):
    for _ in range(5):
        act(client, do="label", sample=next_sample(client)["id"], label="3")
    act(client, do="skip", sample=next_sample(client)["id"])
    act(client, do="exclude", sample=next_sample(client)["id"])
    act(client, do="settings", settings={"alpha": 0.2})
    act(client, do="undo")
    before = (studio.state.labels, studio.state.marks, key(studio.state.classifier))
    studio.close()
    again = make_studio()
    assert (again.state.labels, again.state.marks, key(again.state.classifier)) == before
    assert again.state.history.can_undo("a new tab")


def test_requests_that_come_together_are_answered_like_single_ones(studio, client):
    wait_for(client, is_settled)
    classifier = studio.state.classifier
    queries = [Query(studio.source.data.vectors[i], int(i), classifier) for i in studio.jobs.held_out[:25]]
    together = [studio.answer(query) for query in queries]
    labels = [future.result()["label"] for future in together]
    assert labels == [studio.answer(query).result()["label"] for query in queries]


# --- sources


def test_a_table_with_gaps(blobs, make_studio, make_client):
    path, truth = blobs
    source = open_source(path)
    assert sum(label is not None for label in source.labels) == 30
    assert source.data.columns == ("a", "b", "c", "d")
    client = make_client(make_studio(source))
    answer = client.post("/api/answer", json={"sample": client.get("/api/number/2").json()["id"]}).json()
    assert answer["label"] == truth[1]
    edited = client.post("/api/answer", json={"row": [0, 0, 8, 0]}).json()
    assert edited["label"] == "cat"
    assert client.post("/api/answer", json={"row": [1, "x", 0, 0]}).status_code == 400
    assert client.get(f"/api/row/{next_sample(client)['id']}").json()["row"][0][0] == "a"


def test_columns_with_units_are_scaled_and_the_model_scales_them_too(tmp_path, make_studio, make_client):
    rng = np.random.default_rng(1)
    truth = np.repeat(["p", "q"], 40)
    X = np.column_stack(
        [5000 + rng.normal(size=80) * 1000, rng.normal(size=80) + 3 * (truth == "q"), 40 + rng.normal(size=80)]
    )
    rows = [",".join(f"{value:.4f}" for value in row) + f",{label}" for row, label in zip(X, truth, strict=True)]
    lines = ["big,small,middle,label", *rows]
    path = tmp_path / "units.csv"
    path.write_text("\n".join(lines) + "\n")
    source = open_source(path)
    assert source.plan.standardize
    studio = make_studio(source)
    client = make_client(studio)
    saved = tmp_path / "units.npz"
    saved.write_bytes(client.get("/api/export/model.npz").content)
    answers = [client.post("/api/answer", json={"row": row.tolist()}).json()["label"] for row in X[:10] + 0.01]
    assert Model.load(saved).build().predict(X[:10] + 0.01).tolist() == answers
    own = [client.post("/api/answer", json={"sample": id}).json()["label"] for id in studio.state.ids[:20]]
    assert np.mean(np.array(own) == truth[:20]) > 0.8


def test_a_folder_of_images(tmp_path, make_studio, make_client):
    digits = load_digits()
    for i in range(60):
        label = str(digits.target[i]) if i < 40 else "unlabelled"
        (tmp_path / "data" / label).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray((digits.images[i] * 15).astype(np.uint8)).resize((64, 64))
        image.save(tmp_path / "data" / label / f"{i}.png")
    (tmp_path / "data" / "loose.png").write_bytes((tmp_path / "data" / "unlabelled" / "41.png").read_bytes())
    (tmp_path / "data" / "broken.png").write_bytes(b"not an image")
    source = open_source(tmp_path / "data")
    assert sum(label is None for label in source.labels) == 21
    assert source.data.features == "hog"
    assert any("hog" in note for note in source.notes)
    assert any("broken.png (it is damaged" in note for note in source.notes)
    studio = make_studio(source)
    client = make_client(studio)
    picture = client.get(f"/api/picture/{studio.state.ids[0]}")
    assert picture.headers["content-type"] == "image/png"
    waiting = client.post("/api/next", json={"n": 21}).json()["next"]
    assert {one["name"] for one in waiting} == {
        name for name in source.names if "/" not in name or "unlabelled" in name
    }
    content = (tmp_path / "data" / "0" / "0.png").read_bytes()
    assert client.post("/api/image", content=content, headers={"content-type": "image/png"}).json()["label"] == "0"


def test_a_pool_without_any_label(tmp_path, make_studio, make_client):
    np.savez(tmp_path / "pool.npz", features=np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32))
    client = make_client(make_studio(open_source(tmp_path / "pool.npz")))
    assert not client.get("/api/state").json()["ready"]
    assert client.post("/api/answer", json={"sample": client.get("/api/number/1").json()["id"]}).status_code == 400
    assert client.post("/api/start/audit", json={}).status_code == 400
    assert client.get("/api/export/model.npz").status_code == 400
    for label in ("a", "b", "a", "b"):
        act(client, do="label", sample=next_sample(client)["id"], label=label)
    assert client.post("/api/answer", json={"sample": client.get("/api/number/1").json()["id"]}).status_code == 200


def test_a_split_is_held_out(tmp_path, make_studio):
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "split.npz", features=X[:200], labels=y[:200], is_train=np.arange(200) < 100)
    source = open_source(tmp_path / "split.npz")
    assert source.is_held_out.sum() == 100
    assert sum(label is not None for label in source.labels) == 100


def test_extracted_features_with_the_images_that_they_were_made_of(tmp_path, make_studio, make_client):
    from ancr.datasets import load_folder
    from ancr.datasets.extraction_file import extract_to_file

    for i in range(20):
        folder = tmp_path / "data" / str(load_digits().target[i] % 2)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(load_digits().images[i].astype(np.uint8) * 15).save(folder / f"{i}.png")
    with pytest.raises(ValueError, match="ancr extract FOLDER --features eigenfaces"):
        open_source(tmp_path / "data", features="eigenfaces")
    extract_to_file(load_folder(tmp_path / "data"), tmp_path / "faces.npz", features="eigenfaces")
    source = open_source(tmp_path / "faces.npz", images=tmp_path / "data")
    client = make_client(make_studio(source))
    assert client.get("/api/state").json()["pictures"]
    assert client.get(f"/api/picture/{client.get('/api/number/4').json()['id']}").status_code == 200
    with pytest.raises(ValueError, match="holds none of the images"):
        open_source(tmp_path / "faces.npz", images=tmp_path)


@pytest.mark.parametrize("name", ["nothing.csv", "nowhere"])
def test_data_that_is_not_there(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_source(tmp_path / name)


def test_more_samples_than_a_matrix_allows(studio, client, monkeypatch):
    """Then every answer is over few samples, and estimates are on a part."""
    monkeypatch.setattr(recogniser_module, "MOST_LEFT_OUT", 50)
    studio.recogniser.fitted = None
    estimate = studio.recogniser.snapshot().estimate()
    assert estimate.n == 50
    assert client.post("/api/answer", json={"sample": studio.state.ids[studio.jobs.held_out[0]]}).status_code == 200


def test_columns_of_many_labels_are_learned_from_a_part(blobs, make_studio, make_client, monkeypatch):
    """An answer names the columns in which a query is unlike, without going through thousands of labelled rows."""
    sizes, fit = [], recogniser_module.TableColumns.fit

    def counted(self, X, y=None):
        sizes.append(len(X))
        return fit(self, X, y)

    path, _ = blobs
    studio = make_studio(open_source(path))
    client = make_client(studio)
    query = {"sample": studio.state.ids[1]}  # waits for a label
    everything = client.post("/api/answer", json=query).json()
    assert everything["unlike"]
    monkeypatch.setattr(recogniser_module.TableColumns, "fit", counted)
    monkeypatch.setattr(recogniser_module, "_MOST_FOR_COLUMNS", 10)
    studio.recogniser._columns = None
    some = client.post("/api/answer", json=query).json()
    assert 10 <= max(sizes) <= 10 + len(some["witnesses"]) < 30
    assert {one["column"] for one in some["unlike"]} <= {"a", "b", "c", "d"}
    assert some["unlike"][0]["witnesses"] == everything["unlike"][0]["witnesses"]
