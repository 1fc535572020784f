"""Wrong labels are found, counted and explained; duplicates, strangers and leaks are listed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

import ancr
from ancr.labels.suspicion import Errors, random_labels, suspicion

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


def test_precision_is_kept_and_probabilities_are_calibrated(audited):
    audit, _, wrong, _ = audited
    for precision in (0.8, 0.95):
        called = audit.is_error(precision)
        assert called.sum() > 0.7 * wrong.sum()
        assert wrong[called].mean() > precision - 0.08
    assert abs((1 - audit.probability).sum() - wrong.sum()) < 0.25 * wrong.sum()
    assert ((audit.probability >= 0) & (audit.probability <= 1)).all()
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

    for clf in (RELAXED, ancr.ANCRClassifier(kernel="rbf", alpha=0.1), ancr.CRCClassifier(), ancr.NCRClassifier()):
        judgement = leave_each_out(clone(clf).fit(X, y))
        params, refits, opinions = clf.get_params(), [], []
        space = {name: params[name] for name in ("kernel", "rule", "gamma")}
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
    from ancr.labels.audit import audit_fitted

    X, y = digits
    given, wrong = flipped(y, 0.4)
    fitted = clone(RELAXED).fit(X, given)
    once, twice = (average_precision_score(wrong, audit_fitted(fitted, rounds).score) for rounds in (1, 2))
    assert twice > once


def test_the_default_and_a_fitted_search_audit(digits):
    X, y = digits[0][:200], digits[1][:200]
    given, wrong = flipped(y, 0.1)
    grid = {"kernels": ["linear"], "powers": [1.0], "alphas": [0.1], "relaxations": [1.0, None]}
    fitted = ancr.ANCRClassifierCV(**grid).fit(X, given)
    audit = fitted.audit()
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
    assert len(audit.plot(digits[0].reshape(-1, 8, 8), top=3).axes) == 3 * 6
    assert audit.plot().axes
    with pytest.raises(ValueError, match="images must hold one image per sample"):
        audit.plot(digits[0][:3])


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
    assert audit.score[5] == -np.inf
    assert audit.suggested[5] == 99
    assert not audit.is_error(0.01)[5]


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


def test_suspicion_is_the_log_odds():
    decisions = np.random.default_rng(0).normal(size=(50, 4))
    labels = np.random.default_rng(1).integers(0, 4, 50)
    shares = np.exp(decisions / 0.3)
    own = shares[np.arange(50), labels]
    expected = 0.3 * np.log((shares.sum(axis=1) - own) / 3 / own)
    np.testing.assert_allclose(suspicion(decisions, labels, 0.3), expected)
    assert (random_labels(labels, 4) != labels).all()


def test_no_errors_are_counted_where_there_are_none():
    labels = np.random.default_rng(0).integers(0, 5, 400)
    count = Errors(np.eye(5)[labels] + 0.05 * np.random.default_rng(1).normal(size=(400, 5)), labels).count
    assert count.estimate == 0
    assert count.high < 5
