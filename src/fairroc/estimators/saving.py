"""Estimators to files and back: the fair part as the model file, a classifier's base estimator by skops. No pickle.

A classifier's file is an uncompressed zip archive, written whole or not at all: ``manifest.json`` (parameters, labels,
versions), ``model.json`` (the model file, as every other tool here reads it) and, unless the base estimator is left to
the user, ``base.skops``: the base models, and the models of the group where the fair score does without it. No file
holds a key.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from fairroc._version import __version__
from fairroc.errors import DataError, FairrocError, ModelFileError, several
from fairroc.estimators.groups import GroupModel
from fairroc.fairmodel import FairModel
from fairroc.model.draw import Secret
from fairroc.model.model import ModelData
from fairroc.options import EPSILON, FIT, MIN_CLASS_ROWS, SMALL_GROUPS
from fairroc.people.small import MERGED
from fairroc.tables.files import check_writable, one_line
from fairroc.tables.write import written_together

FORMAT, VERSION, OF_SCORES, SUFFIXES = "fairroc-classifier", 2, 1, (".zip",)
"""A classifier without models of the group is written as a file of the older version, which older fairrocs read."""
MANIFEST, MODEL, BASE = "manifest.json", "model.json", "base.skops"
PAST = (1980, 1, 1, 0, 0, 0)
"""The date of all parts: the same classifier, the same bytes."""

SPLITTERS = ("sklearn.model_selection._split.", "fairroc.estimators.crossfit.SensitiveStratifiedKFold")
"""Beginnings of names of types that are loaded beside those that skops trusts: plain numbers, used in a fit alone."""

KINDS, WIDEST = "biufUO", 1 << 16
"""Kinds of labels that a manifest can hold, and bytes that one takes at most."""

LEARNERS = ("default", "one", "each")

POST = {"min_class_rows"}
"""Parameters of the post-processor that may be other than the classifier's."""


def asked_of(model: ModelData) -> dict[str, Any]:
    """The parameters of a fit that gives such a model, as far as the model tells."""
    asked: dict[str, Any] = {option.name: getattr(model, option.name) for option in FIT if hasattr(model, option.name)}
    if model.ratio is not None:
        asked["epsilon"] = EPSILON.default
    elif model.tolerances is not None:
        asked["epsilon"] = dict(zip(("fpr", "tpr"), model.tolerances, strict=True))
    elif len({one.epsilon for one in model.compared}) > 1:
        asked["epsilon"] = {one.attribute: one.epsilon for one in model.compared}
    small = model.small_groups
    asked[SMALL_GROUPS.name] = SMALL_GROUPS.default if small is None else small.treatment
    asked[MIN_CLASS_ROWS.name] = MIN_CLASS_ROWS.default if small is None else small.min_class_rows
    if model.compared:  # there it is segments that were merged, which nobody asked for
        merged = any(group.name == MERGED for one in model.compared for group in one.groups)
        asked |= {SMALL_GROUPS.name: "merge" if merged else SMALL_GROUPS.default, MIN_CLASS_ROWS.name: 1}
    return asked


def key_for(model: ModelData, key: bytes | str | None) -> bytes | str | None:
    """The key of an estimator out of a file: the one given, if it is right; else, if one is needed, that it is lost."""
    if key is not None:
        model.check_key(key)
        return key
    return None if model.key_fingerprint is None else Secret.lost(model.key_fingerprint)


@dataclass(frozen=True, slots=True, eq=False)
class SavedClassifier:
    """What a classifier's file holds. ``models`` are the fitted base estimators: one, or one for each fold."""

    model: FairModel
    params: Mapping[str, Any]
    classes: NDArray[Any]
    positive: int
    ensemble: bool
    models: tuple[Any, ...]
    post: Mapping[str, Any]
    """Parameters of the post-processor that are not those of the classifier."""
    groups: tuple[GroupModel, ...] = ()
    """Models of the group, where the fair score does without it."""
    hidden: tuple[Any, ...] = ()
    """Columns of X that these do not see."""
    learner: str = "default"
    """What their estimator was: the classifier's (default), one, or one for each attribute."""


