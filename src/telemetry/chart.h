#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/markup.h"

namespace plimsoll {

// Charts as inline SVG with an HTML legend below. Colours and strokes are classes of the style sheet in
// telemetry/report.cc, so a chart adapts to dark mode and print with the page. The functions here escape all
// texts. Errors of all draw(): BudgetExceeded.

struct ChartPoint {
  double x;
  double y;
};

/// The range of an axis. `low` is below `high`, and above 0 on a logarithmic axis.
struct Axis {
  enum class Scale : uint8_t { linear, log };
  std::string label;  ///< Includes the unit.
  double low = 0;
  double high = 1;
  Scale scale = Scale::linear;
  bool percent = false;  ///< Whether values are shares, written as per cent.
  bool whole = false;    ///< Whether ticks are only at whole numbers.
};

/// Returns an axis for `values`: linear, from 0 or the lowest negative value on, or logarithmic if none is
/// negative and those above 0 span more than a factor of 30. A logarithmic axis does not contain 0. Values
/// that are not finite are ignored.
Axis axis_over(std::string label, const std::vector<double>& values);

/// Returns round numbers on an axis: steps of 1, 2 or 5 times a power of ten. A logarithmic axis has powers
/// of ten, with 2 and 5 in between if there are few, and not all of them if there are many.
std::vector<double> ticks(const Axis& axis);

/// How a series is drawn: in one of kColours colours that colour-blind readers can distinguish. Greater
/// numbers start again with the first colour.
struct Stroke {
  int colour = 0;
  bool dashed = false;
  bool faint = false;  ///< Whether it is thin and light, for example for a second seed.
  static constexpr int kColours = 7;
};

struct LineChart {
  struct Series {
    std::string label;  ///< Empty: no entry in the legend, for example for a second seed.
    Stroke stroke;
    std::vector<ChartPoint> points;
    bool steps = false;  ///< Whether a value is constant until the next point.
  };
  /// A point of interest, with a text that is shown on hover.
  struct Mark {
    ChartPoint at;
    int colour = 0;
    bool filled = true;
    std::string text;
  };
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Mark> marks;
};
/// Draws a chart. Points beyond the range of an axis are drawn at its end. Points that are not finite are
/// left out.
Markup draw(const LineChart& chart);

/// A stack of several series as areas, the first at the bottom. Values are not negative, and `at` ascends. A
/// value is constant until the next point. The drawing shows the values on hover.
struct StackedAreas {
  struct Series {
    std::string label;
    std::vector<double> values;  ///< One per entry of `at`.
  };
  Axis x;
  Axis y;
  std::vector<double> at;
  std::vector<Series> series;
};
Markup draw(const StackedAreas& chart);

/// Counts in bins of equal width that divide the linear axis x, drawn as shares of each series.
struct Histogram {
  struct Series {
    std::string label;
    int colour = 0;  ///< Below Stroke::kColours.
    std::vector<int64_t> counts;
  };
  struct Level {
    double at;
    std::string label;
  };
  Axis x;
  std::vector<Series> series;
  std::vector<Level> levels;  ///< Vertical lines.
  std::string share_of;       ///< What a series counts, in words, such as "graphs of the class".
};
Markup draw(const Histogram& chart);

/// Bytes as horizontal bars. Each is divided into parts and has a mark for the measured bytes, if they are
/// known. Parts with the same label have the same colour. All bars have one limit in common.
struct ByteBars {
  struct Part {
    std::string label;
    int64_t bytes;
  };
  struct Bar {
    std::string label;
    std::vector<Part> parts;
    std::optional<int64_t> measured;
  };
  std::vector<Bar> bars;
  std::string limit_name;
  std::optional<int64_t> limit;  ///< Drawn if it fits the scale of the bars, otherwise written as text.
};
Markup draw(const ByteBars& chart);

/// A confusion matrix of the classes attack and benign: rows are true classes, columns are predictions
/// (flagged, passed), and the shade is the share of the row.
struct Confusion {
  int64_t true_positives = 0;
  int64_t false_positives = 0;
  int64_t true_negatives = 0;
  int64_t false_negatives = 0;
};
Markup draw(const Confusion& matrix);

}  // namespace plimsoll
