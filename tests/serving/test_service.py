"""The service, asked in this process: the library's bits, or one shape of refusal that says which value is to blame."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc import FairModel
from fairroc.cli.main import main
from fairroc.serving.log import _Lines
from fairroc.serving.problems import TITLES, Problem
from fitted_people import FairROC
from spread_cases import spread_case

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fairroc.serving.app import HELD, SMALL, Service  # noqa: E402
from fairroc.serving.payload import COLUMNS, Settings, fair_scores, parsed, people_of  # noqa: E402

KEY = b"a secret of more than 16 bytes"
DOCS = Path(__file__).parents[2] / "docs"


def people(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    sex, y = rng.choice(["f", "m"], n), rng.integers(0, 2, n)
    return np.round(1 / (1 + np.exp(-y - (1 + (sex == "m")) * rng.normal(size=n))), 3), y, sex


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models: plain, with a key, of two columns, two that draw nobody, and one for the cryptographic hash."""
    path = tmp_path_factory.mktemp("models")
    score, y, sex = people(900)
    both = {"sex": sex, "age": np.where(np.arange(len(y)) % 2, "old", "young")}
    one_rate: Any = {"constraint": "equal_opportunity", "draw": "never"}
    for name, groups, more in (
        ("plain", sex, {"draw": "all"}),
        ("keyed", sex, {"constraint": "equal_opportunity", "key": KEY}),
        ("both", both, {"draw": "all"}),
        ("sure", sex, one_rate),
        ("tied", sex, {"draw": "never"}),
        ("slow", sex, {"draw": "all", "hash": "blake2b", "key": KEY}),
    ):
        FairROC(epsilon=0.1, salt=7, **more).fit(score, y, sensitive_features=groups).model_.save(path / f"{name}.json")
    (path / "key").write_bytes(KEY + b"\n")
    return path


@pytest.fixture(scope="module")
def plain(folder: Path) -> Service:
    return Service(Settings(str(folder / "plain.json"), max_body=0.1, max_people=1000, timeout=0.5))


def ask(service: Service, path: str, body: Any = None, method: str | None = None, **more: Any) -> Any:
    """One request; a body that is no bytes goes as JSON."""

    async def one() -> Any:
        transport = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            if body is None:
                return await client.request(method or "GET", path, **more)
            content = body if isinstance(body, bytes | AsyncIterator) else json.dumps(body).encode()
            headers = {"content-type": "application/json", **more.pop("headers", {})}
            return await client.request(method or "POST", path, content=content, headers=headers, **more)

    return asyncio.run(one())


def refused(answer: Any, kind: str) -> dict[str, Any]:
    """The problem, in the shape that all have."""
    found: dict[str, Any] = answer.json()
    status, title = TITLES[kind]
    assert answer.status_code == status == found["status"], found
    assert answer.headers["content-type"] == "application/problem+json"
    assert found["type"].endswith(f"#{kind}") and found["title"] == title and found["detail"].endswith(".")
    assert set(found) <= {"type", "title", "status", "detail", "errors"}
    return found


# ---- scores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "keyed", "slow", "sure", "tied"])
@pytest.mark.parametrize("n", [1, 3, 700])
def test_answers_have_the_bits_of_the_library_in_every_form(folder: Path, name: str, n: int) -> None:
    keyed = name in ("keyed", "slow")
    service = Service(Settings(str(folder / f"{name}.json"), key=str(folder / "key") if keyed else None))
    score, _, sex = people(n, seed=1)
    for ids in ([*range(n)], [f"id-ü{i}" for i in range(n)]):
        model = FairModel.load(folder / f"{name}.json")
        fair = model.transform(score, sensitive_features=sex, ids=ids, key=KEY if keyed else None).tolist()
        rows = [{"id": i, "score": s, "group": g} for i, s, g in zip(ids, score.tolist(), sex.tolist(), strict=True)]
        columns = {"ids": ids, "scores": score.tolist(), "groups": sex.tolist()}
        found = ask(service, "/v1/scores", columns).json()
        assert found == {"fair_scores": fair, "warnings": [], "model": service.checksum}
        listed = ask(service, "/v1/scores", {"people": rows}).json()
        assert listed["people"] == [{"id": i, "fair_score": f} for i, f in zip(ids, fair, strict=True)]
        one = ask(service, "/v1/scores", rows[0]).json()
        assert one == {"id": ids[0], "fair_score": fair[0], "warnings": [], "model": service.checksum}