def write_classifier(path: str | Path, saved: SavedClassifier, *, base: bool) -> None:
    """Write a classifier, whole or not at all."""
    check_writable(path, SUFFIXES)
    plain, rest = _parted(saved.params)
    if rest and not base:
        name, value = next(iter(rest.items()))
        raise DataError(
            f"{name} must be a number, text or None to be saved without the base estimator (base=False), got "
            f"{type(value).__name__}. Set it before with set_params({name}=...): cv is of use in fit alone."
        )
    if saved.classes.dtype.kind not in KINDS or _json(saved.classes.tolist()) is None:
        raise DataError(f"labels must be numbers, booleans or text to be saved, got {saved.classes.tolist()!r}.")
    manifest = {
        "format": FORMAT,
        "version": VERSION if saved.groups else OF_SCORES,
        "package": f"fairroc {__version__}",
        "scikit-learn": sklearn.__version__,
        "classes": {"dtype": saved.classes.dtype.str, "labels": saved.classes.tolist(), "positive": saved.positive},
        "base": {"saved": base, "ensemble": saved.ensemble, "models": [_described(model) for model in saved.models]},
        "params": plain,
        "post": dict(saved.post),
        **({"groups": _groups_told(saved)} if saved.groups else {}),
    }
    parts = {MANIFEST: f"{json.dumps(manifest, indent=1)}\n".encode(), MODEL: saved.model.to_json().encode()}
    if base:
        bundle: dict[str, Any] = {"models": list(saved.models), "params": rest}
        if saved.groups:
            bundle["groups"] = [list(model.models) for model in saved.groups]
        parts[BASE] = _dumped(bundle)
    with written_together() as begin, begin(Path(path)) as sink, zipfile.ZipFile(sink, "w") as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name, PAST), data)


def _groups_told(saved: SavedClassifier) -> dict[str, Any]:
    """What is told of the models of the group."""
    models = [vars(model) | {"models": [_described(each) for each in model.models]} for model in saved.groups]
    return {"models": models, "hidden": list(saved.hidden), "learner": saved.learner}


def read_classifier(
    path: str | Path, *, base: Any = None, trusted: Sequence[Any] | None = None, groups: Any = None
) -> SavedClassifier:
    """Read a classifier's file; ``base`` is the fitted base estimator, or those of all folds, where it holds none, and
    ``groups`` are the models of the group by attribute."""
    parts = _parts(path)
    manifest = _manifest(parts, path)
    try:
        labels, told = manifest["classes"], manifest["base"]
        kind = np.dtype(labels["dtype"])
        if kind.itemsize > WIDEST:
            raise ValueError("labels too long")
        classes, positive = np.array(labels["labels"], dtype=kind), int(labels["positive"])
        ensemble, params = bool(told["ensemble"]), dict(manifest["params"])
        post, inside = dict(manifest["post"]), bool(told["saved"])
        sound = kind.kind in KINDS and classes.shape == (2,) and positive in (0, 1) and inside == (BASE in parts)
        sound = sound and set(post) == POST and bool(told["models"])
        others, described, hidden, learner = _told_of_groups(manifest)
        described = [list(told["models"]), *described]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"'{path}' lacks or garbles a field ({error!r}); use the original file.") from None
    if not sound:
        raise ModelFileError(f"'{path}' contradicts itself: it was edited or damaged. Use the original file.")
    try:
        model = FairModel.from_json(parts[MODEL].decode())
    except (ModelFileError, UnicodeDecodeError) as error:
        raise ModelFileError(f"'{path}', {MODEL}: {error}") from None
    if inside:
        if base is not None:
            raise DataError(f"base must be left out: '{path}' holds the base estimator, and another one came with it.")
        bundle = _loaded(parts[BASE], path, trusted)
        wanted = {"models", "params"} | ({"groups"} if others else set())
        known = isinstance(bundle, dict) and set(bundle) == wanted
        found = [bundle["models"], *bundle.get("groups", [])] if known else []
        if [*map(len, found)] != [*map(len, described)]:
            raise ModelFileError(
                f"'{path}', {BASE}: other base models than {MANIFEST} tells of; use the original file."
            )
        params |= bundle["params"]
    else:
        numbers = {one.name: len(told) for one, told in zip(others, described[1:], strict=True)}
        found = [_given(base, path, described[0]), *_groups_given(groups, path, numbers)]
    models, *learned = map(tuple, found)
    _check_models(models, described[0], classes, path)
    others = tuple(replace(one, models=each) for one, each in zip(others, learned, strict=True))
    for one, told in zip(others, described[1:], strict=True):
        _check_group_models(one, told, path)
    return SavedClassifier(model, params, classes, positive, ensemble, models, post, others, hidden, learner)


