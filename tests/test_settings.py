"""Settings: an estimator becomes plain data, Python code or options of the command line, and itself again."""

import json
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.utils._param_validation import Interval, StrOptions

import ancr
from ancr import ANCRClassifier, CappedSimplex, RepresentationClassifier, RepresentationClassifierCV, Space
from ancr.axes.quadratics import ridge
from ancr.axes.rules import RULES
from ancr.axes.sets import SETS
from ancr.classifiers import controls as pages
from ancr.classifiers import settings
from ancr.classifiers.settings import SettingsError, from_data, to_data
from ancr.dictionary.mercer import RBF
from ancr.solvers import ADMM
from tests.recipes.between_crc_and_nsc import between_crc_and_nsc
from tests.recipes.box import Box
from tests.recipes.energy import Energy
from tests.recipes.histogram_intersection import histogram_intersection
from tests.recipes.projected_gradient import ProjectedGradient

METHODS = settings.methods()
PRESETS = {name: kind for name, kind in METHODS.items() if not name.endswith("-CV")}
OWN = {
    "set": RepresentationClassifier(constraint=Box(most=0.3), solver=ADMM(max_iter=50)),
    "set of the package": RepresentationClassifier(constraint=CappedSimplex(cap=0.3)),
    "set by name": RepresentationClassifier(constraint="capped_simplex"),
    "rule": ANCRClassifier(rule=Energy()),
    "quadratic": RepresentationClassifier(quadratic=between_crc_and_nsc, beta=0.2),
    "solver": ANCRClassifier(solver=ProjectedGradient(max_iter=77)),
    "kernel": ANCRClassifier(space=Space(histogram_intersection, power=0.5)),
    "kernel alone": ANCRClassifier(space=histogram_intersection),
    "class of a kernel": ANCRClassifier(space=Space(RBF(0.3))),
    "objects of the package": RepresentationClassifier(
        quadratic=ridge, constraint=SETS["affine"], rule=RULES["pro"], solver=ADMM(rho=0.1, tol=1e-3)
    ),
    "classes": RepresentationClassifier(class_weight={0: 2.0, 1: 0.5}, relaxation=float("inf"), constraint="simplex"),
    "search": RepresentationClassifierCV(
        alphas=np.geomspace(1e-3, 1.0, 4), constraints=["free", Box(0.5)], rules=(Energy(), "res"),
        relaxations=(None, 0.3), cv=StratifiedKFold(3, shuffle=True, random_state=1), spaces=[Space("rbf", gamma=0.2)],
    ),
}  # fmt: skip


def one_value(rng, allowed, default):
    """A valid value of a parameter."""
    choices = [default, *(None for one in allowed if one is None)]
    for one in allowed:
        if isinstance(one, StrOptions):
            choices += sorted(one.options)
        elif isinstance(one, Interval):
            low, high = (one.left or 0) + 1, one.right if one.right is not None else 9
            choices.append(
                int(rng.integers(low, high + 1)) if "Integral" in str(one.type) else float(rng.uniform(0, 1))
            )
        elif one == "boolean":
            choices.append(bool(rng.integers(2)))
    return choices[rng.integers(len(choices))]


def drawn(rng, kind):
    """An estimator with random valid parameters."""
    params = {
        name: one_value(rng, kind._parameter_constraints[name], parameter.default)
        for name, parameter in signature(kind).parameters.items()
        if name not in ("cv", "verbose")
    }
    estimator = clone(kind()).set_params(**{name: one for name, one in params.items() if name in kind().get_params()})
    if "space" in params:
        gamma, power, lift = rng.uniform(0.1, 2, size=3).tolist()
        estimator.set_params(space=Space("rbf", gamma=gamma, power=power, lift=lift, random_state=int(rng.integers(9))))
    return estimator


def same(one, other):
    return type(one) is type(other) and to_data(one) == to_data(other)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_data_gives_the_same_estimator_again(method):
    rng = np.random.default_rng(len(method))
    for estimator in (METHODS[method](), *(drawn(rng, METHODS[method]) for _ in range(20))):
        text = json.dumps(to_data(estimator), allow_nan=False)
        again = from_data(json.loads(text))
        assert type(again) is METHODS[method]
        assert same(again, estimator)
        assert repr(again.get_params(deep=False)) == repr(estimator.get_params(deep=False))
        assert from_data(to_data(again)).__class__ is METHODS[method]


