"""The page on other tools is what the command makes of its rows, and they name what exists."""

from pathlib import Path

from benchmarks import peers

from incrowd.publish import PUBLISHERS


def test_the_page_is_generated():
    assert (Path(__file__).parents[1] / "docs" / "peers.md").read_text(encoding="utf-8") == peers.page()


def test_rows_name_tools_and_methods():
    classes = {publisher.__name__ for publisher in PUBLISHERS.values()}
    for _, offered, here in peers.ROWS:
        assert set(filter(None, offered.split(", "))) <= set(peers.PEERS)
        if here and here.startswith("ic.") and "(k=" in here and "Classifier" not in here:
            assert here[3:].partition("(")[0] in classes
    assert any(here is None for _, _, here in peers.ROWS)
