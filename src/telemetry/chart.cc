#include "telemetry/chart.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace plimsoll {
namespace {

// Size of the drawing in units of its view box, roughly pixels.
constexpr double kWidth = 440;
constexpr double kHeight = 300;
constexpr double kLeft = 58;
constexpr double kRight = 416;
constexpr double kTop = 22;
constexpr double kBottom = 252;

double share_of(const Axis& axis, double value) {
  if (axis.scale == Axis::Scale::log) {
    const double low = std::log10(axis.low);
    value = (std::log10(std::max(value, axis.low)) - low) / (std::log10(axis.high) - low);
  } else {
    value = (value - axis.low) / (axis.high - axis.low);
  }
  return std::clamp(value, 0.0, 1.0);
}
double place_x(const Axis& axis, double value) {
  return kLeft + share_of(axis, value) * (kRight - kLeft);
}
double place_y(const Axis& axis, double value) {
  return kBottom - share_of(axis, value) * (kBottom - kTop);
}

std::string tick_text(const Axis& axis, double tick) {
  // A sum of steps may miss zero slightly.
  if (std::abs(tick) < 1e-9 * (axis.high - axis.low)) tick = 0;
  return axis.percent ? fmt::format("{:.6g} %", tick * 100) : fmt::format("{:.6g}", tick);
}

void begin(Markup& out, double height, std::string_view what) {
  put(out, "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, height, escaped(what));
}

void draw_axes(Markup& out, const Axis& x, const Axis& y) {
  for (const double tick : ticks(y)) {
    const double at = place_y(y, tick);
    put(out, "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kRight, at, at);
    put(out, "<text class=\"tick end\" x=\"{}\" y=\"{:.1f}\">{}</text>", kLeft - 7, at + 4,
        tick_text(y, tick));
  }
  for (const double tick : ticks(x)) {
    const double at = place_x(x, tick);
    put(out, "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, kTop,
        kBottom + 4);
    put(out, "<text class=\"tick mid\" x=\"{:.1f}\" y=\"{}\">{}</text>", at, kBottom + 19,
        tick_text(x, tick));
  }
  put(out, "<path class=\"axis\" d=\"M{} {}V{}H{}\"/>", kLeft, kTop, kBottom, kRight);
  put(out, "<text class=\"label mid\" x=\"{}\" y=\"{}\">{}</text>", (kLeft + kRight) / 2, kBottom + 40,
      escaped(x.label));
  put(out, "<text class=\"label\" x=\"2\" y=\"12\">{}</text>", escaped(y.label));
}

struct LegendEntry {
  std::string label;
  std::string sample;  // Markup of a sample of 22 x 10.
};

void draw_legend(Markup& out, const std::vector<LegendEntry>& entries) {
  if (entries.empty()) return;
  put(out, "<ul class=\"legend\">");
  for (const LegendEntry& entry : entries)
    put(out, "<li><svg class=\"sample\" viewBox=\"0 0 22 10\">{}</svg>{}</li>", entry.sample,
        escaped(entry.label));
  put(out, "</ul>");
}

std::string classes_of(const Stroke& stroke) {
  return fmt::format("line c{}{}{}", stroke.colour % Stroke::kColours, stroke.dashed ? " dashed" : "",
                     stroke.faint ? " faint" : "");
}

void draw_path(Markup& out, const LineChart& chart, const LineChart::Series& series) {
  put(out, "<path class=\"{}\" d=\"", classes_of(series.stroke));
  char command = 'M';
  double last_y = 0;
  for (const ChartPoint& point : series.points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
    const double x = place_x(chart.x, point.x);
    const double y = place_y(chart.y, point.y);
    if (series.steps && command == 'L') put(out, "L{:.1f} {:.1f}", x, last_y);
    put(out, "{}{:.1f} {:.1f}", command, x, y);
    command = 'L';
    last_y = y;
  }
  put(out, "\"/>");
}

}  // namespace

Markup draw(const LineChart& chart) {
  Markup out;
  begin(out, kHeight, chart.y.label + " over " + chart.x.label);
  draw_axes(out, chart.x, chart.y);
  std::vector<LegendEntry> legend;
  for (const bool faint : {true, false})  // Drawn below the others.
    for (const LineChart::Series& series : chart.series)
      if (series.stroke.faint == faint) draw_path(out, chart, series);
  for (const LineChart::Series& series : chart.series)
    if (!series.label.empty())
      legend.push_back(
          {series.label, fmt::format("<path class=\"{}\" d=\"M0 5H22\"/>", classes_of(series.stroke))});
  for (const LineChart::Mark& mark : chart.marks)
    put(out, "<circle class=\"mark {} c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"><title>{}</title></circle>",
        mark.filled ? "filled" : "hollow", mark.colour % Stroke::kColours, place_x(chart.x, mark.at.x),
        place_y(chart.y, mark.at.y), escaped(mark.text));
  put(out, "</svg>");
  draw_legend(out, legend);
  return out;
}

namespace {

// Draws transparent strips over the areas, one per value of `at`, but none narrower than one unit. On hover,
// a strip shows the values of the highest stack that it covers, without a script.
void draw_strips(Markup& out, const StackedAreas& chart, const std::vector<double>& sums) {
  for (size_t first = 0; first < chart.at.size();) {
    const double left = place_x(chart.x, chart.at[first]);
    double right = left;
    size_t end = first;
    while (end < chart.at.size() && right < left + 1) {
      ++end;
      right = end < chart.at.size() ? place_x(chart.x, chart.at[end]) : kRight;
    }
    const auto highest =
        static_cast<size_t>(std::max_element(sums.begin() + static_cast<std::ptrdiff_t>(first),
                                             sums.begin() + static_cast<std::ptrdiff_t>(end)) -
                            sums.begin());
    put(out,
        "<rect class=\"strip\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{} {:.9g}: {:.6g} "
        "{}",
        left, kTop, right - left, kBottom - kTop, escaped(chart.x.label), chart.at[highest], sums[highest],
        escaped(chart.y.label));
    for (size_t s = chart.series.size(); s-- > 0;)
      if (chart.series[s].values[highest] > 0)
        put(out, "\n{}: {:.4g} {}", escaped(chart.series[s].label), chart.series[s].values[highest],
            escaped(chart.y.label));
    put(out, "</title></rect>");
    first = end;
  }
}

}  // namespace

Markup draw(const StackedAreas& chart) {
  Markup out;
  begin(out, kHeight, chart.y.label + " over " + chart.x.label);
  draw_axes(out, chart.x, chart.y);
  std::vector<LegendEntry> legend;
  std::vector<double> below(chart.at.size(), 0);
  for (size_t s = 0; s < chart.series.size() && !chart.at.empty(); ++s) {
    const StackedAreas::Series& series = chart.series[s];
    const auto colour = static_cast<int>(s) % Stroke::kColours;
    std::vector<double> above = below;
    for (size_t i = 0; i < above.size(); ++i) above[i] += series.values[i];
    put(out, "<path class=\"stacked c{}\" d=\"M{:.1f} {:.1f}", colour, place_x(chart.x, chart.at.front()),
        place_y(chart.y, above.front()));
    for (size_t i = 1; i < above.size(); ++i)
      put(out, "H{:.1f}V{:.1f}", place_x(chart.x, chart.at[i]), place_y(chart.y, above[i]));
    put(out, "H{:.1f}V{:.1f}", kRight, place_y(chart.y, below.back()));
    for (size_t i = below.size(); i-- > 1;)
      put(out, "H{:.1f}V{:.1f}", place_x(chart.x, chart.at[i]), place_y(chart.y, below[i - 1]));
    put(out, "H{:.1f}Z\"/>", place_x(chart.x, chart.at.front()));
    below = std::move(above);
    legend.push_back(
        {fmt::format("{}, up to {:.4g} {}", series.label, *std::ranges::max_element(series.values),
                     chart.y.label),
         fmt::format("<rect class=\"stacked c{}\" x=\"1\" y=\"1\" width=\"20\" height=\"8\"/>", colour)});
  }
  draw_strips(out, chart, below);
  put(out, "</svg>");
  draw_legend(out, legend);
  return out;
}

Markup draw(const Histogram& chart) {
  double max = 0;
  std::vector<std::vector<double>> shares;
  for (const Histogram::Series& series : chart.series) {
    int64_t sum = 0;
    for (const int64_t count : series.counts) sum += count;
    shares.emplace_back();
    for (const int64_t count : series.counts)
      shares.back().push_back(sum == 0 ? 0 : static_cast<double>(count) / static_cast<double>(sum));
    for (const double share : shares.back()) max = std::max(max, share);
  }
  const Axis y{"share of " + chart.share_of, 0, max > 0 ? max * 1.05 : 1, Axis::Scale::linear, true};
  Markup out;
  begin(out, kHeight, "histogram of " + chart.x.label);
  draw_axes(out, chart.x, y);
  std::vector<LegendEntry> legend;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const Histogram::Series& series = chart.series[s];
    put(out, "<path class=\"area c{}\" d=\"M{:.1f} {:.1f}", series.colour, kLeft, kBottom);
    for (size_t bin = 0; bin < shares[s].size(); ++bin) {
      const auto bins = static_cast<double>(shares[s].size());
      const double right = kLeft + (kRight - kLeft) * static_cast<double>(bin + 1) / bins;
      put(out, "V{:.1f}H{:.1f}", place_y(y, shares[s][bin]), right);
    }
    put(out, "V{:.1f}Z\"/>", kBottom);
    legend.push_back(
        {series.label,
         fmt::format("<rect class=\"area c{}\" x=\"1\" y=\"1\" width=\"20\" height=\"8\"/>", series.colour)});
  }
  // Labels of close lines are placed on both sides of them, or one below the other if there is not enough
  // space.
  constexpr double kLabel = 50;
  std::vector<Histogram::Level> levels = chart.levels;
  std::ranges::sort(levels, {}, &Histogram::Level::at);
  for (size_t i = 0; i < levels.size(); ++i) {
    const double at = place_x(chart.x, levels[i].at);
    const bool left = i + 1 < levels.size() ? at > kLeft + kLabel : at > kRight - kLabel;
    put(out, "<line class=\"level\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, kTop,
        kBottom);
    put(out, "<text class=\"tick halo{}\" x=\"{:.1f}\" y=\"{}\">{}</text>", left ? " end" : "",
        left ? at - 5 : at + 5, kTop + 12 + (left ? 0 : 15 * static_cast<double>(i)),
        escaped(levels[i].label));
  }
  put(out, "</svg>");
  draw_legend(out, legend);
  return out;
}

namespace {

constexpr double kByteBar = 18;
constexpr double kByteRow = 44;
constexpr double kFirstByte = 8;
constexpr double kFirstRow = 22;  // Below the limit's label.

int64_t sum_of(const ByteBars::Bar& bar) {
  int64_t sum = 0;
  for (const ByteBars::Part& part : bar.parts) sum += part.bytes;
  return sum;
}

struct ByteScale {
  explicit ByteScale(const ByteBars& chart)
      : bottom(kFirstRow + kByteRow * static_cast<double>(chart.bars.size())) {
    int64_t max = 1;
    for (const ByteBars::Bar& bar : chart.bars) max = std::max({max, sum_of(bar), bar.measured.value_or(0)});
    // If the limit were many times the need, the bars would be too small to see.
    shows_limit = chart.limit && *chart.limit <= 2 * max;
    end = shows_limit ? std::max(max, *chart.limit) : max;
  }
  double place(int64_t bytes) const {
    const double last = static_cast<double>(end) * 1.03;
    return kFirstByte + static_cast<double>(bytes) / last * (kRight - kFirstByte);
  }