def _told_of_groups(
    manifest: Mapping[str, Any],
) -> tuple[tuple[GroupModel, ...], list[list[Any]], tuple[Any, ...], str]:
    """What a manifest tells of models of the group, which are not there yet: all but these, what each is, the columns
    that they do not see, and what their estimator was."""
    if "groups" not in manifest:
        return (), [], (), "default"
    told = manifest["groups"]
    models = tuple(
        GroupModel(str(one["name"]), tuple(map(str, one["groups"])), bool(one["coded"]), ()) for one in told["models"]
    )
    described = [list(one["models"]) for one in told["models"]]
    if not models or told["learner"] not in LEARNERS or not all(described):
        raise ValueError("models of the group")
    return models, described, tuple(told["hidden"]), told["learner"]


def _groups_given(groups: Any, path: str | Path, names: dict[str, int]) -> list[Sequence[Any]]:
    """The fitted models of the group that the user kept: so many by attribute."""
    found = groups if isinstance(groups, Mapping) else {}
    if {name: len(models) for name, models in found.items()} != names:
        wanted = ", ".join(f"{number} for {name!r}" for name, number in names.items()) or "none"
        raise DataError(
            f"group_estimators must be the models of the group as in group_estimators_, by attribute ({wanted}): "
            f"'{path}' was saved with base=False and holds none."
        )
    return [found[name] for name in names]


def _check_group_models(model: GroupModel, described: list[Any], path: str | Path) -> None:
    _check_same(model.models, described, f"the models of {model.name} must be those", path)
    if any(getattr(each, "classes_", None) is None for each in model.models):
        raise DataError(f"the models of {model.name} must be fitted, got one that is not.")


# ---- parts ---------------------------------------------------------------------------------------------------------


def _parts(path: str | Path) -> dict[str, bytes]:
    """The parts of the archive by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = {info.filename: info for info in archive.infolist()}
            if any(info.compress_type != zipfile.ZIP_STORED for info in found.values()):
                raise zipfile.BadZipFile("its parts are compressed, which FairROCClassifier.save never does")
            return {name: archive.read(info) for name, info in found.items()}
    except FileNotFoundError:
        raise ModelFileError(f"no classifier file '{path}'; check the path.") from None
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ModelFileError(
            f"cannot read '{path}' as a classifier: {one_line(error)}. Pass the file that FairROCClassifier.save "
            "wrote; a model file (.json) is for FairROC.load."
        ) from None


def _manifest(parts: Mapping[str, bytes], path: str | Path) -> dict[str, Any]:
    try:
        manifest = json.loads(parts[MANIFEST])
        known = manifest["format"] == FORMAT and MODEL in parts
        version = manifest["version"]
    except (KeyError, TypeError, ValueError, RecursionError):
        known = False
    if not known:
        raise ModelFileError(
            f"'{path}' must be a classifier file with {MANIFEST} and {MODEL}; pass what FairROCClassifier.save wrote."
        )
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFileError(
            f"'{path}' was written by a newer fairroc ({manifest.get('package')}, version {version!r} of the file; "
            f"this one reads {VERSION}); update fairroc."
        )
    found: dict[str, Any] = manifest
    return found


def _parted(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters that JSON can hold, as it will give them back, and the rest."""
    plain = {name: _json(value) for name, value in params.items()}
    rest = {name: value for name, value in params.items() if plain[name] is None and value is not None}
    return {name: value for name, value in plain.items() if name not in rest}, rest