def test_several_group_columns(folder: Path) -> None:
    service = Service(Settings(str(folder / "both.json")))
    groups = {"sex": ["f", "m", "m"], "age": ["old", "old", "young"]}
    fair = FairModel.load(folder / "both.json").transform([0.2, 0.4, 0.6], sensitive_features=groups, ids=[1, 2, 3])
    asked = {"scores": [0.2, 0.4, 0.6], "ids": [1, 2, 3]}
    for form in ([["f", "old"], ["m", "old"], ["m", "young"]], ["f & old", "m & old", "m & young"]):
        assert ask(service, "/v1/scores", {**asked, "groups": form}).json()["fair_scores"] == fair.tolist()
    mixed = ask(service, "/v1/scores", {**asked, "groups": ["f & old", ["m", "old"], "m & young"]})
    assert "a name, or a list of as many values" in refused(mixed, "invalid-request")["detail"]
    wrong = ask(service, "/v1/scores", {**asked, "groups": [["f", "old"], ["m"], ["m", "young"]]})
    assert [error["pointer"] for error in refused(wrong, "invalid-request")["errors"]] == ["#/groups/1"]


def test_who_draws_nobody_needs_no_ids(folder: Path) -> None:
    service = Service(Settings(str(folder / "sure.json")))
    fair = FairModel.load(folder / "sure.json").transform([0.2], sensitive_features=["f"])[0]
    assert ask(service, "/v1/scores", {"score": 0.2, "group": "f"}).json()["fair_score"] == fair
    assert ask(service, "/v1/scores", {"scores": [0.2], "groups": ["f"]}).json()["fair_scores"] == [fair]
    rows = [{"score": 0.2, "group": "f"}] * 2
    assert [row["fair_score"] for row in ask(service, "/v1/scores", {"people": rows}).json()["people"]] == [fair] * 2
    odd: list[Any] = [3, "x", None, True, 1.5, {"a": [1]}, 10**30]
    mixed = ask(service, "/v1/scores", {"people": [rows[0], *(rows[0] | {"id": id} for id in odd)]}).json()["people"]
    assert mixed == [{"id": id, "fair_score": fair} for id in (None, 3, "x", None, None, None, None, 10**30)]
    for ids in ([[]], [None], "none", [1, 2]):
        columns = {"scores": [0.2], "groups": ["f"], "ids": ids}
        assert ask(service, "/v1/scores", columns).json()["fair_scores"] == [fair]
    told = ask(service, "/v1/explanations", rows[0] | {"id": [[1]], "threshold": 0.5}).json()
    assert told["draw"] is None and told["acceptance"] == float(fair >= 0.5)
    typed = Service(Settings(str(folder / "sure.json"), key=str(folder / "key"), id_type="integer"))
    assert ask(typed, "/v1/scores", rows[0] | {"id": "x"}).json()["fair_score"] == fair
    api = ask(service, "/openapi.json").json()
    assert "Ids may be left out, and are ignored" in api["paths"]["/v1/scores"]["post"]["description"]
    assert "type" not in api["components"]["schemas"]["Person"]["properties"]["id"]