@pytest.mark.parametrize("what", sorted(OWN))
def test_objects_of_ones_own_are_kept_by_name(what):
    estimator, text = OWN[what], json.dumps(to_data(OWN[what]))
    again = from_data(json.loads(text), allow=["tests", "sklearn"])
    assert same(again, estimator)
    for name, value in estimator.get_params(deep=False).items():
        assert type(getattr(again, name)) is type(value)


@pytest.mark.parametrize("what", ["set", "rule", "quadratic", "solver", "kernel", "search"])
def test_nothing_else_is_imported_unless_it_is_allowed(what):
    with pytest.raises(SettingsError, match=r"tests\.recipes\..* is not part of ancr; load it with allow=\['tests'\]"):
        from_data(to_data(OWN[what]), allow=["sklearn", "test"])


def make_rule():
    class Hidden(Energy):
        pass

    return Hidden()


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (ANCRClassifier(space=Space(lambda a, b: a @ b.T)), "space__kernel"),
        (RepresentationClassifier(quadratic=lambda alpha, beta, n: None), "quadratic"),
        (ANCRClassifier(rule=make_rule()), "rule"),
        (ANCRClassifier(space=Space("rbf", random_state=np.random.RandomState(0))), "space__random_state"),
        (ANCRClassifier(space=RBF(1.0).prepare), "space"),
    ],
    ids=["lambda", "quadratic", "local class", "generator", "bound method"],
)
def test_what_has_no_name_is_refused_in_one_line_that_names_the_parameter(estimator, name):
    for write in (to_data, settings.to_python, settings.to_options):
        with pytest.raises(SettingsError, match=rf"^{name}=.* cannot be saved") as error:
            write(estimator)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"class": 3}, {"class": "os:system"}, {"class": "ancr:compare"}, {"class": "ancr.nowhere:X"},
        {"class": "ancr.samples.column_plan:StandardScaler"}, {"class": "ancr:ANCRClassifier", "params": {"speed": 1}},
        {"class": "ancr:ANCRClassifier", "params": 3}, {"class": "ancr:ANCRClassifier.fit"}, {"class": "ancr"},
        {"class": "ancr:ANCRClassifier", "params": {"space": {"name": "ancr._core.files:write_text"}}},
        {"class": "ancr:ANCRClassifier", "params": {"space": {"name": "builtins:eval"}}},
        {"class": "ancr:ANCRClassifier", "params": {"alpha": {"float": "x"}}},
        {"class": "ancr:ANCRClassifier", "params": {"alpha": {"unknown": 1}}},
        {"class": "ancr:ANCRClassifier", "params": {"alpha": {"array": [1], "dtype": "object of mine"}}},
    ],
    ids=str,
)  # fmt: skip
def test_data_that_makes_no_estimator_is_refused_in_one_line(data):
    with pytest.raises(SettingsError) as error:
        from_data(data)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_python_code_and_options_give_the_same_estimator(method):
    rng = np.random.default_rng(len(method))
    for estimator in (METHODS[method](), *(drawn(rng, METHODS[method]) for _ in range(10))):
        imports, code = settings.to_python(estimator).split("\n\n")
        scope = {}
        exec(imports, scope)
        assert same(eval(code, scope), estimator)
        name, *texts = settings.to_options(estimator)[1::2]
        again = settings.make(name, settings.parse_settings(texts))
        assert settings.to_python(again) == settings.to_python(estimator)


@pytest.mark.parametrize("what", sorted(OWN))
def test_objects_of_ones_own_as_python_code(what):
    imports, code = settings.to_python(OWN[what]).split("\n\n")
    scope = {}
    exec(imports, scope)
    assert same(eval(code, scope), OWN[what])


@pytest.mark.parametrize("what", ["set", "rule", "quadratic", "solver", "kernel"])
def test_objects_of_ones_own_have_no_options(what):
    with pytest.raises(SettingsError, match="cannot be written on a command line"):
        settings.to_options(OWN[what])


def test_a_fitted_search_is_written_as_what_it_chose_and_as_itself():
    X, y = load_iris(return_X_y=True)
    search = ancr.ANCRClassifierCV(alphas=[0.1, 1.0], relaxations=[0.3, None]).fit(X, y)
    assert same(from_data(to_data(search)), clone(search))
    best = from_data(json.loads(json.dumps(to_data(settings.chosen(search))))).fit(X, y)
    np.testing.assert_array_equal(best.predict(X), search.predict(X))
    np.testing.assert_allclose(best.predict_proba(X), search.predict_proba(X), rtol=0, atol=1e-12)


