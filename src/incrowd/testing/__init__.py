"""The contract suite of publishers, for ours and for those of other packages."""

from incrowd.testing.contract import check_publisher, constraints_of, publisher_checks
from incrowd.testing.samples import SAMPLES, Sample

__all__ = ["SAMPLES", "Sample", "check_publisher", "constraints_of", "publisher_checks"]