GOOD = {"score": 0.2, "group": "f", "id": 1}


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["#/score"]),
        ({"score": 0.2, "group": "f"}, ["#/id"]),
        (GOOD | {"id": None}, ["#/id"]),
        (GOOD | {"id": 1.5}, ["#/id"]),
        (GOOD | {"id": True}, ["#/id"]),
        (GOOD | {"id": 2**64}, ["#/id"]),
        (GOOD | {"id": "\ud800"}, ["#/id"]),
        (GOOD | {"id": [1]}, ["#/id"]),
        (GOOD | {"score": "0.2"}, ["#/score"]),
        (GOOD | {"score": None}, ["#/score"]),
        (GOOD | {"score": True}, ["#/score"]),
        (GOOD | {"score": 1e308}, ["#/score"]),
        (GOOD | {"score": 10**400}, ["#/score"]),
        (GOOD | {"score": {}, "group": {}, "id": {}}, ["#/score", "#/group", "#/id"]),
        (GOOD | {"scor": 1}, ["#/scor"]),
        (GOOD | {"a/b~": 1}, ["#/a~1b~0"]),
        ({"people": []}, ["#/people"]),
        ({"people": 3}, ["#/people"]),
        ({"people": [GOOD, 7]}, ["#/people/1"]),
        ({"people": [GOOD, {"score": 1}]}, ["#/people/1/group"]),
        ({"people": [GOOD] * 9 + [GOOD | {"score": "x"}, GOOD | {"id": []}]}, ["#/people/9/score", "#/people/10/id"]),
        ({"people": [GOOD], "ids": [1]}, ["#/ids"]),
        ({"scores": [0.1], "groups": ["f"]}, ["#/ids"]),
        ({"scores": [0.1], "ids": [1]}, ["#/groups"]),
        ({"scores": 0.1, "groups": ["f"], "ids": [1]}, ["#/scores"]),
        ({"scores": [None] * 30, "groups": ["f"] * 30, "ids": [1] * 30}, [f"#/scores/{i}" for i in range(10)]),
    ],
)  # fmt: skip
def test_values_that_cannot_be_used_are_named_and_nothing_is_answered(
    plain: Service, body: Any, pointers: list[str]
) -> None:
    found = refused(ask(plain, "/v1/scores", body), "invalid-request")
    assert [error["pointer"] for error in found["errors"]] == pointers


def test_columns_of_different_length(plain: Service) -> None:
    found = refused(ask(plain, "/v1/scores", {"scores": [0.1], "groups": ["f"], "ids": [1, 2]}), "invalid-request")
    assert "scores 1, groups 1, ids 2" in found["detail"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "Expecting value"),
        (b"[1]", "it is a list"),
        (b'{"score": NaN}', "NaN is no JSON number"),
        (b'{"score": -Infinity}', "-Infinity is no JSON number"),
        (b'{"score": 1, "score": 2}', "a field twice"),
        (b'{"id": "\xff"}', "byte 8 is not UTF-8"),
        (b"[" * 30_000, "nested too deeply"),
        (b'{"id": ' + b"9" * 5000 + b"}", "limit"),
    ],
)
def test_bodies_that_are_no_json(plain: Service, body: bytes, why: str) -> None:
    assert why in refused(ask(plain, "/v1/scores", body), "invalid-json")["detail"]


def test_unknown_groups(plain: Service, folder: Path) -> None:
    body = {"scores": [0.1, 0.2], "groups": ["f", "x"], "ids": [1, 2]}
    found = refused(ask(plain, "/v1/scores", body), "unknown-group")
    assert found["errors"] == [{"pointer": "#/groups/1", "detail": "must be one of 'f', 'm', got \"x\""}]
    service = Service(Settings(str(folder / "plain.json"), on_unknown_group="m"))
    answer = ask(service, "/v1/scores", body).json()
    fair = ask(service, "/v1/scores", body | {"groups": ["f", "m"]}).json()
    assert answer["fair_scores"] == fair["fair_scores"] and fair["warnings"] == []
    assert answer["warnings"][0].startswith("1 of 2 rows belong to groups that were not fitted")


def test_scores_out_of_range_and_ids_that_repeat_are_treated_as_by_the_command_line(
    plain: Service, folder: Path
) -> None:
    alone = ask(plain, "/v1/scores", GOOD | {"score": 7}).json()
    assert alone["warnings"][0].startswith("1 of 1 scores (100.0%) lie outside of the range")
    many = {"scores": [7.0] * 6 + [0.5] * 5, "groups": ["f"] * 11, "ids": [*range(11)]}
    assert "another scale" in refused(ask(plain, "/v1/scores", many), "out-of-range")["detail"]
    service = Service(Settings(str(folder / "plain.json"), allow_out_of_range=True))
    assert len(ask(service, "/v1/scores", many).json()["fair_scores"]) == 11
    twice = ask(plain, "/v1/scores", {"scores": [0.2, 0.3], "groups": ["f", "f"], "ids": [1, 1]}).json()
    assert twice["warnings"][0].startswith("2 rows have 1 different ids")


