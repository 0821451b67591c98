"""Spark Connect gives the model and the fair scores that numpy gives, bit for bit: by data frames and by SQL."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from java import require_java

NEEDED = ("pyspark", "grpc", "grpc_status", "zstandard")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

SCRIPT = """
import warnings
warnings.simplefilter("ignore")
import json
import numpy as np
from pyspark.sql import SparkSession
from fairroc import FairROC, frames

settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "1", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
builder = SparkSession.builder.remote("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
assert type(session).__module__ == "pyspark.sql.connect.session", type(session)

def same(found, expected):
    found = np.asarray(found, dtype=float)
    return bool(np.array_equal(found.view(np.int64), np.asarray(expected, dtype=float).view(np.int64)))

done = {}
rng = np.random.default_rng(0)
g, y = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
p = (y + (1 + g) * rng.normal(size=600)).round(2)
rows = [(i, "fm"[a], int(b), float(c)) for i, (a, b, c) in enumerate(zip(g, y, p))]
people = session.createDataFrame(rows, "id bigint, sex string, y int, p double")
names = {"score": "p", "group": "sex"}
post = frames.fit(people, **names, label="y", epsilon=0.1, promise="fitted", salt=1)
local = FairROC(epsilon=0.1, promise="fitted", salt=1).fit(p, y, sensitive_features=np.array(["f", "m"])[g])
bodies = [json.loads(one.model_.to_json()) for one in (post, local)]
for body in bodies:
    del body["fit"], body["checksum"]
done["fit"] = bodies[0] == bodies[1]
expected = local.model_.transform(p, sensitive_features=np.array(["f", "m"])[g], ids=np.arange(600))
fair = frames.transform(people, post, **names, id="id").sort("id").collect()
done["transform"] = same([row.p_fair for row in fair], expected)
people.createOrReplaceTempView("people")
query = local.model_.to_sql("spark", **names, id="id")
done["sql"] = same([row.p_fair for row in sorted(session.sql(query).collect(), key=lambda row: row.id)], expected)
print("DONE " + json.dumps(done), flush=True)
session.stop()
"""


@pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}: pip install 'pyspark[connect]'")
@pytest.mark.xdist_group("spark SQL")
def test_spark_connect_gives_the_same_bits(tmp_path):
    """In a process of its own: a process has classic sessions or those of Connect."""
    require_java()
    path = os.pathsep.join(filter(None, sys.path))
    settings = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_TESTING": "1"}  # the last: any free port
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **settings}, cwd=tmp_path, capture_output=True, text=True
    )
    assert "DONE " in found.stdout, found.stdout[-2000:] + found.stderr[-4000:]
    line = next(line for line in found.stdout.splitlines() if line.startswith("DONE "))
    assert line == 'DONE {"fit": true, "transform": true, "sql": true}', line
