import json
import subprocess
import sys

import polars as pl


def test_rounded_rules(tmp_path):
    """84 of 112 people, out of 1010, with numbers of three decimals."""
    rules = pl.DataFrame({"antecedents": ["cherries"], "consequents": ["viagra"], "support": 0.083, "confidence": 0.75})
    rules.write_csv(tmp_path / "rules.csv")

    def audit(*options):
        given = ["rules.csv", "--public", "cherries", "--people", "1010", "-k", "2", *options]
        command = [sys.executable, "-m", "incrowd", "audit", *given]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    refused = audit()
    assert refused.returncode == 2
    said = " ".join(refused.stderr.split())
    assert "--people" in said
    assert "--rounding" in said
    found = audit("--rounding", "0.0005", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["level"] >= 110