def test_ids_of_one_type(folder: Path) -> None:
    service = Service(Settings(str(folder / "plain.json"), id_type="text"))
    assert ask(service, "/v1/scores", GOOD | {"id": "1"}).status_code == 200
    found = refused(ask(service, "/v1/scores", {"people": [GOOD | {"id": "1"}, GOOD]}), "invalid-request")
    assert found["errors"] == [{"pointer": "#/people/1/id", "detail": "must be text here (--id-type text)"}]


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from(["f", "m", 0.5, 17])),
    st.lists(st.sampled_from(["f", 1, None, []]), max_size=3),
    st.just({}),
)
PERSON = st.fixed_dictionaries({}, optional=dict.fromkeys(("score", "group", "id", "x"), VALUES))


@given(
    st.one_of(
        PERSON,
        st.fixed_dictionaries({"people": st.lists(st.one_of(PERSON, st.just(GOOD)), max_size=12)}),
        st.fixed_dictionaries({name: st.lists(VALUES, min_size=2, max_size=2) for name in ("scores", "groups", "ids")}),
    )
)
@settings(max_examples=150)
def test_any_body_is_refused_or_has_the_bits_of_the_library(plain: Service, body: Any) -> None:
    try:
        people = people_of(parsed(json.dumps(body).encode(), plain.rules), plain.rules)
        fair, _ = fair_scores(people, plain.rules)
    except Problem as problem:
        assert problem.status in (400, 422) and json.loads(problem.body())["detail"]
        return
    groups = people.group if not isinstance(people.group[0], list) else np.array(people.group)
    model, known = plain.rules.model, {"ids": people.id, "sensitive_features": groups}
    assert fair.tolist() == model.transform(people.score, **known, allow_out_of_range=True).tolist()


# ---- explanations, facts, description ------------------------------------------------------------------------------


def test_explanations(plain: Service, folder: Path) -> None:
    model = FairModel.load(folder / "plain.json")
    asked = {"score": 0.4, "group": "m", "threshold": 0.5, "id": "a", "positive_means": "invited"}
    found = model.explain(0.4, "m", threshold=0.5, id="a", positive_means="invited")
    expected = json.loads(json.dumps(found.to_dict() | {"text": found.text, "model": plain.checksum}))
    assert ask(plain, "/v1/explanations", asked).json() == expected
    assert ask(plain, "/v1/explanations", {"score": 0.4, "group": "m"}).json()["draw"] is None
    for wrong, at in (
        ({"threshold": "0.5"}, "#/threshold"),
        ({"threshold": float("inf")}, "#/threshold"),
        ({"score": []}, "#/score"),
        ({"id": 1.5}, "#/id"),
        ({"x": 1}, "#/x"),
    ):
        body = json.dumps(asked | wrong).replace("Infinity", "1e999").encode()  # JSON of a number that is none
        assert refused(ask(plain, "/v1/explanations", body), "invalid-request")["errors"][0]["pointer"] == at
    assert (
        "positive_means"
        in refused(ask(plain, "/v1/explanations", asked | {"positive_means": 3}), "invalid-request")["detail"]
    )
    refused(ask(plain, "/v1/explanations", asked | {"group": "x"}), "unknown-group")


@pytest.mark.parametrize("name", ["plain", "keyed", "slow", "both", "sure", "tied"])
def test_the_description_is_true_and_holds_no_secret(folder: Path, name: str) -> None:
    keyed = name in ("keyed", "slow")
    service = Service(Settings(str(folder / f"{name}.json"), key=str(folder / "key") if keyed else None))
    described = ask(service, "/openapi.json")
    api = described.json()
    schema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    examples = 0

    def fits(value: Any, content: dict[str, Any]) -> None:
        schema.validate(value, {**content["schema"], "components": api["components"]})

    for path, methods in api["paths"].items():
        for method, about in methods.items():
            told = about["responses"]["200"]["content"]["application/json"]
            if method == "get":
                assert ask(service, path).json() == told["example"]
                continue
            for form, example in about["requestBody"]["content"]["application/json"]["examples"].items():
                answer = ask(service, path, example["value"])
                assert answer.status_code == 200
                fits(example["value"], about["requestBody"]["content"]["application/json"])
                fits(answer.json(), told)
                refusal = about["responses"]["415"]["content"]["application/problem+json"]
                fits(ask(service, path, b"", headers={"content-type": "text/csv"}).json(), refusal)
                if "examples" in told:
                    assert answer.json() == told["examples"][form]["value"]
                    examples += 1
    assert examples >= (1 if keyed else 4)
    assert set(api["paths"]) | {"/openapi.json", "/docs"} == set(service.paths)
    facts = ask(service, "/v1/model").json()
    assert facts["keyed"] is keyed and facts["needs_ids"] is (name not in ("sure", "tied")) and facts["epsilon"] == 0.1
    model = FairModel.load(folder / f"{name}.json")
    shown = repr([service.rules, service.settings, service.source])
    for text in (described.text, ask(service, "/docs").text, shown):
        assert KEY.decode() not in text and (not keyed or str(model.key_fingerprint) not in text)


