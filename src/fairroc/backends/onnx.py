"""The transform as an ONNX graph: the steps of `fairroc.model.tables`, an operator each, so that each rounds once.

A graph cannot raise an error of its own. So every check looks into a table of one entry, by the number of rows that do
not pass, at a node whose name says what must hold: ONNX Runtime's CPU provider refuses an index beyond a table's end
and names the node. Should a runtime let such an index pass, the fair scores of these rows are NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, FairrocError
from fairroc.model.draw import derive_seed
from fairroc.model.model import ModelData
from fairroc.model.proxy import ProxyTree
from fairroc.model.tables import LookupTables
from fairroc.model.xxh64 import MASK, PRIMES
from fairroc.people.rows import LARGEST, known_groups
from fairroc.tables.columns import names_of, require_distinct

Value: TypeAlias = str
"""The name of something that a node gives, or of a constant."""

P1, P2, P3, P4, P5 = PRIMES
ML = "ai.onnx.ml"
LEAST_OPSETS = {"": 18, ML: 2}
"""From these on a graph has all operators it needs; joining several group columns takes `JOIN_OPSET`."""

JOIN_OPSET = 20
IR_VERSION = 9
DOUBLE, INT64, STRING = 11, 7, 8
"""Of onnx.TensorProto."""

FAIR, RATE, UNIFORM, ID, OWN = "fair_score", "acceptance_rate", "uniform", "id", "fairroc_"

SCORE = "fairroc: scores must be finite numbers within 1e307, not missing"
GROUP = "fairroc: the model does not know the group (or it was left out of the fit as too small)"
PROBABILITY = "fairroc: probabilities of groups must lie between 0 and 1, not missing"
UNIFORMS = "fairroc: uniform numbers must be at least 0 and below 1"
LENGTH = "fairroc: all inputs must have the same number of rows, one for each person"


def load_onnx() -> Any:
    """The package that writes graphs; running them takes onnxruntime alone."""
    try:
        import onnx
    except ImportError:
        raise FairrocError("ONNX graphs need onnx; install it with: pip install 'fairroc[onnx]'.") from None
    return onnx


def to_onnx(
    model: ModelData,
    *,
    ids: str | None,
    score: str,
    group: str | Sequence[str] | None,
    group_probabilities: str | Sequence[str] | None,
    control_features: str | Sequence[str] | None,
    threshold: float | None,
    on_unknown_group: str | None,
    after: Any,
    column: int | None,
) -> Any:
    """Write a model's transform as an ONNX model; `FairModel.to_onnx` documents it."""
    onnx = load_onnx()
    own, chances, controls = names_of(group), names_of(group_probabilities), names_of(control_features)
    source = UNIFORM if ids is None else ID
    groups, chances = check(model, ids, score, (own, chances, controls), source, after)
    known_groups(model.names, on_unknown_group)
    graph = Graph(onnx, after)
    value = graph.input(score, DOUBLE) if after is None else graph.score(score, column)
    names = [graph.input(name, STRING) for name in groups]
    told = [graph.input(name, DOUBLE) for name in chances]
    draw = graph.input(source, DOUBLE if ids is None else INT64, needed=model.needs_ids)
    for other in (*names, *told, *([draw] if model.needs_ids else [])):
        graph.require(graph.op("Equal", graph.op("Shape", value), graph.op("Shape", other)), LENGTH)
    graph.require(graph.op("LessOrEqual", graph.op("Abs", value), graph.constant(LARGEST)), SCORE)
    if model.proxy is not None:
        names.append(graph.cell(model.proxy, told, value))
    code = graph.group(model, names, on_unknown_group)
    if model.needs_ids:
        draw = graph.checked_uniform(draw) if ids is None else graph.hashed(draw, derive_seed(model.salt))
    if model.tables is None:
        fair, rate = value, None if threshold is None else graph.reached(value, threshold)
    else:
        fair, rate = graph.looked_up(model.tables, value, code, draw if model.needs_ids else None, threshold)
    graph.output(FAIR, fair)
    if rate is not None:
        graph.output(RATE, rate)
    if after is not None:
        graph.output("score", value)
    return graph.model(model, opset=JOIN_OPSET if len(names) > 1 else LEAST_OPSETS[""])


