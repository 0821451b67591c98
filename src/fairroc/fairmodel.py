"""The public model: what a fit gives and a file holds, with everything that can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray
from fairroc.docstrings import FITTED, documented
from fairroc.errors import DataError
from fairroc.model import file
from fairroc.model.explanation import Explanation, explain
from fairroc.model.families import FamilyPeople, family_people
from fairroc.model.model import ModelData, check_threshold, row_count
from fairroc.options import POSITIVE_MEANS
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.rows import known_groups
from fairroc.people.tensors import is_tensor
from fairroc.summary import Result, Summary, size
from fairroc.text.explanation import explanation_text
from fairroc.text.words import asked_words

if TYPE_CHECKING:
    from fairroc.model.maps import ScoreMap
    from fairroc.monitoring.drift import Drift
    from fairroc.monitoring.gap import Watch

__all__ = ["FairModel"]


@documented(setup=f"{FITTED}\n>>> model = post.model_", raises="DataError, UnknownGroupError")
class FairModel(Result, ModelData):
    """A fair score, ready to be applied, saved and loaded.

    Fit one with `FairROC` (its ``model_``), or load one. Its attributes are those of its file, which
    `docs/reference/model-file.md` explains.

    >>> model.names, model.epsilon
    (('f', 'm'), 0.1)
    """

    def _summary(self) -> Summary:
        drawn = f"by the id ({self.hash}, {'secret key' if self.key_fingerprint else 'public salt'})"
        sure = "" if self.confidence is None else f" at {100 * self.confidence:g}% confidence"
        score = "the original one, unchanged" if self.unchanged else f"{self.levels:,} levels, method '{self.method}'"
        facts = [
            ("asked for", asked_words(self.fairness, self.epsilon, self.ratio, self.tolerances)),
            ("promise", f"'{self.promise}'{sure}"),
            ("fair score", score),
            ("drawn", drawn if self.needs_ids else "nobody"),
            ("fitted", f"{self.record.date[:10]} by {self.record.package}"),
        ]
        rows = [[g.name, f"{g.rows:,}", f"{g.positives:,}"] for g in self.groups]
        title = f"FairModel: {size(self.record.rows, len(rows))}"
        return Summary(title, facts, ["group", "rows", "positives"], rows)

    @classmethod
    def of(cls, data: ModelData) -> Self:
        """The model with this data."""
        return cls(**{field.name: getattr(data, field.name) for field in fields(data)})

    def transform(
        self,
        scores: Any,
        *,
        sensitive_features: Any = None,
        ids: Any = None,
        random_state: Any = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
        allow_out_of_range: bool = False,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> FloatArray:
        """Fair scores on the original scale, one draw for each row. O(n).

        Give ``ids`` (the same id, model and key always give the same fair score) or ``random_state`` (simulation); a
        model that draws nobody (not ``needs_ids``) ignores both, and the key. More than half of the scores outside of
        the range of the fitted ones are an error, lest they be on another scale, unless ``allow_out_of_range``.
        A torch tensor of scores gives a tensor on its device, see ``docs/guides/tensors.md``. Models that were fitted
        with ``use_group=False`` take ``group_probabilities`` in place of the groups, those with control features take
        these too.

        Returns: ndarray of shape (n,): the fair scores; a tensor where a tensor was given.
        >>> model.transform(scores[:3], sensitive_features=sex[:3], ids=[11, 12, 13]).shape
        (3,)
        """
        if is_tensor(scores):
            from fairroc.backends.torch import NewRows, told, transform

            features = told(self, scores, sensitive_features, group_probabilities, control_features)
            rows = NewRows(self, scores, features, on_unknown_group, allow_out_of_range)
            fair: FloatArray = transform(rows, ids, random_state, key)
            return fair
        sensitive_features = self.told(sensitive_features, group_probabilities, control_features, row_count(scores))
        few = self.few(scores, sensitive_features, ids, random_state, key, on_unknown_group)
        if few is not None:
            return few
        columns = self.read(scores, sensitive_features, on_unknown_group, allow_out_of_range)
        return self.drawn(columns, ids, random_state, key)

    def predict(
        self,
        scores: Any,
        *,
        sensitive_features: Any = None,
        threshold: float,
        ids: Any = None,
        random_state: Any = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
        allow_out_of_range: bool = False,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> NDArray[np.int64]:
        """1 where the fair score reaches the threshold, else 0.

        Returns: ndarray of shape (n,): 0 or 1.
        >>> model.predict([0.05, 0.99], sensitive_features=["f", "m"], threshold=0.5, ids=[1, 2]).tolist()
        [0, 1]
        """
        limit = check_threshold(threshold)
        fair: Any = self.transform(
            scores,
            sensitive_features=sensitive_features,
            ids=ids,
            random_state=random_state,
            key=key,
            on_unknown_group=on_unknown_group,
            allow_out_of_range=allow_out_of_range,
            control_features=control_features,
            group_probabilities=group_probabilities,
        )
        chosen: NDArray[np.int64] = (fair >= limit).long() if is_tensor(fair) else (fair >= limit).astype(np.int64)
        return chosen

    def acceptance_rate(
        self,
        scores: Any,
        *,
        sensitive_features: Any = None,
        threshold: float,
        on_unknown_group: str | None = None,
        allow_out_of_range: bool = False,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> FloatArray:
        """Probability, over the draw, that the fair score reaches the threshold; nothing is drawn.

        Returns: ndarray of shape (n,): probabilities.
        >>> model.acceptance_rate([0.05, 0.99], sensitive_features=["f", "m"], threshold=0.5).round(2).tolist()
        [0.0, 1.0]
        """
        limit = check_threshold(threshold)
        if is_tensor(scores):
            from fairroc.backends.torch import NewRows, acceptance_rate, told

            features = told(self, scores, sensitive_features, group_probabilities, control_features)
            rows = NewRows(self, scores, features, on_unknown_group, allow_out_of_range)
            rate: FloatArray = acceptance_rate(rows, limit)
            return rate
        sensitive_features = self.told(sensitive_features, group_probabilities, control_features, row_count(scores))
        return self.rates(self.read(scores, sensitive_features, on_unknown_group, allow_out_of_range), limit)

    def explain(
        self,
        score: Any,
        group: Any = None,
        *,
        threshold: float | None = None,
        id: int | str | None = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
        positive_means: str = "selected",
        control_features: Any = None,
        group_probabilities: Any = None,
        verbose: bool = False,
    ) -> Explanation:
        """What can happen to one person, and why: possible fair scores with their probabilities, in words and as data.

        Parameters
        ----------
        score : number
            The person's original score.
        group : value of the group column, or a tuple of the values of several columns in the order of the fit
        threshold : number, optional
            Adds whether the score reached it before, and with what probability the fair score does.
        id, key : optional
            Add the draw itself: the fair score that `transform` gives this id (with the model's key, if it has one).
        on_unknown_group : str, optional
            Fitted group whose treatment an unknown group shall get; else that is an error.
        positive_means : str
            What people with a positive decision are, in the text: "selected", "flagged", "invited", ...
        control_features, group_probabilities : a value, or a tuple or dict of several
            What `transform` takes of this person, for models that were fitted with them; the latter in place of
            ``group``. What is said reveals no guess of the person's group.
        verbose : bool
            For auditors: also the cell of the probabilities, from which such a guess follows.

        >>> model.explain(0.2, "m", threshold=0.5).acceptance
        0.0
        """
        word = POSITIVE_MEANS.checked(positive_means)
        found = explain(
            self,
            score,
            group,
            threshold=threshold,
            id=id,
            key=key,
            on_unknown_group=on_unknown_group,
            control_features=control_features,
            group_probabilities=group_probabilities,
            verbose=verbose,
        )
        return replace(found, text=explanation_text(found, promise=self.promise, positive_means=word))

    def map(self, group: Any = None, *, points: int | None = None) -> ScoreMap:
        """How the score of one group's people becomes the fair one, for a model that draws nobody.

        Parameters
        ----------
        group : value of the group column, or a tuple of the values of several columns in the order of the fit, strata
            first
        points : int, optional
            Round the fair scores down to at most so many, the same ones in all groups, and cut-offs to few digits: a
            table that can be typed in. The gap stays what it is, but for people who cross a cut-off in few digits;
            people inside a step are tied. By default every piece of the map, exactly.

        Returns: ScoreMap: a row for each straight piece; called with scores, fair scores.
        Raises: DataError, UnknownGroupError
        >>> from fairroc import FairROC
        >>> never = FairROC(epsilon=0.1, promise="fitted", draw="never")
        >>> exact = never.fit(scores, y, sensitive_features=sex).model_
        >>> bool(exact.map("f")(0.3) == exact.transform([0.3], sensitive_features=["f"])[0])
        True
        """
        from fairroc.model.maps import score_map

        return score_map(self, group, points)

    def check(
        self,
        scores: Any,
        *,
        sensitive_features: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        bootstrap: int = 1000,
        random_state: Any = 0,
        on_unknown_group: str | None = None,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> Drift:
        """Whether new people are still like those the model was fitted to: scores, groups and, with ``y``, the gap.

        The gap of demographic parity takes no labels.

        Parameters
        ----------
        y : labels, if known: the gap of the fair score, as the model's constraint has it, is then measured, in
            expectation over the draw; and AUCs are.
        confidence : of intervals; if nothing moved, all tests together find something with 1 - confidence at most.
        bootstrap, random_state : draws of the gap's narrower interval (0: none), and their seed.
        on_unknown_group : fitted group whose treatment unknown groups get; else unknown groups are a finding.
        control_features, group_probabilities : what `transform` takes, for models that were fitted with them. Scores
            and shares are then compared by cells of the probabilities; ``sensitive_features`` of a model with
            ``use_group=False`` may be left out, and are there to measure the gap.

        Returns: Drift: every finding, in words and as data.
        Raises: DataError
        >>> model.check(scores[:500], sensitive_features=sex[:500]).drifted
        False
        >>> model.check(scores**2, sensitive_features=sex).reasons[0][:29]
        "the scores of group 'f' moved"
        """
        from fairroc.monitoring.gap import Watch

        watch = Watch.checked(
            confidence=confidence, bootstrap=bootstrap, random_state=random_state, on_unknown_group=on_unknown_group
        )
        known_groups(self.names, on_unknown_group)
        if self.use_group and sensitive_features is None:
            raise DataError("sensitive_features must be given, one row for each score, got none.")
        groups = sensitive_features if self.use_group else None
        told = self.told(groups, group_probabilities, control_features, row_count(scores))
        how: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label}
        # no group: an unknown one
        door: dict[str, Any] = {"missing": "group", "small": self.small_rule, "whole": False}
        people = read_people(scores, y, sensitive_features=told, **how, **door)
        families = None
        if self.compared and sensitive_features is not None:
            how |= {"group_probabilities": group_probabilities, "control_features": control_features}
            how |= {"on_unknown_group": on_unknown_group}
            families = family_people(self, scores, y, sensitive_features=sensitive_features, **how)
        return check_people(self, people, watch, labelled=y is not None, families=families)

    def to_sql(
        self,
        dialect: str,
        *,
        form: str | None = None,
        table: str = "people",
        score: str = "score",
        group: str | Sequence[str] | None = None,
        id: str | None = "id",
        id_type: str = "integer",
        column: str | None = None,
        function: str = "fair_score",
        tables: str | None = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
        group_probabilities: str | Sequence[str] | None = None,
        control_features: str | Sequence[str] | None = None,
    ) -> str:
        """The transform as SQL, hash of the ids included: the same fair scores, bit for bit, where the scores live.

        Parameters
        ----------
        dialect : {"duckdb", "spark", "postgres", "bigquery", "snowflake"}
        form : {"query", "function", "dbt"}, optional
            "query" (all but PostgreSQL): one SELECT of all columns of ``table`` and the fair score. "function": for
            DuckDB a table macro, for PostgreSQL a function of score, group and id. "dbt" (all but PostgreSQL): the
            query as a macro for dbt. By default the first that the dialect has.
        table : str
            What a query reads, written into it as it is: a table, a qualified name, a subquery in brackets.
        score, group, id : str
            Names of columns; several group columns, in the order of the fit, mean their intersection. By default
            "group", and none for a model that was fitted with ``use_group=False``. The id is ignored, and the SQL much
            shorter, unless the model ``needs_ids``; functions and macros keep it as an argument that may be left out.
        id_type : {"integer", "text"}
            How ids are hashed: integers as 64-bit integers, everything else as its UTF-8 text.
        column : str, optional
            Name of the new column (by default the score's with ``_fair``).
        function : str
            Name of the macro or function.
        tables : str, optional
            The query reads the model's numbers from the tables ``..._cells``, ``..._outcomes`` and ``..._knots``, which
            begin with this name (`sql_tables`), instead of holding them; of a model that draws nobody from the first
            alone. Not for PostgreSQL.
        key : bytes or str, optional
            The model's key, if it has one. The SQL then holds a secret.
        on_unknown_group : str, optional
            Fitted group whose treatment unknown groups shall get; else they are an error when the SQL runs.
        group_probabilities : str or list of str, optional
            Names of the columns of the groups' probabilities that a model with ``use_group=False`` was fitted with, by
            default those of the fit. A probability that is missing or not between 0 and 1 is an error when the SQL
            runs.
        control_features : str or list of str, optional
            Names of the columns of strata, in the order of the fit, for a model that was fitted with them.

        Returns: str: one statement; it holds the key, if there is one.
        Raises: DataError
        >>> model.to_sql("duckdb", score="p", group="sex", id="person").count("p_fair") > 0
        True
        """
        from fairroc.backends.sql import to_sql

        self.check_key(key)
        return to_sql(
            self,
            dialect,
            form=form,
            table=table,
            score=score,
            **self._columns(group, group_probabilities, control_features),
            id=id,
            id_type=id_type,
            column=column,
            function=function,
            tables=tables,
            key=key,
            on_unknown_group=on_unknown_group,
        )

    def to_onnx(
        self,
        *,
        ids: str | None = None,
        score: str = "score",
        group: str | Sequence[str] | None = None,
        threshold: float | None = None,
        on_unknown_group: str | None = None,
        after: Any = None,
        column: int | None = None,
        group_probabilities: str | Sequence[str] | None = None,
        control_features: str | Sequence[str] | None = None,
    ) -> Any:
        """The transform as an ONNX graph: the same fair scores, bit for bit, in ONNX Runtime on a CPU.

        Inputs are columns of n rows: the score (double), the group (text) or what else the model is told, and a uniform
        number (double, ``uniform``) or an id (int64, ``id``), which may be left out and is ignored where the model
        ``needs_ids`` no more. The output is ``fair_score``. Whatever `transform` would refuse stops the run.

        Parameters
        ----------
        ids : {"int64"}, optional
            Hash integer ids inside the graph. Else feed ``model.uniforms(n, ids=..., key=...)``: text ids and models
            with a key need that.
        score, group : str
            Names of inputs; several group columns, in the order of the fit, mean their intersection. By default
            "group", and none for a model that was fitted with ``use_group=False``.
        threshold : float, optional
            Adds the output ``acceptance_rate``: the probability, over the draw, to reach this threshold.
        on_unknown_group : str, optional
            Fitted group whose treatment unknown groups shall get; else they stop the run.
        after : onnx.ModelProto, optional
            A classifier's graph, for example of skl2onnx. Then ``score`` names an output of it and the graph takes its
            inputs; an input of text may be the group. The score itself becomes the output ``score``.
        column : int, optional
            Which column of that output is the score; of two the last.
        group_probabilities : str or list of str, optional
            Names of the inputs (double) of the groups' probabilities that a model with ``use_group=False`` was fitted
            with, by default those of the fit.
        control_features : str or list of str, optional
            Names of the inputs (text) of strata, in the order of the fit, for a model that was fitted with them.

        Returns: onnx.ModelProto: ``onnx.save(graph, "model.onnx")`` writes it.
        Raises: DataError
        >>> graph = model.to_onnx(ids="int64")
        >>> [one.name for one in graph.graph.input], [one.name for one in graph.graph.output]
        (['score', 'group', 'id'], ['fair_score'])
        """
        from fairroc.backends.onnx import to_onnx

        return to_onnx(
            self,
            ids=ids,
            score=score,
            **self._columns(group, group_probabilities, control_features),
            threshold=None if threshold is None else check_threshold(threshold),
            on_unknown_group=on_unknown_group,
            after=after,
            column=column,
        )

    def _columns(self, group: Any, group_probabilities: Any, control_features: Any) -> dict[str, Any]:
        """Names of columns, with those that none need name."""
        group = "group" if group is None and self.use_group else group
        if group_probabilities is None:
            group_probabilities = self.probability_columns
        return {"group": group, "group_probabilities": group_probabilities, "control_features": control_features}

    def sql_tables(self) -> dict[str, dict[str, NDArray[Any]]]:
        """The tables that `to_sql` reads if it is given their name, "cells", "outcomes" and "knots", by their columns.

        They hold no key. A model that draws nobody has "cells" alone; one that leaves scores unchanged needs none.

        >>> {name: list(columns)[:2] for name, columns in model.sql_tables().items()}
        {'cells': ['g', 'low'], 'outcomes': ['draw', 'lower'], 'knots': ['y', 'high']}
        """
        from fairroc.backends.sql.lists import sql_tables

        return {} if self.tables is None else sql_tables(self.tables)

    def to_json(self) -> str:
        """The model as versioned JSON text; `from_json` gives back the same model, bit for bit.

        >>> FairModel.from_json(model.to_json()).names
        ('f', 'm')
        """
        return file.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read and check a model from JSON text.

        Raises: ModelFileError
        >>> FairModel.from_json(model.to_json()).epsilon
        0.1
        """
        return cls.of(file.loads(text))

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all.

        Raises: DataError
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.json")
        """
        file.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a model file.

        Raises: ModelFileError
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.json")
        ...     again = FairModel.load(f"{folder}/model.json")
        >>> again.names
        ('f', 'm')
        """
        return cls.of(file.load(path))


def check_people(
    model: ModelData,
    people: People,
    watch: Watch,
    *,
    labelled: bool,
    families: Sequence[FamilyPeople] | None = None,
) -> Drift:
    """What `FairModel.check` finds, in words too."""
    from fairroc.monitoring.check import TELLING, check
    from fairroc.text.drift import doubts, reasons

    found, other = check(model, people, watch, labelled=labelled, families=families), watch.on_unknown_group
    return replace(
        found,
        reasons=reasons(found, other, model.left_out),
        doubts=tuple(doubts(found, other, TELLING, labelled or not model.fairness.needs_labels)),
    )