def test_no_draw_of_a_secret_key_is_an_example(folder: Path) -> None:
    """Two exact draws give away all others (docs/explanation/draws.md): only who is not drawn is shown."""
    service = Service(Settings(str(folder / "keyed.json"), key=str(folder / "key")))
    model = FairModel.load(folder / "keyed.json")
    told = ask(service, "/openapi.json").json()["paths"]["/v1/scores"]["post"]
    for person in told["requestBody"]["content"]["application/json"]["examples"]["rows"]["value"]["people"]:
        shown = "examples" in told["responses"]["200"]["content"]["application/json"]
        assert not shown or model.explain(person["score"], person["group"]).reason == "order"


def test_the_guide_lists_every_problem() -> None:
    text = (DOCS / "guides" / "service.md").read_text(encoding="utf-8")
    for kind, (status, _) in TITLES.items():
        assert f'id="{kind}"' in text and f"| {status} |" in text


# ---- limits --------------------------------------------------------------------------------------------------------


async def chunks(*parts: bytes, pause: float = 0.0) -> AsyncIterator[bytes]:
    for part in parts:
        await asyncio.sleep(pause)
        yield part


def test_large_bodies_are_refused_with_and_without_a_length(plain: Service) -> None:
    large = b'{"ids": [' + b" " * 100_000
    for body in (large, chunks(large[:50_000], large[50_000:])):
        assert "100,000 bytes" in refused(ask(plain, "/v1/scores", body), "body-too-large")["detail"]
    assert plain.held == 0


def test_too_many_people(plain: Service) -> None:
    body = {"scores": [0.1] * 1001, "groups": ["f"] * 1001, "ids": [*range(1001)]}
    assert (
        "1,000 people at most (--max-people), got 1,001"
        in refused(ask(plain, "/v1/scores", body), "too-many-people")["detail"]
    )
    rows = [{"score": 0.5, "group": "f", "id": i} for i in range(1001)]
    assert ask(plain, "/v1/scores", {"people": rows[:1000]}).status_code == 200
    assert "got more than 1,000" in refused(ask(plain, "/v1/scores", {"people": rows}), "too-many-people")["detail"]


def test_a_body_that_trickles_in_is_given_up(plain: Service) -> None:
    answer = ask(plain, "/v1/scores", chunks(b'{"score"', b": 0.2", b', "group": "f"', b"}", pause=0.2))
    assert "within 0.5 seconds" in refused(answer, "request-timeout")["detail"]
    assert answer.headers["connection"] == "close" and plain.held == 0


def test_more_than_memory_allows_is_asked_to_come_again(plain: Service) -> None:
    plain.held = HELD * plain.settings.largest
    try:
        answer = ask(plain, "/v1/scores", GOOD)
        assert answer.headers["retry-after"] == "1" and refused(answer, "busy")
    finally:
        plain.held = 0
    assert ask(plain, "/v1/scores", GOOD).status_code == 200


def test_large_work_waits_for_a_thread_and_not_for_ever(plain: Service) -> None:
    n = 900
    body = {"scores": [0.25] * n, "groups": ["f"] * n, "ids": [*range(n)]}
    assert len(json.dumps(body)) < SMALL
    body["ids"] = [f"{i:020}" for i in range(n)]  # type: ignore[misc]
    assert len(json.dumps(body)) > SMALL
    assert ask(plain, "/v1/scores", body).status_code == 200
    free, plain.free = plain.free, asyncio.Semaphore(0)
    try:
        refused(ask(plain, "/v1/scores", body), "busy")
        assert ask(plain, "/v1/scores", GOOD).status_code == 200  # small requests go on
    finally:
        plain.free = free


