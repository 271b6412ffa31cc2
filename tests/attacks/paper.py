"""NSVDist as the paper has it, whatever its default is."""

import incrowd as ic


def paper(k, l=1):
    return ic.NSVDist(k=k, l=l, **({"mode": "paper"} if "mode" in ic.NSVDist.__dataclass_fields__ else {}))
