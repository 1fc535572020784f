"""Wrong labels are found, counted and explained; duplicates, strangers and leaks are listed."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import average_precision_score

import ancr
from ancr import Space
from ancr.labels.audit import audit_fitted
from ancr.labels.audit_page import audit_page
from ancr.labels.errors import SYSTEMATIC, Errors, repetition
from ancr.labels.suspicion import all_others, best_other, by_patterns, evidence_against, odds_against, random_labels

RELAXED = ancr.ANCRClassifier(alpha=0.1, relaxation=1.0)


def flipped(y, share, seed=0):
    random = np.random.default_rng(seed)
    rows = random.permutation(len(y))[: round(share * len(y))]
    wrong = np.zeros(len(y), bool)
    wrong[rows] = True
    return np.where(wrong, (y + random.integers(1, 10, len(y))) % 10, y), wrong


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    mixed = np.random.default_rng(0).permutation(len(y))[:700]
    return X[mixed], y[mixed]


@pytest.fixture(scope="module")
def audited(digits):
    X, y = digits
    given, wrong = flipped(y, 0.1)
    return ancr.audit_labels(X, given, estimator=RELAXED), given, wrong, y


def test_wrong_labels_come_first(audited):
    audit, given, wrong, truth = audited
    assert average_precision_score(wrong, audit.score) > 0.98
    assert wrong[audit.ranking[: wrong.sum()]].mean() > 0.93
    np.testing.assert_array_equal(audit.labels, given)
    assert (audit.suggested == truth).mean() > 0.96
    assert (np.diff(audit.score[audit.ranking]) <= 0).all()


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_they_are_counted(digits, share):
    X, y = digits
    given, wrong = flipped(y, share, seed=1)
    count = ancr.audit_labels(X, given, estimator=RELAXED).n_errors
    assert abs(count.estimate - wrong.sum()) <= 0.25 * wrong.sum()
    assert count.low <= count.estimate <= count.high


@pytest.mark.parametrize(
    ("apart", "share", "least"), [(1.5, 0.0, 0.0), (2.5, 0.0, 0.0), (2.5, 0.1, 0.0), (3.5, 0.1, 8.0)]
)
def test_the_interval_knows_of_classes_that_overlap(apart, share, least):
    """Three normal classes: at 1.5 one clean sample in five looks like another class, and was counted as wrong."""
    inside, lows = 0, []
    for seed in range(6):
        random = np.random.default_rng(seed)
        y, X = np.arange(300) % 3, random.normal(size=(300, 4))
        X[np.arange(300), y] += apart
        wrong = random.random(300) < share
        given = np.where(wrong, (y + random.integers(1, 3, 300)) % 3, y)
        count = ancr.audit_labels(X, given, estimator=ancr.ANCRClassifier(space="rbf", alpha=0.1)).n_errors
        inside += count.low <= wrong.sum() <= count.high
        lows.append(count.low)
        assert bool(count.caution) == (count.low < 0.5 <= count.estimate)
    assert inside >= 5
    assert np.mean(lows) >= least if share else np.mean(lows) < 1.0


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_settings_that_do_not_suit_the_data_are_not_taken_for_wrong_labels(alpha):
    """Classes overlap, and the classifier is as sure of its errors as of what is right: 34 to 69 was said."""
    for seed in range(4):
        random, y = np.random.default_rng(seed), np.arange(200) % 2
        X = random.normal(size=(200, 2)) + 0.9 * y[:, None]
        count = ancr.audit_labels(X, y, estimator=ancr.ANCRClassifier(alpha=alpha)).n_errors
        assert count.low < 0.5
        assert count.caution


def test_precision_is_kept_and_probabilities_are_calibrated(audited):
    audit, _, wrong, _ = audited
    for precision in (0.8, 0.95):
        called = audit.is_error(precision)
        assert called.sum() > 0.7 * wrong.sum()
        assert wrong[called].mean() > precision - 0.08
    assert abs((1 - audit.probability).sum() - wrong.sum()) < 0.25 * wrong.sum()
    assert ((audit.probability > 0) & (audit.probability < 1)).all()
    with pytest.raises(ValueError, match="precision must be above 0"):
        audit.is_error(0.0)


def test_witnesses_are_other_samples_with_the_labels_they_speak_for(audited):
    audit, given, _, _ = audited
    for sample in range(0, 700, 37):
        for index, weight in audit.speaks_for.of(sample):
            assert index != sample
            assert given[index] == given[sample]
            assert weight > 0
        against = audit.speaks_against.of(sample)
        assert all(given[index] != given[sample] for index, _ in against)
        assert [weight for _, weight in against] == sorted((weight for _, weight in against), reverse=True)


def test_scores_are_those_of_refits(digits):
    X, y = digits[0][:60], digits[1][:60]
    from ancr.labels.held_out import leave_each_out

    for clf in (RELAXED, ancr.ANCRClassifier(space="rbf", alpha=0.1), ancr.CRCClassifier(), ancr.NCRClassifier()):
        judgement = leave_each_out(clone(clf).fit(X, y))
        params, refits, opinions = clf.get_params(), [], []
        space = {name: params[name] for name in ("space", "rule")}
        for sample in range(0, 60, 5):
            others = np.delete(np.arange(60), sample)
            refits.append(clone(clf).fit(X[others], y[others]).decision_function(X[[sample]])[0])
            second = ancr.RepresentationClassifier(alpha=1.0, **space).fit(X[others], y[others])
            opinions.append(second.decision_function(X[[sample]])[0])
        # Decision values are a sum of the two opinions, with the same two weights for all samples.
        parts = np.column_stack([np.ravel(refits), np.ravel(opinions)])
        found = judgement.decisions[::5].ravel()
        weights, *_ = np.linalg.lstsq(parts, found, rcond=None)
        assert (weights > -1e-3).all()
        np.testing.assert_allclose(parts @ weights, found, atol=2e-3 * np.abs(found).max())


def test_a_second_round_helps_where_many_labels_are_wrong(digits):

    X, y = digits
    given, wrong = flipped(y, 0.4)
    fitted = clone(RELAXED).fit(X, given)
    once, twice = (average_precision_score(wrong, audit_fitted(fitted, given, rounds).score) for rounds in (1, 2))
    assert twice > once


def test_the_default_and_a_fitted_search_audit(digits):
    X, y = digits[0][:200], digits[1][:200]
    given, wrong = flipped(y, 0.1)
    grid = {"spaces": ["linear"], "alphas": [0.1], "relaxations": [1.0, None]}
    fitted = ancr.ANCRClassifierCV(**grid).fit(X, given)
    audit = audit_fitted(fitted, given)
    again = ancr.audit_labels(X, given, estimator=ancr.ANCRClassifierCV(**grid))
    np.testing.assert_array_equal(audit.ranking, again.ranking)
    assert average_precision_score(wrong, audit.score) > 0.9


def test_groups_do_not_judge_each_other(digits):
    X, y = digits[0][:150], digits[1][:150]
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)  # every sample twice, with the same label
    groups = np.repeat(np.arange(150), 2)
    y[:2] = (y[:2] + 1) % 10
    alone = ancr.audit_labels(X, y, estimator=RELAXED)
    together = ancr.audit_labels(X, y, estimator=RELAXED, groups=groups)
    assert set(together.ranking[:4]) >= {0, 1}
    assert 1 in [i for i, _ in alone.speaks_for.of(0)]  # its copy vouches for it
    assert all(groups[i] != groups[0] for i, _ in together.speaks_for.of(0))


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_copy_is_found(digits, dtype, offset, normalize):
    X, y = digits
    X = (X[:60] + offset).astype(dtype)
    clf = ancr.ANCRClassifier(alpha=0.1, space=Space(normalize=normalize))
    audit = ancr.audit_labels(np.vstack([X, X]), np.tile(y[:60], 2), estimator=clf)
    assert {pair[:2] for pair in audit.duplicates} == {(i, i + 60) for i in range(60)}
    single = ancr.audit_labels(X, y[:60], estimator=clf)
    assert single.duplicates == []
    assert {pair[:2] for pair in single.leaks(X)} == {(i, i) for i in range(60)}


def test_inner_products_alone(digits):
    X, y = digits
    X, y = X[:80] / np.linalg.norm(X[:80], axis=1, keepdims=True), y[:80]
    X[41] = X[40]
    clf = ancr.ANCRClassifier(alpha=0.1, space="precomputed")
    audit = ancr.audit_labels(X @ X.T, y, estimator=clf)
    plain = ancr.audit_labels(X, y, estimator=ancr.ANCRClassifier(alpha=0.1))
    assert [pair[:2] for pair in audit.duplicates] == [pair[:2] for pair in plain.duplicates] == [(40, 41)]
    with pytest.raises(ValueError, match="leaks need k"):
        audit.leaks(X @ X.T)
    with pytest.raises(ValueError, match="groups: space='precomputed'"):
        ancr.audit_labels(X @ X.T, y, estimator=clf, groups=np.arange(80) % 7)


def test_labels_of_samples_without_weight_are_those_given(digits):
    X, y = digits
    X, y = X[:90], np.array([f"digit {label % 3}" for label in y[:90]])
    weights = np.where(np.arange(90) < 3, 0.0, 1.0)
    one = {"spaces": ["linear"], "constraints": ["simplex"], "alphas": [0.1], "relaxations": [None]}
    audit = audit_fitted(ancr.RepresentationClassifierCV(**one).fit(X, y, sample_weight=weights), y)
    np.testing.assert_array_equal(audit.labels, y)
    np.testing.assert_array_equal(audit.suggested[:3], y[:3])
    assert np.isnan(audit.score[:3]).all()
    assert np.isnan(audit.probability[:3]).all()
    assert set(audit.ranking[-3:]) == {0, 1, 2}
    assert audit.confusion.sum() == 90
    without = ancr.ANCRClassifier(alpha=0.1, class_weight={"digit 0": 0.0, "digit 1": 1.0, "digit 2": 1.0})
    audit = ancr.audit_labels(X, y, estimator=without)
    np.testing.assert_array_equal(audit.labels, y)
    assert (audit.suggested[y == "digit 0"] == "digit 0").all()


def test_weights_of_classes_go_by_their_labels_in_groups(digits):
    X, y = digits
    X, y, groups = X[:120], y[:120] % 3 + 1, np.arange(120) % 6
    clf = ancr.ANCRClassifier(alpha=0.1, class_weight={1: 1.0, 2: 50.0, 3: 1.0})
    numbers = ancr.audit_labels(X, y, estimator=clf, groups=groups)
    in_words = ancr.ANCRClassifier(alpha=0.1, class_weight={"a": 1.0, "b": 50.0, "c": 1.0})
    words = ancr.audit_labels(X, np.array(list("abc"))[y - 1], estimator=in_words, groups=groups)
    np.testing.assert_array_equal(numbers.score, words.score)
    plain = ancr.audit_labels(X, y, estimator=ancr.ANCRClassifier(alpha=0.1), groups=groups)
    assert (numbers.suggested == 2).sum() > (plain.suggested == 2).sum()


def test_duplicates_outliers_and_leaks(digits):
    X, y = digits[0][:200].copy(), digits[1][:200]
    X[50] = X[3] * 1.001 + 1e-6
    X[120] = np.random.default_rng(0).permutation(X[120])
    audit = ancr.audit_labels(X, y, estimator=ancr.ANCRClassifier(alpha=0.01))
    assert audit.duplicates[0][:2] == (3, 50)
    assert 120 in audit.outliers
    test = digits[0][200:260].copy()
    test[7] = X[90]
    assert [pair[:2] for pair in audit.leaks(test)][:1] == [(90, 7)]
    with pytest.raises(ValueError, match="X must have the 64 features"):
        audit.leaks(np.ones((2, 3)))


def test_frame_texts_and_plots(audited, digits):
    audit = audited[0]
    frame = audit.to_frame()
    assert frame.index.tolist() == audit.ranking.tolist()
    assert {"label", "suggested", "score", "probability", "misfit", "speaks_against", "speaks_for"} <= set(frame)
    assert "700 labels" in repr(audit)
    assert str(audit).count("\n") == 10
    assert audit.confusion.sum() == 700
    assert audit.plot(images=digits[0].reshape(-1, 8, 8), top=3).axes_.shape == (3, 6)
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    drawn = audit.plot()
    assert drawn.figure_.number in plt.get_fignums()  # a notebook shows the figures of pyplot
    np.testing.assert_array_equal(drawn.axes_.lines[0].get_ydata(), audit.probability[audit.ranking])
    axes = plt.figure().add_subplot()
    assert audit.plot(ax=axes).axes_ is axes
    plt.close("all")
    with pytest.raises(ValueError, match="images must hold one image per sample"):
        audit.plot(images=digits[0][:3])


def test_hostile_labels_are_text_in_html(digits):
    X, y = digits[0][:80], digits[1][:80]
    names = np.where(y < 5, "<script>alert(1)</script>", "b & c")
    page = ancr.audit_labels(X, names, estimator=RELAXED)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_class_of_one_sample_is_not_judged(digits):
    X, y = digits[0][:60], digits[1][:60].copy()
    y[5] = 99
    audit = ancr.audit_labels(X, y, estimator=RELAXED)
    np.testing.assert_array_equal(audit.cannot_be_judged, [5])
    assert np.isnan(audit.score[5])
    assert np.isnan(audit.probability[5])
    assert audit.ranking[-1] == 5
    assert "1 cannot be judged" in str(audit)
    page = audit_page(audit, [f"row {i}" for i in range(60)], top=60)
    assert "1 cannot be judged" in " ".join(page.split())
    assert "nan" not in page.split("<tbody>")[1].split("</tbody>")[0]
    assert audit.suggested[5] == 99
    assert not audit.is_error(0.01)[5]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("estimator", [RELAXED, ancr.CRCClassifier(), ancr.NRCClassifier()])
def test_no_score_is_infinite_in_many_classes_of_few_samples(estimator, grouped):
    """As of spoken letters: 26 classes in many columns, of which one is alone in its class and cannot be judged."""
    rng = np.random.default_rng(0)
    y = np.append(np.repeat(np.arange(25), 6), 25)
    X = np.clip(0.4 * rng.normal(size=(26, 617))[y] + 0.3 * rng.normal(size=(len(y), 617)), -1.0, 1.0)
    wrong = np.arange(0, 150, 10)
    given = y.copy()
    given[wrong] = (given[wrong] + 1) % 25
    audit = ancr.audit_labels(X, given, estimator=estimator, groups=np.arange(len(y)) % 5 if grouped else None)
    np.testing.assert_array_equal(audit.cannot_be_judged, [150])
    np.testing.assert_array_equal(np.flatnonzero(~np.isfinite(audit.score)), [150])
    np.testing.assert_array_equal(np.flatnonzero(~np.isfinite(audit.probability)), [150])
    assert set(audit.ranking[:15]) == set(wrong)
    assert audit.ranking[-1] == 150


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"estimator": "ancr"}, "estimator must be a classifier of ancr"),
        ({"estimator": ancr.ANCRClassifier(solver="admm")}, "estimator: samples cannot be left out"),
        ({"estimator": ancr.CROCClassifier()}, "learns"),
        ({"estimator": RELAXED, "groups": np.zeros(60)}, "groups must hold at least two"),
        ({"estimator": RELAXED, "groups": [0, 1]}, "groups: "),
    ],
)
def test_bad_arguments_are_named(digits, arguments, match):
    with pytest.raises(ValueError, match=match):
        ancr.audit_labels(digits[0][:60], digits[1][:60], **arguments)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda audit: audit.is_error("x"), "precision must be above 0 and at most 1, got 'x'"),
        (lambda audit: audit.is_error(None), "precision must be above 0 and at most 1, got None"),
        (lambda audit: audit.leaks(np.ones((2, 64)), near="a"), "near must be a number of at least 0, got 'a'"),
        (lambda audit: audit.leaks(np.ones((2, 64)), near=-1), "near must be a number of at least 0, got -1"),
    ],
)
def test_bad_arguments_of_an_audit_are_named(digits, call, match):
    audit = ancr.audit_labels(digits[0][:60], digits[1][:60], estimator=RELAXED)
    with pytest.raises(ValueError, match=match):
        call(audit)


def test_two_groups_are_two_folds(digits):
    X, y = digits[0][:60], digits[1][:60] % 2
    audit = ancr.audit_labels(X, y, groups=np.arange(60) % 2)
    assert all(i % 2 for i, _ in audit.speaks_for.of(0))
    assert np.isfinite(audit.score).all()


@pytest.mark.parametrize("number", [10, 4])
def test_groups_of_whole_classes_are_named(digits, number):
    X, y = digits[0][:100], digits[1][:100]
    with pytest.raises(ValueError, match="groups: every class lies in one group"):
        ancr.audit_labels(X, y, groups=y % number)


def test_a_fold_that_holds_all_other_classes_is_named(digits):
    X, y = digits[0][:60], (digits[1][:60] > 0).astype(int)
    with pytest.raises(ValueError, match="groups: without one of the folds a single class is left"):
        ancr.audit_labels(X, y, estimator=RELAXED, groups=np.arange(60) < 50 + 10 * y)


def test_odds_are_those_of_the_definition():
    decisions = np.random.default_rng(0).normal(size=(50, 4))
    decisions[0] = [900.0, 0.0, 1.0, 2.0]  # a class that is sure: nothing may cancel
    shares = np.exp(decisions[1:] / 0.3)
    expected = 0.3 * np.log((shares.sum(axis=1, keepdims=True) - shares) / 3 / shares)
    found = odds_against(decisions, 0.3)
    np.testing.assert_allclose(found[1:], expected, atol=1e-9)
    rest = 0.3 * np.log(np.exp(np.array([0.0, 1.0, 2.0]) / 0.3).sum())
    np.testing.assert_allclose(all_others(decisions, 0.3)[0], [rest, 900.0, 900.0, 900.0])
    without = np.array([np.delete(decisions, k, axis=1).max(axis=1) for k in range(4)]).T
    np.testing.assert_array_equal(best_other(decisions), without)
    labels = np.random.default_rng(1).integers(0, 4, 50)
    assert (random_labels(labels, 4) != labels).all()


def test_no_errors_are_counted_where_there_are_none():
    labels = np.random.default_rng(0).integers(0, 5, 400)
    decisions = np.eye(5)[labels] + 0.05 * np.random.default_rng(1).normal(size=(400, 5))
    count = Errors(odds_against(decisions, 0.1), labels, decisions.argmax(axis=1)).count
    assert count.estimate == 0
    assert 5 < count.high < 6  # 3.7 of 400 may be above a level that none of 400 is, and seven in ten wrong labels are


def test_patterns_are_those_of_refits():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [8, 9, 10])
    decisions = random.normal(size=(27, 3)) + 2.0 * np.eye(3)[labels]
    found = by_patterns(decisions, labels)
    centres = np.array([decisions[labels == k].mean(axis=0) for k in range(3)])
    apart = decisions - centres[labels]
    covariance = apart.T @ apart / 27
    inverse = np.linalg.inv(0.4 * covariance + 0.6 * np.trace(covariance) / 3 * np.eye(3))
    for i in range(27):
        for k in range(3):
            others = (labels == k) & (np.arange(27) != i)  # the own class without the sample itself
            gap = decisions[i] - decisions[others].mean(axis=0)
            expected = -0.5 * gap @ inverse @ gap + np.log((labels == k).mean())
            np.testing.assert_allclose(found[i, k], expected)


def test_patterns_of_a_class_without_samples_come_last():
    labels = np.repeat([0, 2], 6)
    found = by_patterns(np.random.default_rng(0).normal(size=(12, 3)), labels)
    assert (found[:, 1] <= found.min()).all()


def noisy_decisions(n_classes=12, n=1200):
    """Classes in pairs that are often confused."""
    random = np.random.default_rng(0)
    truth = random.integers(0, n_classes, n)
    values = np.eye(n_classes)[truth] + 0.7 * np.eye(n_classes)[truth ^ 1]
    return values + 0.25 * random.normal(size=(n, n_classes)), truth, random


def test_evidence_finds_random_errors_among_confused_classes():
    decisions, truth, random = noisy_decisions()
    wrong = random.uniform(size=len(truth)) < 0.05
    given = np.where(wrong, (truth + random.integers(1, 12, len(truth))) % 12, truth)
    own = np.arange(len(truth)), given
    by_odds = average_precision_score(wrong, odds_against(decisions, 0.1)[own])
    by_evidence = average_precision_score(wrong, evidence_against([decisions], given)[own])
    assert by_evidence > by_odds + 0.005


def test_labels_that_are_not_trusted_do_not_teach_what_right_ones_look_like():
    decisions, truth, random = noisy_decisions(n=600)
    wrong = random.uniform(size=len(truth)) < 0.3
    given = np.where(wrong, (truth + random.integers(1, 12, len(truth))) % 12, truth)
    alike, trusted = (evidence_against([decisions], given, one) for one in (None, np.where(wrong, 1e-3, 1.0)))
    np.testing.assert_array_equal(evidence_against([decisions], given, np.full(600, 0.5)), alike)
    right = np.flatnonzero(~wrong)
    gaps = [v[wrong, given[wrong]].mean() - v[right, given[right]].mean() for v in (alike, trusted)]
    assert gaps[1] > 2.0 * gaps[0]


@pytest.mark.parametrize("systematic", [False, True])
def test_errors_that_repeat_each_other_are_told_from_scattered_ones(systematic):
    decisions, truth, random = noisy_decisions()
    wrong = random.uniform(size=len(truth)) < 0.1
    steps = 2 if systematic else random.integers(1, 12, len(truth))
    given = np.where(wrong, (truth + steps) % 12, truth)
    found = repetition(wrong.astype(float), decisions.argmax(axis=1), given, 12)
    assert (found > SYSTEMATIC) == systematic
    assert repetition(np.zeros(4), np.arange(4), np.arange(4), 4) == 1.0
    assert repetition(np.ones(4), np.zeros(4, int), np.ones(4, int), 2) == 1.0


@pytest.mark.parametrize("grouped", [False, True])
def test_a_warning_about_a_column_of_a_frame_names_it(grouped):
    frame, y = load_wine(return_X_y=True, as_frame=True)
    groups = np.arange(len(y)) % 20 if grouped else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        audit = ancr.audit_labels(frame, y, estimator=ancr.CRCClassifier(), groups=groups)
    assert len(caught) == 1
    assert "column 'proline' dominates" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = ancr.audit_labels(frame.to_numpy(), y, estimator=ancr.CRCClassifier(), groups=groups)
    np.testing.assert_array_equal(audit.score, alone.score)