@pytest.mark.parametrize(
    "headers", [{"content-type": "text/csv"}, {"content-type": ""}, {"content-encoding": "gzip"}], ids=str
)
def test_other_kinds_of_bodies(plain: Service, headers: dict[str, str]) -> None:
    refused(ask(plain, "/v1/scores", GOOD, headers=headers), "unsupported-media-type")


def test_paths_and_methods(plain: Service) -> None:
    refused(ask(plain, "/people/12345"), "not-found")
    refused(ask(plain, "/v1/scores/"), "not-found")
    assert ask(plain, "/v1/scores", method="GET").headers["allow"] == "POST"
    refused(ask(plain, "/v1/scores", method="DELETE"), "method-not-allowed")
    refused(ask(plain, "/v1/model", method="POST"), "method-not-allowed")
    assert ask(plain, "/health/live", method="HEAD").status_code == 200


def test_a_service_that_stops_says_so_and_still_answers(folder: Path) -> None:
    service = Service(Settings(str(folder / "plain.json")))
    assert ask(service, "/health/ready").status_code == 200
    service.stopping = True
    refused(ask(service, "/health/ready"), "stopping")
    assert ask(service, "/health/live").status_code == 200
    answer = ask(service, "/v1/scores", GOOD)
    assert answer.status_code == 200 and answer.headers["connection"] == "close"


# ---- log -----------------------------------------------------------------------------------------------------------


def test_what_nobody_foresaw_is_answered_and_logged_without_what_was_sent(
    plain: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(body: bytes, rules: Any) -> Any:
        raise KeyError("person-4711")

    monkeypatch.setattr("fairroc.serving.app.parsed", fail)
    with caplog.at_level(logging.INFO, "fairroc.serving"):
        found = refused(ask(plain, "/v1/scores", GOOD), "internal-error")
    for form in ("text", "json"):
        lines = [_Lines(form).format(record) for record in caplog.records]
        assert "KeyError" in lines[0] and "app.py:" in lines[0]
        assert "4711" not in "".join(lines) + str(found)
    assert json.loads(lines[1])["status"] == 500


def test_the_log_tells_of_requests_and_nothing_of_people(plain: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "fairroc.serving"):
        marks = [
            ask(plain, path, body, params={"id": "person-4711"}).headers["x-request-id"]
            for path, body in (("/v1/scores", GOOD | {"id": "person-4711", "score": 0.4712}), ("/person-4711", None))
        ]
    lines = [json.loads(_Lines("json").format(record)) for record in caplog.records]
    assert [line["request"] for line in lines] == marks
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("POST", "/v1/scores", 200),
        ("GET", "(other)", 404),
    ]
    assert lines[0]["people"] == 1 and lines[0]["bytes_in"] > 0
    assert "471" not in str([{k: v for k, v in line.items() if k not in ("request", "time", "ms")} for line in lines])


# ---- container -----------------------------------------------------------------------------------------------------


def test_the_container_starts_what_there_is(capsys: pytest.CaptureFixture[str], plain: Service) -> None:
    """As far as can be told without building it: the command parses, paths and port are the service's, no root."""
    lines = (DOCS.parent / "Containerfile").read_text(encoding="utf-8").splitlines()
    words = {line.split()[0]: line.partition(" ")[2] for line in lines if line and not line.startswith((" ", "#"))}
    entry, given = json.loads(words["ENTRYPOINT"]), json.loads(words["CMD"])
    assert entry[:2] == ["fairroc", "serve"] and main([*entry[1:], *given]) == 2
    assert "/model/model.json" in capsys.readouterr().err  # understood, and not found here
    assert words["EXPOSE"] == entry[entry.index("--port") + 1] == "8000"
    check = json.loads(next(line for line in lines if line.startswith("  CMD")).partition("CMD ")[2])
    assert any(f":8000{path}'" in check[-1] for path in plain.paths)
    compile(check[-1], "healthcheck", "exec")
    assert words["USER"] == "10001:10001" and words["STOPSIGNAL"] == "SIGTERM"


