"""The SQL for PostgreSQL on a real server, compared with numpy bit for bit."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_pipeline import DRAW, from_population, same_bits
from test_pipeline import fitted as fitted_rows
from test_sql import unknown_rows

import spread_cases
from spread_cases import spread_case
from sql_cases import CASES, WILD, Case, case, fitted, rows_for, with_small
from strategies import NORMS, SEEDS, populations

psycopg = pytest.importorskip("psycopg")


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: that of the path, else Debian's newest."""
    found = shutil.which("initdb")
    if found is not None and (Path(found).parent / "postgres").exists():
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return places[-1].parent if places else None


PROGRAMS = programs()
pytestmark = [
    pytest.mark.skipif(PROGRAMS is None, reason="no PostgreSQL on this machine, and `make test` could install none"),
    pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning"),
]


@pytest.fixture(scope="module")
def server():
    """A connection to a server of its own, which listens to a socket in a temporary folder; never run by root."""
    who: dict = {}
    folder = Path(tempfile.mkdtemp(prefix="fairroc-pg-"))
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data = folder / "data"
    how = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, **who}
    make = [PROGRAMS / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
    subprocess.run(make, check=True, capture_output=True, **how)
    command = [PROGRAMS / "postgres", "-D", data, "-k", folder, "-F", "-c", "listen_addresses="]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, **how)
    try:
        with connected(folder, process) as connection:
            yield connection
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        shutil.rmtree(folder)


def connected(folder: Path, process):
    """Wait for the server, which needs a moment to start."""
    for _ in range(600):
        try:
            who = {"host": str(folder), "user": "tester", "dbname": "postgres"}
            return psycopg.connect(**who, autocommit=True, prepare_threshold=None)
        except psycopg.OperationalError:
            assert process.poll() is None, (folder / "log").read_text(encoding="utf-8")
            time.sleep(0.1)
    raise AssertionError((folder / "log").read_text(encoding="utf-8"))


def in_postgres(server, some: Case, **how) -> np.ndarray:
    """Fair scores in the order of the rows, by the call that the SQL itself names in its heading."""
    kinds = {
        "a column": "integer",
        "the score": "double precision",
        'i"d': "bigint" if some.id_type == "integer" else "text",
    }
    names = {name: '"' + name.replace('"', '""') + '"' for name in some.columns}
    server.execute("DROP TABLE IF EXISTS people")
    listed = ", ".join(f"{quoted} {kinds.get(name, 'text')}" for name, quoted in names.items())
    server.execute(f"CREATE TEMPORARY TABLE people ({listed})")
    with server.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
        for row in zip(*some.columns.values(), strict=True):
            copy.write_row(row)
    text = some.sql("postgres", function=f"fair_{some.id_type}_{len(some.groups)}", **how)
    server.execute(text)
    call = next(line for line in text.splitlines() if " SELECT *" in line).partition("newer. ")[2]
    cursor = server.execute(f'SELECT * FROM ({call}) AS t ORDER BY "a column"', binary=True)
    assert cursor.description[-1].name == "the score_fair"
    return np.array([row[-1] for row in cursor], dtype=float)


@pytest.mark.parametrize("name", CASES)
def test_postgres_gives_the_same_bits(server, name):
    assert same_bits(in_postgres(server, case(name)), case(name).expected)


@pytest.mark.parametrize("name", spread_cases.CASES)
def test_postgres_is_told_of_cells_strata_and_attributes(server, name):
    some = spread_case(name)
    kinds = {"f": "double precision", "i": "bigint", "U": "text"}
    listed = ", ".join(f'"{column}" {kinds[values.dtype.kind]}' for column, values in some.columns.items())
    server.execute("DROP TABLE IF EXISTS people")
    server.execute(f"CREATE TEMPORARY TABLE people ({listed})")
    with server.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
        for row in zip(*(values.tolist() for values in some.columns.values()), strict=True):
            copy.write_row(row)
    text = some.model.to_sql("postgres", **some.roles)
    server.execute(text)
    call = next(line for line in text.splitlines() if " SELECT *" in line).partition("newer. ")[2]
    found = np.array([row[-1] for row in server.execute(f"SELECT * FROM ({call}) AS t ORDER BY id", binary=True)])
    assert same_bits(found, some.expected[np.argsort(some.ids)])
    for column in some.probabilities:
        for bad in ("NULL", "'NaN'", "-1e-300", "1.0000000000000002"):
            wrong = call.replace(f'"{column}"', f"{bad}::double precision")
            with pytest.raises(psycopg.Error, match="probabilities of groups must lie between 0 and 1"):
                server.execute(wrong)


