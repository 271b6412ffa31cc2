"""Figures of the privacy page, from docs/results: never typed."""

import re

ROWS = {("mondrian", "10", "1.1"), ("nsvdist paper", "10", "1.1"), ("nsvdist hardened", "10", "1.1")}


def write(folder):
    """Write the table of attacks that the privacy page includes."""
    (folder / "measured.md").write_text(table(folder.parent / "results" / "attacks.txt"), encoding="utf-8")


def table(path):
    """Return some lines of the attack benchmark as a table."""
    lines = [
        "| release | census rows | k | l | linking | matching | reconstruction | classifier |",
        "|---|" + "---|" * 7,
    ]
    for line in path.read_text(encoding="utf-8").splitlines():
        head = re.match(r"(.+?)\s+(\d+) (income)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s{2,}(.*)", line)
        if head and (head[1].strip(), head[4], head[5]) in ROWS:
            cells = re.split(r"\s{2,}", head[7].strip())
            lines.append(f"| {head[1].strip()} | {head[2]} | {head[4]} | {head[5]} | {' | '.join(cells[:4])} |")
    if len(lines) != 2 + 2 * len(ROWS):
        raise SystemExit(f"{path} lacks lines that the privacy page shows")
    return "\n".join([*lines, ""])
