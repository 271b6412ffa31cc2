"""The style sheet of the page: light and dark, narrow and wide, and on paper."""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff", "card": "#f5f7fa", "ink": "#1b2330", "soft": "#515c6d", "line": "#d5dbe3",
    "accent": "#1d5a9e", "before": "#8b9bb1", "after": "#1d5a9e", "track": "#e6ebf1",
    "good": "#17663a", "good-paper": "#e5f4ea", "bad": "#9c1f1a", "bad-paper": "#fbe7e5", "open": "#7a4d00",
    "open-paper": "#fdf1da",
}  # fmt: skip
DARK = {
    "paper": "#14181f", "card": "#1d232c", "ink": "#e8ecf2", "soft": "#a9b4c3", "line": "#384250",
    "accent": "#82b6f0", "before": "#6d7b8f", "after": "#82b6f0", "track": "#2a323d",
    "good": "#86d9a5", "good-paper": "#17301f", "bad": "#ffa49d", "bad-paper": "#3d1b19", "open": "#f3c675",
    "open-paper": "#362a11",
}  # fmt: skip
READ = (
    ("ink", "paper"), ("ink", "card"), ("soft", "paper"), ("soft", "card"), ("accent", "paper"), ("good", "good-paper"),
    ("bad", "bad-paper"), ("open", "open-paper"), ("ink", "open-paper"), ("ink", "bad-paper"), ("ink", "good-paper"),
)  # fmt: skip
"""Colours of text, and what they stand on: each pair must be easy to read."""


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
    f"@media print{{:root{{color-scheme:light;{_variables(LIGHT)}}}}}"
    """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,"Segoe UI",Roboto,"Noto Sans",
 sans-serif;overflow-wrap:anywhere}
main,header.top,footer{max-width:58rem;margin:0 auto;padding:0 1.25rem}
header.top{padding-top:2rem}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .5rem}
h2 .number{color:var(--soft);font-weight:400;margin-right:.4em}
h3{font-size:1.02rem;margin:1.4rem 0 .3rem}
p{margin:.4rem 0 .8rem}
section{border-top:1px solid var(--line);padding:1.5rem 0 1rem}
.soft,figcaption,caption,footer{color:var(--soft);font-size:.9rem}
.lead{font-size:1.22rem;line-height:1.5;border-left:4px solid var(--accent);padding:.2rem 0 .2rem 1rem;
 margin:.6rem 0 1rem}
.verdict{padding:.75rem 1rem;border-radius:.4rem;font-weight:600;margin:.5rem 0 1rem}
.holds{background:var(--good-paper);color:var(--good)}
.broken{background:var(--bad-paper);color:var(--bad)}
.open{background:var(--open-paper);color:var(--open)}
.badge{display:inline-block;padding:.05rem .5rem;border-radius:1rem;font-size:.85rem;font-weight:600;white-space:nowrap}
.owner{border:3px solid var(--bad);background:var(--bad-paper);color:var(--ink);padding:.75rem 1rem;margin:1rem 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(12.5rem,1fr));gap:.75rem;margin:1rem 0;padding:0;
 list-style:none}
.tiles li{background:var(--card);border-radius:.4rem;padding:.7rem .9rem}
.tiles b{display:block;font-size:1.25rem;line-height:1.3}
.tiles span{color:var(--soft);font-size:.9rem}
.wide{overflow-x:auto;margin:.5rem 0 1rem}
table{border-collapse:collapse;width:100%;font-size:.93rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0 .4rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line)}
thead th{color:var(--soft);font-weight:600;white-space:nowrap;overflow-wrap:normal}
tbody th{font-weight:500;min-width:6rem}
.facts th{width:14rem}
.facts td{min-width:8rem}
.names td{width:30%;min-width:6rem}
svg.bar{display:block;width:100%;min-width:4rem;height:.5rem;margin-top:.2rem}
svg.histogram{display:block;width:100%;height:9.5rem;background:var(--card);border-radius:.3rem}
.axis{position:relative;display:flex;justify-content:space-between;font-size:.85rem;color:var(--soft);padding-top:.2rem}
.axis span[style]{position:absolute;transform:translateX(-50%)}
.share{display:flex;gap:.5rem;align-items:center}.share span{min-width:3.4rem;white-space:nowrap}
.share svg.bar{margin:0;min-width:2.5rem}
.cards{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem}
.cards th,.cards td{padding-top:.2rem;padding-bottom:.2rem}
.track{fill:var(--track)}.before{fill:var(--before)}.after{fill:var(--after)}.mark{fill:var(--ink)}
.line{stroke:var(--after);stroke-width:3;vector-effect:non-scaling-stroke}
figure{margin:.5rem 0 1rem}
.key{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;vertical-align:-.08rem;margin:0 .35rem 0 0}
.key.a{margin-left:1rem}
.key.b{background:var(--before)}.key.a{background:var(--after)}
.column{background:none;border:1px solid var(--line);border-radius:.4rem;padding:.2rem 1rem .4rem;margin:0;
 break-inside:avoid}
.column h3{margin:.6rem 0 .2rem}
.checks{list-style:none;padding:0;margin:.5rem 0 1rem;columns:2;column-gap:2rem;font-size:.92rem}
.checks li{break-inside:avoid;padding:.15rem 0 .15rem 1.5rem;text-indent:-1.5rem}
.checks b{display:inline-block;width:1.5rem;text-indent:0}
.attack{margin:0 0 1.2rem;break-inside:avoid}
.attack h4{margin:.8rem 0 .2rem;font-size:1rem}
.attack p{margin:.2rem 0}
ul.plain{padding-left:1.1rem;margin:.4rem 0 .8rem}
code,pre{font-family:ui-monospace,"SFMono-Regular",Menlo,Consolas,monospace;font-size:.88rem}
pre{background:var(--card);padding:.8rem 1rem;border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere;
 margin:.5rem 0 1rem}
footer{padding-top:1rem;padding-bottom:3rem;border-top:1px solid var(--line)}
@media (max-width:40rem){
 .names td{width:23%;min-width:4.5rem}.names .share{flex-direction:column;align-items:stretch;gap:.1rem}
 body{font-size:15px}h1{font-size:1.4rem}.lead{font-size:1.08rem}.checks{columns:1}.facts th{width:9rem}
 th,td{padding-right:.5rem}main,header.top,footer{padding-left:1rem;padding-right:1rem}
}
@media print{
 @page{margin:18mm 16mm}
 body{font-size:10.5pt;-webkit-print-color-adjust:exact;print-color-adjust:exact}
 main,header.top,footer{max-width:none;padding-left:0;padding-right:0}
 h2,h3,h4{break-after:avoid}tr{break-inside:avoid}.wide{overflow:visible}header.top{padding-top:0}
}
"""
)