def _json(value: Any) -> Any:
    """A value after JSON; None where JSON cannot hold it."""

    def number(inner: Any) -> Any:
        if isinstance(inner, np.generic):
            return inner.item()
        raise TypeError

    try:
        return json.loads(json.dumps(value, allow_nan=False, default=number))
    except (TypeError, ValueError, RecursionError):
        return None


# ---- the base estimator --------------------------------------------------------------------------------------------


def _skops() -> Any:
    if find_spec("skops") is None:
        raise FairrocError(
            "the base estimator needs skops to be saved and loaded; install it with: pip install 'fairroc[skops]'. Or "
            "keep it yourself: save(path, base=False) and load(path, base=estimator)."
        )
    return import_module("skops.io")


def _dumped(bundle: dict[str, Any]) -> bytes:
    skops = _skops()
    try:
        data: bytes = skops.dumps(bundle)
        skops.loads(data, trusted=skops.get_untrusted_types(data=data))  # of a function without a name it says no word
    except Exception as error:
        raise DataError(
            f"skops cannot save this base estimator: {one_line(error)}. Keep it yourself: save(path, base=False) and "
            "load(path, base=estimator)."
        ) from error
    return data


def _loaded(data: bytes, path: str | Path, trusted: Sequence[Any] | None) -> Any:
    """The bundle that skops saved, if it holds nothing but types that skops or the user trusts."""
    skops, named = _skops(), [_type_name(each) for each in trusted or ()]
    try:
        asked = skops.get_untrusted_types(data=data)
        named += [name for name in asked if name.startswith(SPLITTERS)]
        strange = [name for name in asked if name not in named]
        if not strange:
            bundle = skops.loads(data, trusted=named)
    except Exception as error:
        raise ModelFileError(f"'{path}', {BASE}: skops cannot read it: {one_line(error)}.") from error
    if strange:
        listed = ", ".join(map(repr, strange))
        raise DataError(
            f"trusted must name every type of the base estimator that skops does not trust by itself, and '{path}' "
            f"holds {several(strange, ', ', 20)}. Loading one can run its code: if you know who wrote the file, pass "
            f"trusted=[{listed}]."
        )
    return bundle


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def _given(base: Any, path: str | Path, described: list[Any]) -> tuple[Any, ...]:
    """The fitted base estimators that the user kept."""
    number = len(described)
    wanted = "the fitted estimator" if number == 1 else f"a list of the {number} fitted fold models, as in estimators_"
    if base is None:
        raise DataError(f"base must be {wanted}: '{path}' was saved with base=False and holds none.")
    models = tuple(base) if isinstance(base, list | tuple) else (base,)
    if len(models) != number:
        raise DataError(f"base must be {wanted}, got {len(models)}.")
    return models


def _described(model: Any) -> dict[str, Any]:
    """What is told of a base estimator, to notice another one in its place."""
    features = getattr(model, "n_features_in_", None)
    return {"type": _type_name(type(model)), "n_features_in": None if features is None else int(features)}


def _check_models(models: Sequence[Any], described: list[Any], classes: NDArray[Any], path: str | Path) -> None:
    _check_same(models, described, "the base estimator must be the one", path)
    for model in models:
        known = getattr(model, "classes_", None)
        if known is None or list(known) != classes.tolist():
            raise DataError(
                f"the base estimator must be fitted to the labels {classes.tolist()}, got "
                f"{'one that is not fitted' if known is None else list(known)}."
            )


def _check_same(models: Sequence[Any], described: list[Any], must: str, path: str | Path) -> None:
    for model, told in zip(models, described, strict=True):
        if (found := _described(model)) != told:
            raise DataError(f"{must} that '{path}' was saved with ({told}), got another ({found}).")
