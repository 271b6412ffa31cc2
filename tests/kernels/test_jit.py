"""The compile cache: what is forgotten when a kernel file changes."""

from incrowd.kernels import jit


def test_only_what_uses_a_changed_file_is_forgotten(tmp_path):
    forget = jit._forget_stale_cache.__wrapped__
    (tmp_path / "low.py").write_text("x = 1\n")
    (tmp_path / "high.py").write_text("from incrowd.kernels.low import x\n")
    (tmp_path / "top.py").write_text("from incrowd.kernels.high import x\n")
    (tmp_path / "apart.py").write_text("y = 1\n")
    kept = tmp_path / "__pycache__"
    kept.mkdir()

    def compiled():
        for name in ("low", "high", "top", "apart"):
            (kept / f"{name}.f-1.py311.1.nbc").touch()

    def left():
        return {path.name.partition(".")[0] for path in kept.glob("*.nbc")}

    forget(tmp_path)
    compiled()
    forget(tmp_path)
    assert left() == {"low", "high", "top", "apart"}
    (tmp_path / "low.py").write_text("x = 22\n")
    forget(tmp_path)
    assert left() == {"apart"}
    compiled()
    (tmp_path / "top.py").write_text("from incrowd.kernels.high import x  # new\n")
    forget(tmp_path)
    assert left() == {"low", "high", "apart"}
