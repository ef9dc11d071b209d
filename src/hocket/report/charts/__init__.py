"""Charts for pages: SVG made here, its colours the page's, so that a page needs no plotting library."""

from hocket.report.charts.bars import Bar, BarPart, Mark, bar_chart
from hocket.report.charts.drawing import Chart
from hocket.report.charts.heat import HeatRow, heat_map
from hocket.report.charts.matrix import matrix
from hocket.report.charts.scales import Axis, time_axis
from hocket.report.charts.timeline import Span, TimeRow, span_chart
from hocket.report.charts.xy import Series, xy_chart

__all__ = [
    "Axis",
    "Bar",
    "BarPart",
    "Chart",
    "HeatRow",
    "Mark",
    "Series",
    "Span",
    "TimeRow",
    "bar_chart",
    "heat_map",
    "matrix",
    "span_chart",
    "time_axis",
    "xy_chart",
]