  double bottom;
  bool shows_limit = false;
  int64_t end = 0;
};

void draw_byte_ticks(Markup& out, const ByteScale& scale) {
  int64_t step = kMiB;
  while (scale.place(step) - kFirstByte < 80) step *= 2;
  for (int64_t tick = 0; tick <= scale.end; tick += step) {
    put(out, "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", scale.place(tick),
        scale.place(tick), kFirstRow, scale.bottom + 4);
    put(out, "<text class=\"tick {}\" x=\"{:.1f}\" y=\"{}\">{}</text>", tick == 0 ? "" : "mid",
        scale.place(tick), scale.bottom + 19, tick == 0 ? "0" : format_bytes(tick));
  }
}

void draw_byte_limit(Markup& out, const ByteBars& chart, const ByteScale& scale) {
  if (!chart.limit) return;
  const double at = scale.shows_limit ? scale.place(*chart.limit) : kRight;
  put(out, "<text class=\"tick end\" x=\"{:.1f}\" y=\"13\">{} {}{}</text>", at, escaped(chart.limit_name),
      format_bytes(*chart.limit), scale.shows_limit ? "" : ", far to the right");
  if (scale.shows_limit)
    put(out, "<line class=\"level\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, kFirstRow - 4,
        scale.bottom + 4);
}

// Adds new parts to the legend.
void draw_byte_bar(Markup& out, const ByteBars::Bar& bar, double top, const ByteScale& scale,
                   std::vector<LegendEntry>& legend) {
  int64_t sum = 0;
  for (const ByteBars::Part& part : bar.parts) {
    const auto same = std::ranges::find(legend, part.label, &LegendEntry::label);
    const auto colour = static_cast<int>(same - legend.begin()) % Stroke::kColours;
    if (same == legend.end())
      legend.push_back(
          {part.label,
           fmt::format("<rect class=\"bar c{}\" x=\"1\" y=\"1\" width=\"20\" height=\"8\"/>", colour)});
    put(out,
        "<rect class=\"bar c{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}: "
        "{}</title></rect>",
        colour, scale.place(sum), top + 18, scale.place(sum + part.bytes) - scale.place(sum), kByteBar,
        escaped(part.label), format_bytes(part.bytes));
    sum += part.bytes;
  }
  std::string text = bar.label + ": " + format_bytes(sum);
  if (bar.measured) {
    text += ", measured " + format_bytes(*bar.measured);
    const double at = scale.place(*bar.measured);
    put(out, "<line class=\"measured\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, top + 15,
        top + 21 + kByteBar);
  }
  put(out, "<text class=\"label halo\" x=\"{}\" y=\"{}\">{}</text>", kFirstByte, top + 12, escaped(text));
}

}  // namespace

Markup draw(const ByteBars& chart) {
  const ByteScale scale(chart);
  Markup out;
  begin(out, scale.bottom + 28, "memory");
  draw_byte_ticks(out, scale);
  draw_byte_limit(out, chart, scale);
  std::vector<LegendEntry> legend;
  for (size_t b = 0; b < chart.bars.size(); ++b)
    draw_byte_bar(out, chart.bars[b], kFirstRow + kByteRow * static_cast<double>(b), scale, legend);
  put(out, "</svg>");
  if (std::ranges::any_of(chart.bars, [](const ByteBars::Bar& bar) { return bar.measured.has_value(); }))
    legend.push_back({"measured", "<line class=\"measured\" x1=\"11\" x2=\"11\" y1=\"0\" y2=\"10\"/>"});
  draw_legend(out, legend);
  return out;
}

Markup draw(const Confusion& matrix) {
  Markup out;
  put(out, "<svg class=\"confusion\" viewBox=\"0 0 210 140\" role=\"img\" aria-label=\"confusion matrix\">");
  put(out, "<text class=\"tick mid\" x=\"90\" y=\"14\">flagged</text>");
  put(out, "<text class=\"tick mid\" x=\"168\" y=\"14\">passed</text>");
  const auto cell = [&](int column, int row, int64_t count, int64_t whole, bool right) {
    const double share = whole == 0 ? 0 : static_cast<double>(count) / static_cast<double>(whole);
    const int x = 53 + 78 * column;
    const int y = 22 + 60 * row;
    put(out,
        "<rect class=\"cell c{}\" x=\"{}\" y=\"{}\" width=\"75\" height=\"57\" fill-opacity=\"{:.3f}\"/>",
        right ? 0 : 1, x, y, 0.04 + 0.5 * share);
    put(out, "<text class=\"count mid\" x=\"{}\" y=\"{}\">{}</text>", x + 37.5, y + 27, format_count(count));
    if (whole > 0)
      put(out, "<text class=\"tick mid\" x=\"{}\" y=\"{}\">{:.2f} %</text>", x + 37.5, y + 45, share * 100);
  };
  const int64_t attacks = matrix.true_positives + matrix.false_negatives;
  const int64_t benign = matrix.true_negatives + matrix.false_positives;
  put(out, "<text class=\"tick end\" x=\"46\" y=\"54\">attack</text>");
  put(out, "<text class=\"tick end\" x=\"46\" y=\"114\">benign</text>");
  cell(0, 0, matrix.true_positives, attacks, true);
  cell(1, 0, matrix.false_negatives, attacks, false);
  cell(0, 1, matrix.false_positives, benign, false);
  cell(1, 1, matrix.true_negatives, benign, true);
  put(out, "</svg>");
  return out;
}

}  // namespace plimsoll