def test_titles_are_those_of_the_paper():
    assert set(METHODS) >= {"ANCR", "NCR", "ACR", "CRC", "NRC", "SRC", "ProCRC", "CROC", "SA-CRC", "CCRC", "NSC"}
    assert METHODS["ANCR-CV"] is ancr.ANCRClassifierCV
    with pytest.raises(SettingsError, match="method 'Forest' is unknown; choose from ACR, ANCR, ANCR-CV"):
        settings.make("Forest", {})
    with pytest.raises(SettingsError, match="CRC has no parameter 'beta'; it has alpha, "):
        settings.make("CRC", {"beta": 1.0})


def test_names_reach_into_a_search_and_not_into_a_number():
    assert settings.make("ANCR-CV", {"search__how": "full"}).search.how == "full"
    with pytest.raises(SettingsError, match=r"^alpha__x: alpha=0\.001 has no parameters of its own$"):
        settings.make("ANCR", {"alpha__x": 1})
    with pytest.raises(SettingsError, match=r"^estimator__tol: estimator=None has no parameters of its own$"):
        settings.make("ANCR-CV", {"estimator__tol": 1})


# --- controls


@pytest.mark.parametrize("method", sorted(PRESETS))
def test_controls_know_limits_and_words(method):
    estimator = PRESETS[method]()
    found = {control.name: control for control in pages.controls(estimator)}
    assert json.dumps([control.to_dict() for control in found.values()])
    assert all(control.title and control.help for control in found.values())
    assert all(estimator.get_params()[name] == control.value for name, control in found.items() if "__" not in name)
    assert ("alpha" in found) == ("alpha" in estimator.get_params())
    for control in found.values():
        values = control.choices if control.kind != "number" else (control.low, control.high)
        for value in values:
            value = int(value) if control.whole else value
            pages.adjusted(estimator, {control.name: value})._validate_params()
    assert same(pages.adjusted(estimator, pages.flat(estimator)), estimator)


@pytest.mark.parametrize(
    "values",
    [
        {"speed": 1}, {"alpha": True}, {"alpha": "much"}, {"alpha": 1e9}, {"alpha": None}, {"alpha": float("nan")},
        {"alpha": 10**400}, {"rule": "wish"}, {"rule": 3}, {"space__kernel": "precomputed"}, {"space__normalize": 1},
        {"method": "Forest"}, {"method": 3}, {"method": []}, {"alpha": [1]}, {"rule": {}},
    ],
    ids=str,
)  # fmt: skip
def test_values_out_of_reach_are_refused_in_a_sentence(values):
    with pytest.raises(SettingsError, match=r"\.$"):
        pages.adjusted(ANCRClassifier(alpha=0.01), values)


def test_a_model_beyond_the_sliders_can_be_shown_and_kept():
    estimator = ANCRClassifier(alpha=1e4, rho=3.0)
    assert same(pages.adjusted(estimator, pages.flat(estimator)), estimator)
    assert pages.adjusted(estimator, {"rule": "pro", "alpha": 1e4}).rho == 3.0


def test_another_method_keeps_what_was_set_and_takes_its_own_defaults():
    before = ANCRClassifier(alpha=0.05, relaxation=0.3, space=Space(power=0.5))
    after = pages.adjusted(before, {"method": "CRC"})
    assert (type(after), after.alpha, after.rule, after.space.power) == (ancr.CRCClassifier, 0.05, "reg", 0.5)
    free = pages.adjusted(before, {"method": "Representation", "constraint": "free"})
    assert (free.constraint, free.relaxation) == ("free", None)


def test_parameters_without_effect_are_not_shown():
    names = {control.name for control in pages.controls(ANCRClassifier())}
    assert {"alpha", "relaxation", "rule", "space__kernel", "space__power"} <= names
    assert not names & {"space__gamma", "space__degree", "temperature", "tol"}
    rbf = pages.adjusted(ANCRClassifier(), {"space__kernel": "rbf"})
    assert "space__gamma" in {control.name for control in pages.controls(rbf)}
    assert "relaxation" not in {control.name for control in pages.controls(RepresentationClassifier())}
