from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from incrowd.errors import InputError
from incrowd.io import locking


@pytest.fixture(params=["system", "marker"])
def _kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "marker":  # a system or a file system without locks
        monkeypatch.setattr(locking, "lock", lambda _: None)


@pytest.mark.usefixtures("_kind")
def test_one_at_a_time(tmp_path: Path) -> None:
    inside: list[int] = []

    def work(number: int) -> int:
        with locking.locked(tmp_path / "lock"):
            inside.append(number)
            time.sleep(0.005)
            alone = len(inside)
            inside.remove(number)
            return alone

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(work, range(12))) == {1}
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


@pytest.mark.usefixtures("_kind")
def test_who_waits_too_long_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "_PATIENCE", 0.1)
    with (
        locking.locked(tmp_path / "lock"),
        pytest.raises(InputError, match="locked by another process") as caught,
        locking.locked(tmp_path / "lock"),
    ):
        pytest.fail("must not start")
    assert "remove that file" in str(caught.value.hint)
    with locking.locked(tmp_path / "lock"):
        pass


@pytest.mark.usefixtures("_kind")
def test_a_failure_gives_the_lock_back(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), locking.locked(tmp_path / "lock"):
            raise KeyboardInterrupt


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be created"), locking.locked(tmp_path / "no" / "lock"):
        pytest.fail("must not start")