def test_a_refit_replaces_the_function_whether_it_draws_or_not(server):
    """The same arguments: calls with an id go on, calls without one stop as soon as it is needed."""
    for name in ("apart", "order", "apart", "unchanged"):
        model = case(name).model if name != "unchanged" else fitted(("a", "b"), seed=8, n=300, epsilon=2.0)
        server.execute(model.to_sql("postgres", function="refit", id="i" if name == "order" else None))
        fair = model.transform([0.5], sensitive_features=["a"], ids=[7]).tolist()
        assert server.execute("SELECT refit(0.5, 'a', 7)").fetchone() == (*fair,)
        if model.needs_ids:
            with pytest.raises(psycopg.Error, match="an id is missing; every row needs one"):
                server.execute("SELECT refit(0.5, 'a')")
        else:
            for rest in ("", ", NULL", ", id => -1"):
                assert server.execute(f"SELECT refit(0.5, 'a'{rest})").fetchone() == (*fair,)
    assert server.execute("SELECT count(*) FROM pg_proc WHERE proname = 'refit'").fetchone() == (1,)


@settings(max_examples=20)
@given(
    populations(max_groups=4),
    st.sampled_from([0.0, 0.05, 0.3]),
    NORMS,
    DRAW,
    SEEDS,
    st.sampled_from(["integer", "text"]),
)
def test_postgres_gives_the_same_bits_on_any_model(server, population, epsilon, norm, draw, seed, kind):
    rows = from_population(population)
    assume(len(np.unique(rows.scores)) > 1)
    some = rows_for(fitted_rows(rows, epsilon, norm, draw).model, kind, seed=seed, n=150)
    assert same_bits(in_postgres(server, some), some.expected)


def test_postgres_unknown_groups_can_be_treated_as_another(server):
    some = unknown_rows(case("draw"))
    expected = some.model.transform(
        some.scores, sensitive_features=some.groups["a group"], ids=np.array(some.ids), on_unknown_group=WILD[1]
    )
    assert same_bits(in_postgres(server, some, on_unknown_group=WILD[1]), expected)


BAD = {
    "NULL::double precision, 'a', 1": "scores must be finite",
    "'NaN'::double precision, 'a', 1": "scores must be finite",
    "'Infinity'::double precision, 'a', 1": "scores must be finite",
    "-2e307, 'a', 1": "scores must be finite",
    "0.5, 'A', 1": "does not know the group: A",
    "0.5, 'a ', 1": "does not know the group: a ",
    "0.5, 'x', 1": "too small, and left out of the fit, was the group: x",
    "0.5, NULL, 1": "a group is missing",
    "0.5, 'a', NULL": "an id is missing",
    "0.5, 'a', 1.5": "does not exist",
    "0.5, 'a', 'x'::text": "does not exist",
    "'0.5'::text, 'a', 1": "does not exist",
}


@pytest.mark.parametrize("name", ["order", "apart", "unchanged"])
def test_postgres_refuses(server, name):
    model = fitted(("a", "b"), seed=8, n=300, epsilon=2.0) if name == "unchanged" else case(name).model
    model = with_small(model, "drop", "x")
    server.execute(model.to_sql("postgres", function=f"bad_{name}"))
    for arguments, message in BAD.items():
        if "id" in message and not model.needs_ids:
            continue
        with pytest.raises(psycopg.Error, match=message):
            server.execute(f"SELECT bad_{name}({arguments})").fetchall()
    if not model.needs_ids:
        return
    server.execute(model.to_sql("postgres", function=f"bad_{name}", id_type="text"))
    with pytest.raises(psycopg.Error, match="an id is missing"):
        server.execute(f"SELECT bad_{name}(0.5, 'a', ''::text)").fetchall()


def test_postgres_names_numbers_as_python_does(server):
    server.execute(fitted(("1", "-2.05"), seed=8, n=300, epsilon=2.0).to_sql("postgres", function="numbered"))
    given = "'1'", "'1.00'", "1.00::text", "'-2.050'"
    assert [server.execute(f"SELECT numbered(0.5, {name}, 1)").fetchone()[0] for name in given] == [0.5] * 4
    for name in ("01.0", "1.0.0", "2.05"):
        with pytest.raises(psycopg.Error, match=f"does not know the group: {name}"):
            server.execute(f"SELECT numbered(0.5, '{name}', 1)")


def test_postgres_compares_names_byte_by_byte(server):
    """Even where the caller's column has a collation in which A and a are equal."""
    icu = server.execute("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'").fetchone()[0]
    if not icu:
        pytest.skip("this PostgreSQL was built without ICU")
    server.execute("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    server.execute(case("order").model.to_sql("postgres", function="bytewise"))
    with pytest.raises(psycopg.Error, match="does not know the group: A"):
        server.execute("SELECT bytewise(0.5, 'A' COLLATE loose, 1)").fetchall()
