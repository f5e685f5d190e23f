#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/markup.h"

namespace plimsoll {

// Charts as inline SVG with a legend in HTML below. Colours and strokes are classes of the style sheet of
// telemetry/report.cc, so a chart follows the page into the dark and onto paper. All texts are escaped here.

struct ChartPoint {
  double x;
  double y;
};

struct Axis {
  enum class Scale : uint8_t { linear, log };
  std::string label;  ///< with the unit
  double low = 0;
  double high = 1;
  Scale scale = Scale::linear;
  bool percent = false;  ///< shares, written as per cent
  bool whole = false;    ///< ticks at whole numbers alone
};

/// An axis that holds all of `values`, from 0 on, or by decades where they span more than a factor of 30.
Axis axis_over(std::string label, const std::vector<double>& values);

/// Round numbers on an axis: steps of 1, 2 or 5 times a power of ten; on a logarithmic axis powers of ten,
/// with 2 and 5 between where there are few.
std::vector<double> ticks(const Axis& axis);

/// How a series is drawn: one of kColours colours that differ for the colour-blind too.
struct Stroke {
  int colour = 0;
  bool dashed = false;
  bool faint = false;  ///< thin and light, as of a second seed
  static constexpr int kColours = 7;
};

struct LineChart {
  struct Series {
    std::string label;  ///< empty: in no legend, as of a second seed
    Stroke stroke;
    std::vector<ChartPoint> points;
    bool steps = false;  ///< a value holds until the next point
  };
  /// A point of interest, with a text that shows when it is pointed at.
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
/// What lies beyond an axis is drawn at its end.
Markup draw(const LineChart& chart);

/// What several series come to together: areas one above the other, the first at the bottom. A value holds
/// until the next point. The drawing tells the values where a reader points at it.
struct StackedAreas {
  struct Series {
    std::string label;
    std::vector<double> values;  ///< one for each of `at`
  };
  Axis x;
  Axis y;
  std::vector<double> at;
  std::vector<Series> series;
};
Markup draw(const StackedAreas& chart);

/// Counts in equally wide bins of x, as shares of each series.
struct Histogram {
  struct Series {
    std::string label;
    int colour = 0;
    std::vector<int64_t> counts;
  };
  struct Level {
    double at;
    std::string label;
  };
  Axis x;
  std::vector<Series> series;
  std::vector<Level> levels;  ///< vertical lines
};
Markup draw(const Histogram& chart);

/// Bytes as horizontal bars, each made of parts and with a mark where they were measured, against one limit.
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
  std::optional<int64_t> limit;  ///< drawn where the bars leave it in sight, else told in words
};
Markup draw(const ByteBars& chart);

/// A confusion matrix: rows what is true, columns what was said, shades by the share of the row.
struct Confusion {
  int64_t true_positives = 0;
  int64_t false_positives = 0;
  int64_t true_negatives = 0;
  int64_t false_negatives = 0;
};
Markup draw(const Confusion& matrix);

}  // namespace plimsoll