def check(
    model: ModelData, ids: Any, score: Any, named: tuple[tuple[Any, ...], ...], source: str, after: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check what comes from a caller: ``named`` are inputs of groups, probabilities and strata. Those of texts come
    back in the order in which they make a group's name, and those of probabilities in the order of the fit."""
    if ids not in (None, "int64"):
        raise DataError(f"ids must be 'int64' or None for an input of uniform numbers (--ids), got {ids!r}.")
    own = [FAIR, RATE, source, *([] if after is None else ["score"])]
    groups, *others = named
    inputs = [*(groups if groups or not model.use_group else ("",)), *(name for part in others for name in part)]
    for name in (*inputs, *([score] if after is None else [])):
        if not isinstance(name, str) or not name or name.startswith(OWN) or name in own:
            raise DataError(
                f"score and group must name inputs, none of them {', '.join(own)} or beginning with {OWN}, "
                f"got {name!r}. Try score='score', group='group'."
            )
    require_distinct(groups)
    texts, chances = model.told_columns(*named)
    require_distinct((*texts, *chances), "input's")
    if score in inputs:
        raise DataError(f"score and group must be different inputs, got {score!r} for both; rename one.")
    if ids is not None and model.needs_ids:
        if model.key_fingerprint is not None:
            raise DataError(
                "ids must be None for a model with a key: whoever holds the graph could read the draws' secret out of "
                "it. Leave ids out (on the command line: --ids) and feed model.uniforms(n, ids=..., key=...)."
            )
        if model.hash != "xxh64":
            raise DataError(
                f"ids must be None for a model with hash={model.hash!r}, which no graph can compute. Leave ids out (on "
                "the command line: --ids) and feed model.uniforms(n, ids=...)."
            )
    return texts, chances


class Graph:
    """Nodes and constants as they are added, after those of a classifier's graph, if there is one."""

    def __init__(self, onnx: Any, after: Any = None) -> None:
        self.onnx, self.after, self.count = onnx, after, 0
        self.nodes, self.constants, self.inputs, self.outputs = list[Any](), list[Any](), list[Any](), list[Any]()
        self.known = dict[Any, Value]()
        self.passed: Value = ""
        self.spoiled: Value | None = None
        inner = [] if after is None else [*after.graph.input, *after.graph.initializer, *after.graph.output]
        self.taken = {one.name for one in inner}
        self.taken |= {name for node in ([] if after is None else after.graph.node) for name in node.output}

    def op(self, kind: str, *inputs: Value, name: str = "", domain: str = "", **attributes: Any) -> Value:
        """Add a node with one output."""
        self.count += 1
        output = f"{OWN}{self.count}"
        named = name and f"{name} ({self.count})"  # names of nodes must differ
        make = self.onnx.helper.make_node
        self.nodes.append(make(kind, list(inputs), [output], name=named or output, domain=domain, **attributes))
        return output

    def constant(self, values: Any, kind: Any = np.float64) -> Value:
        """Add numbers, once."""
        array = np.asarray(values, dtype=kind)
        known = array.dtype.str, array.shape, array.tobytes()
        if known not in self.known:
            self.known[known] = f"{OWN}constant_{len(self.constants)}"
            self.constants.append(self.onnx.numpy_helper.from_array(array, self.known[known]))
        return self.known[known]

    def take(self, table: NDArray[Any], index: Value) -> Value:
        """Entries of a table; whole numbers in 32 bits, which all tables' sizes fit."""
        kind = np.int32 if table.dtype.kind == "i" else table.dtype
        return self.op("GatherElements", self.constant(table, kind), index)

    def input(self, name: str, kind: int, *, needed: bool = True) -> Value:
        """Add an input of one value for each row, or share a text input of the classifier. What is not ``needed`` may
        be left out of a run: a constant that no node looks at takes its place."""
        if name not in self.taken:
            self.taken.add(name)
            self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [f"{name}_rows"]))
            if not needed:
                self.constants.append(self.onnx.helper.make_tensor(name, kind, [1], [0]))
            return name
        theirs = {one.name: one.type.tensor_type.elem_type for one in self.after.graph.input}
        if kind != STRING or theirs.get(name) != STRING:
            raise DataError(
                f"the inputs of the fair score must not share a name with another type in the classifier's graph, got "
                f"{name!r}; rename it there, or pass another name (group=)."
            )
        return self.op("Reshape", name, self.constant([-1], np.int64))

    def output(self, name: str, value: Value) -> None:
        """Add an output; NaN where a check has not passed, in runtimes that let it."""
        if name in self.taken:
            raise DataError(
                f"no value of the classifier's graph may be called {name!r}, an output here; rename it there."
            )
        if self.spoiled is None:
            self.spoiled = self.take(np.array([-0.0, np.nan]), self.op("Cast", self.op("Not", self.passed), to=INT64))
        self.op("Add", value, self.spoiled)  # adding -0.0 changes no bit
        self.nodes[-1].output[0] = name
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, DOUBLE, ["rows"]))

    def score(self, name: str, column: int | None) -> Value:
        """The score out of an output of the classifier: a column as doubles, which hold floats exactly."""
        outputs = {one.name: one.type for one in self.after.graph.output}
        kind = outputs[name].tensor_type if name in outputs and outputs[name].HasField("tensor_type") else None
        if kind is None or kind.elem_type not in (1, DOUBLE):
            raise DataError(
                f"score must name an output of the classifier that is a tensor of numbers, got {name!r}; outputs: "
                f"{', '.join(map(repr, outputs))}. Convert with options={{'zipmap': False}}, and try 'probabilities'."
            )
        shape = [dim.dim_value for dim in kind.shape.dim]
        value = name
        if len(shape) != 1:
            if column is None and (len(shape) != 2 or shape[1] not in (1, 2)):
                raise DataError(
                    f"column must say which column of {name!r} is the score, since its shape is {shape}. Try column=1."
                )
            value = self.op("Gather", name, self.constant(-1 if column is None else column, np.int64), axis=1)
        return self.op("Cast", value, to=DOUBLE)

    # -- checks ---------------------------------------------------------------------------------------------------

    def require(self, holds: Value, message: str) -> None:
        """Let rows pass for which something holds; at any other the runtime stops, and tells how many there are."""
        wrong = self.op("ReduceSum", self.op("Cast", self.op("Not", holds), to=INT64))
        held = self.op("And", holds, self.op("Gather", self.constant([True], np.bool_), wrong, name=message))
        self.passed = self.op("And", self.passed, held) if self.passed else held

    def cell(self, tree: ProxyTree, columns: Sequence[Value], rows: Value) -> Value:
        """Names of the leaves that probabilities lead to; one for each of the ``rows``."""
        for column in columns:
            least = self.op("GreaterOrEqual", column, self.constant(0.0))
            self.require(self.op("And", least, self.op("LessOrEqual", column, self.constant(1.0))), PROBABILITY)
        numbers = {node: number for number, node in enumerate(tree.leaves.tolist())}

        def below(node: int) -> Value:
            if node in numbers:
                return self.constant(numbers[node], np.int64)
            low = self.op("LessOrEqual", columns[tree.column[node]], self.constant(tree.threshold[node]))
            return self.op("Where", low, below(int(tree.left[node])), below(int(tree.right[node])))

        zero = self.op("Cast", self.op("Less", rows, rows), to=INT64)
        leaf = self.op("Add", below(0), zero)  # a single leaf, too, has one for each row
        return self.op(
            "LabelEncoder",
            leaf,
            domain=ML,
            keys_int64s=list(range(len(tree.names))),
            values_strings=[name.encode() for name in tree.names],
        )

    def group(self, model: ModelData, names: Sequence[Value], other: str | None) -> Value:
        """Numbers of groups, by name."""
        name = names[0]
        for part in names[1:]:
            joined = self.op("StringConcat", name, self.onnx_text(" & "))
            name = self.op("StringConcat", joined, part)
        codes, unknown = model.codes, len(model.names)
        code = self.op(
            "LabelEncoder",
            name,
            domain=ML,
            keys_strings=[key.encode() for key in codes],
            values_int64s=list(codes.values()),
            default_int64=unknown if other is None else codes[other],
        )
        self.require(self.op("Less", code, self.constant(unknown, np.int64)), GROUP)
        return code

    def onnx_text(self, text: str) -> Value:
        name = f"{OWN}text_{len(self.constants)}"
        self.constants.append(self.onnx.helper.make_tensor(name, STRING, [1], [text]))
        return name

    def checked_uniform(self, draw: Value) -> Value:
        least = self.op("GreaterOrEqual", draw, self.constant(0.0))
        self.require(self.op("And", least, self.op("Less", draw, self.constant(1.0))), UNIFORMS)
        return draw

    # -- XXH64 of 64-bit integers: products wrap around in signed numbers, shifts take unsigned ones ---------------

    def hashed(self, ids: Value, seed: int) -> Value:
        """Uniform numbers of ids, as `fairroc.model.draw.uniforms_from_ids` has them."""
        h = self._spin(self._times(ids, P2), 31)
        h = self.op("BitwiseXor", h, self._word(seed + P5 + 8))
        h = self.op("Add", self._spin(h, 27), self._word(P4))
        for shift, factor in ((33, P2), (29, P3), (32, None)):
            h = self.op("BitwiseXor", h, self._signed(self._shift(self._unsigned(h), shift, "RIGHT")))
            h = h if factor is None else self._times(h, factor)
        top = self._signed(self._shift(self._unsigned(h), 11, "RIGHT"))
        return self.op("Mul", self.op("Cast", top, to=DOUBLE), self.constant(2.0**-53))

    def _word(self, number: int) -> Value:
        return self.constant(int.from_bytes((number & MASK).to_bytes(8), signed=True), np.int64)

    def _times(self, h: Value, factor: int) -> Value:
        return self.op("Mul", h, self._word(factor))

    def _unsigned(self, h: Value) -> Value:
        return self.op("Cast", h, to=13)

    def _signed(self, h: Value) -> Value:
        return self.op("Cast", h, to=INT64)

    def _shift(self, h: Value, bits: int, direction: str) -> Value:
        return self.op("BitShift", h, self.constant(bits, np.uint64), direction=direction)

    def _spin(self, h: Value, left: int) -> Value:
        """Rotate left, then multiply."""
        h = self._unsigned(h)
        turned = self.op("BitwiseOr", self._shift(h, left, "LEFT"), self._shift(h, 64 - left, "RIGHT"))
        return self._times(self._signed(turned), P1)

    # -- lookups --------------------------------------------------------------------------------------------------

    def last(self, table: NDArray[Any], first: Value, last: Value, most: int, value: Value) -> Value:
        """From ``first`` to ``last``, ``most`` entries at most, the last one that is not above a value, or the first:
        by halving, each step a few nodes."""
        entries, at = self.constant(table), first
        for power in reversed(range((most - 1).bit_length())):
            ahead = self.op("Min", self.op("Add", at, self.constant(1 << power, np.int32)), last)
            reached = self.op("LessOrEqual", self.op("GatherElements", entries, ahead), value)
            at = self.op("Where", reached, ahead, at)
        return at

    def looked_up(
        self, tables: LookupTables, score: Value, code: Value, draw: Value | None, threshold: float | None
    ) -> tuple[Value, Value | None]:
        """Fair scores, and acceptance rates at a threshold."""
        cells = tables.cells
        opens = np.array([*cells.opens, len(cells.row)])
        ends, first = opens[1:] - 1, opens[:-1]
        first, ends = (np.append(part, part[0]) for part in (first, ends))  # an unknown group was refused before
        most = max(after - before for before, after in pairwise(opens.tolist()))
        cell = self.last(cells.origin, self.take(first, code), self.take(ends, code), most, score)
        drawn, rate = self.take(cells.row >= 0, cell), None
        kept = self.op("Mul", self.op("Sub", score, self.take(cells.origin, cell)), self.take(cells.slope, cell))
        kept = self.op("Add", kept, self.take(cells.value, cell))
        if threshold is not None:
            rate = self.reached(kept, threshold)
            rate = self.op("Where", drawn, self.take(tables.rates(threshold), cell), rate)
        if draw is None:
            return kept, rate
        place = self.place(tables, cell, draw)
        return self.after_knot(tables, place, kept, drawn), rate

    def reached(self, score: Value, threshold: float) -> Value:
        return self.op("Cast", self.op("GreaterOrEqual", score, self.constant(threshold)), to=DOUBLE)

    def place(self, tables: LookupTables, cell: Value, draw: Value) -> Value:
        """Places of people who are drawn; of others any."""
        cells, outcomes = tables.cells, tables.outcomes
        row, sizes = self.take(np.maximum(cells.row, 0), cell), outcomes.sizes()
        ends = np.cumsum(sizes)
        first, last = self.take(ends - sizes, row), self.take(ends - 1, row)
        at = self.last(outcomes.lower, first, last, int(sizes.max()), draw)
        share = self.op("Sub", draw, self.take(outcomes.lower, at))
        share = self.op("Div", share, self.take(outcomes.width, at))
        level = self.take(outcomes.level, at)
        if (cells.first >= 0).any():
            begin, end = (
                self.op(
                    "Where",
                    self.op("Equal", level, self.take(getattr(cells, which), cell)),
                    self.take(getattr(cells, part), cell),
                    self.constant(other),
                )
                for which, part, other in (("first", "begin", 0.0), ("last", "end", 1.0))
            )
            share = self.op("Add", self.op("Mul", share, self.op("Sub", end, begin)), begin)
        return self.op("Add", share, self.op("Cast", level, to=DOUBLE))

    def after_knot(self, tables: LookupTables, place: Value, kept: Value, drawn: Value) -> Value:
        """Scores of places, of those who are drawn; others have kept their order."""
        knots = tables.knots
        last = self.constant([len(knots.y) - 1], np.int32)
        at = self.last(knots.y, self.constant([0], np.int32), last, len(knots.y), place)
        top, below, after = (
            self.take(knots.score, at),
            self.take(knots.below, at),
            self.op("Sub", place, self.take(knots.y, at)),
        )
        score = self.op("Add", self.op("Mul", after, self.take(knots.slope, at)), top)
        beyond = self.op("Greater", after, self.constant(0.0))
        choices = ((drawn, kept), (beyond, top), (self.op("LessOrEqual", score, below), below))
        return self.chosen(score, choices)

    def chosen(self, value: Value, choices: Sequence[tuple[Value, Value]]) -> Value:
        """The other value of the first choice whose condition does not hold, else this value; copied, since ONNX
        Runtime's Where makes 0.0 of -0.0."""
        index = self.constant(len(choices), np.int32)
        for number, (holds, _) in reversed(list(enumerate(choices))):
            index = self.op("Where", holds, index, self.constant(number, np.int32))
        axis = self.constant([0], np.int64)
        rows = [self.op("Unsqueeze", one, axis) for one in (*(other for _, other in choices), value)]
        found = self.op("GatherElements", self.op("Concat", *rows, axis=0), self.op("Unsqueeze", index, axis), axis=0)
        return self.op("Squeeze", found, axis)

    # -- the model ------------------------------------------------------------------------------------------------

    def model(self, model: ModelData, opset: int) -> Any:
        """All of it as one model, checked by onnx."""
        whole = self.onnx.ModelProto()
        opsets = LEAST_OPSETS | {"": opset}
        if self.after is not None:
            whole.CopyFrom(self.after)
            opsets = joint_opsets(self.onnx, whole, opsets)
            del whole.graph.output[:], whole.opset_import[:]
        whole.opset_import.extend(self.onnx.helper.make_opsetid(*one) for one in opsets.items())
        whole.ir_version = max(whole.ir_version, IR_VERSION)
        whole.producer_name = whole.graph.name = "fairroc"
        whole.producer_version = model.record.package.removeprefix("fairroc ")
        whole.graph.doc_string = f"Fair score, fitted {model.record.date}."
        whole.graph.node.extend(self.nodes)
        whole.graph.initializer.extend(self.constants)
        whole.graph.input.extend(self.inputs)
        whole.graph.output.extend(self.outputs)
        self.onnx.checker.check_model(whole)
        return whole


def joint_opsets(onnx: Any, classifier: Any, least: dict[str, int]) -> dict[str, int]:
    """Versions of operators for a classifier's graph with ours behind it. Converters may name the oldest ones that a
    graph needs: a newer one will do if it defines none of its operators anew."""
    theirs = {one.domain: one.version for one in classifier.opset_import}
    for domain, version in least.items():
        kinds = {node.op_type for node in all_nodes(classifier.graph) if node.domain == domain}
        since = [
            [onnx.defs.get_schema(kind, one, domain).since_version for kind in kinds]
            for one in (theirs.get(domain, version), max(version, theirs.get(domain, version)))
        ]
        if since[0] != since[1]:
            raise DataError(
                f"the classifier's graph must have opset {version}{domain and f' of {domain}'} or newer, got {theirs}. "
                f"Convert it with target_opset={least}, or by onnx.version_converter."
            )
    return theirs | {domain: max(version, theirs.get(domain, 0)) for domain, version in least.items()}


def all_nodes(graph: Any) -> Iterator[Any]:
    """Nodes of a graph, and of graphs inside of them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from all_nodes(inner)
