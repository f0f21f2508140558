"""Reports: what a run bundle says, as a page to read.

Everything here is made from bundles and from nothing else of the lab: ``store`` finds them, ``statistics`` counts,
``render`` writes ``index.html`` and ``summary.md`` beside the data. ``measures`` takes from a run what others can be held against,
``compare`` and ``history`` do that, and ``regressions`` makes pages of it.
"""

from reports.render import rendered_report
from reports.store import newest_bundle

__all__ = ["newest_bundle", "rendered_report"]