# ---- cells and strata ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["proxy", "proxy in strata", "score alone", "each", "strata"])
def test_models_that_are_told_of_cells_and_strata(tmp_path: Path, name: str) -> None:
    some = spread_case(name)
    some.model.save(tmp_path / "model.json")
    service = Service(Settings(str(tmp_path / "model.json")))
    service.warm()
    described = ask(service, "/openapi.json").json()
    examples = described["paths"]["/v1/scores"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    for form in ("one", "rows", "columns"):
        assert ask(service, "/v1/scores", examples[form]["value"]).status_code == 200
    rows = slice(0, 40)  # some have probabilities at the tree's thresholds
    named = [(field, list(columns.values())) for field, columns in (("group", some.groups), ("control", some.controls))]
    told = [
        {field: values[0] if len(values) == 1 else values for field, values in zip_rows(named, i)} for i in range(40)
    ]
    for i, one in enumerate(told):
        if some.probabilities:
            values = {column: float(part[i]) for column, part in some.probabilities.items()}
            one["group_probabilities"] = values if i % 2 else list(values.values())
            if len(values) == 1 and i % 3 == 0:
                one["group_probabilities"] = next(iter(values.values()))
    scores, ids = some.scores[rows].tolist(), some.ids[rows].tolist()
    people_ = [{"score": s, "id": d, **one} for s, d, one in zip(scores, ids, told, strict=True)]
    columns = {
        "scores": scores,
        "ids": ids,
        **{COLUMNS[field]: [one[field] for one in told] for field in told[0]},
    }
    expected = some.expected[rows].tolist()
    assert ask(service, "/v1/scores", columns).json()["fair_scores"] == expected
    assert [one["fair_score"] for one in ask(service, "/v1/scores", {"people": people_}).json()["people"]] == expected
    assert ask(service, "/v1/scores", people_[7]).json()["fair_score"] == expected[7]
    explained = ask(service, "/v1/explanations", people_[7] | {"threshold": 0.5})
    assert explained.status_code == 200 and explained.json()["draw"]["score"] == expected[7]
    if not some.model.use_group:  # no word of a guess of the group
        assert explained.json()["group"] is None and not any(cell in explained.text for cell in some.model.proxy.names)
    facts = ask(service, "/v1/model").json()
    assert facts["use_group"] == some.model.use_group and facts["compared"][0]["groups"]
    assert facts["group_probabilities"] == list(some.probabilities) and facts["controls"] == len(some.controls)


def zip_rows(named: list[tuple[str, list[Any]]], row: int) -> list[tuple[str, list[Any]]]:
    """The values of one row, of those fields that have any."""
    return [(field, [column[row].item() for column in columns]) for field, columns in named if columns]


def test_what_is_wrong_with_probabilities_and_strata_is_named(tmp_path: Path) -> None:
    some = spread_case("proxy in strata")
    some.model.save(tmp_path / "model.json")
    service = Service(Settings(str(tmp_path / "model.json")))
    good = {"score": 0.5, "id": 1, "control": [0, "a"], "group_probabilities": 0.3}
    assert ask(service, "/v1/scores", good).status_code == 200
    for wrong in (1.5, -0.1, None, "0.3", True, [0.3, 0.7], {"other": 0.3}, []):
        found = refused(ask(service, "/v1/scores", good | {"group_probabilities": wrong}), "invalid-request")
        assert [error["pointer"] for error in found["errors"]] == ["#/group_probabilities"]
        assert "must have numbers from 0 to 1 for r, as a list in this order or by name" in found["detail"]
    found = refused(ask(service, "/v1/scores", {"people": [good, good | {"control": [0, "z"]}]}), "unknown-group")
    assert [error["pointer"] for error in found["errors"]] == ["#/people/1/control"] and "cell" not in str(found)
    found = refused(ask(service, "/v1/scores", good | {"group": "f"}), "invalid-request")
    assert found["detail"].startswith("#/group is not known here; there are score, control, group_probabilities and id")
    for field in ("control", "group_probabilities"):
        without = {name: value for name, value in good.items() if name != field}
        found = refused(ask(service, "/v1/scores", without), "invalid-request")
        assert found["detail"] == f"#/{field} is missing."
    columns = {"scores": [0.5], "ids": [1], "controls": [[0, "a"]], "group_probabilities": [2]}
    found = refused(ask(service, "/v1/scores", columns), "invalid-request")
    assert [error["pointer"] for error in found["errors"]] == ["#/group_probabilities/0"]
