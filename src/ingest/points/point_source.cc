#include "ingest/points/point_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "ingest/points/set_answers.h"
#include "ingest/text/delimited.h"
#include "ingest/text/line_reader.h"
#include "io/input_stream.h"
#include "io/npy.h"

namespace plimsoll {
namespace {

class PointArray : public PointSource {
 public:
  PointArray(const std::filesystem::path& path, int64_t dimensions)
      : path_(path.string()), view_(path), values_(view_.values<float>()) {
    const std::vector<int64_t>& shape = view_.shape().shape;
    if (shape.size() != 3 || shape[1] == 0 || shape[2] < 2)
      throw InputError(
          fmt::format("{}: expected an array [sets, points, numbers] with two numbers or more; sets of "
                      "different sizes go "
                      "into a text with the columns graph, x, y (docs/point-sets.md)",
                      path_));
    numbers_ = shape[2];
    dimensions_ = dimensions == 0 ? std::min<int64_t>(numbers_, kCoordinates) : dimensions;
    if (dimensions_ < 2 || dimensions_ > std::min<int64_t>(numbers_, kCoordinates))
      throw UsageError(fmt::format("--dims is {}, expected 2 or 3, but {} has {} numbers per point",
                                   dimensions, path_, numbers_));
    for (int64_t i = dimensions_; i < numbers_; ++i)
      names_.push_back(fmt::format("feature_{}", i - dimensions_));
  }

  bool next(PointSet& set) override {
    if (at_ == sets()) return false;
    set.clear();
    const int64_t points = view_.shape().shape[1];
    const auto of_set =
        values_.subspan(static_cast<size_t>(at_ * points * numbers_), static_cast<size_t>(points * numbers_));
    for (int64_t point = 0; point < points; ++point) {
      const auto row = of_set.subspan(static_cast<size_t>(point * numbers_), static_cast<size_t>(numbers_));
      const auto bad = std::ranges::find_if(row, [](float value) { return !std::isfinite(value); });
      if (bad != row.end())
        throw InputError(fmt::format(
            "{}: set {}, point {}: number {} is {}, expected one that is finite; leave the point out", path_,
            at_, point, bad - row.begin(), *bad));
      set.pos.insert(set.pos.end(), row.begin(), row.begin() + dimensions_);
      set.pos.resize(static_cast<size_t>(kCoordinates * (point + 1)), 0.0F);
      set.features.insert(set.features.end(), row.begin() + dimensions_, row.end());
    }
    ++at_;
    return true;
  }
  const std::vector<std::string>& features() const override { return names_; }
  int64_t sets() const override { return view_.shape().shape[0]; }

 private:
  const std::string path_;
  const NpyView view_;
  const std::span<const float> values_;
  int64_t numbers_ = 0;
  int64_t dimensions_ = 0;
  int64_t at_ = 0;
  std::vector<std::string> names_;
};

class PointText : public PointSource {
 public:
  explicit PointText(const std::filesystem::path& path)
      : format_(Delimited::open(path)), lines_(InputStream::open(path), path.string()) {
    format_.header = true;
    constexpr std::array<const char*, 5> kKnown = {"graph", "x", "y", "z", "label"};
    for (size_t c = 0; c < format_.columns.size(); ++c) {
      const std::string& name = format_.columns[c];
      const auto known = std::ranges::find(kKnown, name) - kKnown.begin();
      if (known == static_cast<int64_t>(kKnown.size())) {
        features_.push_back(c);
        names_.push_back(name);
        continue;
      }
      std::optional<size_t>& column = columns_[static_cast<size_t>(known)];
      if (column) throw InputError(fmt::format("{}:1: the column '{}' occurs twice", path.string(), name));
      column = c;
    }
    for (const size_t needed : {kGraph, kX, kY})
      if (!columns_[needed])
        throw InputError(
            fmt::format("{}:1: has no column '{}'; expected a header with graph, x, y and, if there are any, "
                        "z, label and features",
                        path.string(), kKnown[needed]));
    std::string_view header;
    lines_.next_row(header);
    more_ = read_line();
  }

  bool next(PointSet& set) override {
    if (!more_) return false;
    set.clear();
    const int64_t graph = whole(kGraph);
    set.label = label();
    do {
      for (const size_t coordinate : {kX, kY, kZ})
        set.pos.push_back(columns_[coordinate] ? lines_.real(field(coordinate), "a coordinate") : 0.0F);
      for (const size_t column : features_) set.features.push_back(lines_.real(fields_[column], "a feature"));
      if (label() != set.label)
        lines_.refuse(field(kLabel),
                      fmt::format("the label {} of the other points of graph {}", set.label, graph));
      more_ = read_line();
    } while (more_ && whole(kGraph) == graph);
    if (more_ && whole(kGraph) < graph)
      lines_.refuse(field(kGraph), fmt::format("a graph from {} on: rows of a graph must follow each other, "
                                               "and graph numbers must ascend; sort the file",
                                               graph));
    return true;
  }
  const std::vector<std::string>& features() const override { return names_; }

 private:
  static constexpr size_t kGraph = 0, kX = 1, kY = 2, kZ = 3, kLabel = 4;

  bool read_line() {
    std::string_view line;
    if (!lines_.next(line)) return false;
    fields_.clear();
    std::string_view rest = line;
    while (rest.data() != nullptr && fields_.size() < format_.columns.size() &&
           !(format_.separator == ' ' && rest.empty()))
      fields_.push_back(lines_.field(rest, format_.separator));
    if (fields_.size() < format_.columns.size() || (rest.data() != nullptr && !rest.empty()))
      lines_.refuse(line.substr(line.size()), fmt::format("{} fields", format_.columns.size()));
    return true;
  }
  std::string_view field(size_t known) const { return fields_[*columns_[known]]; }
  int64_t whole(size_t known) const {
    return lines_.whole(field(known), 0, std::numeric_limits<int64_t>::max(), "a graph");
  }
  int64_t label() const {
    return columns_[kLabel] ? lines_.whole(field(kLabel), -1, kMaxSetClasses - 1, "a class") : -1;
  }

  Delimited format_;
  LineReader lines_;
  std::array<std::optional<size_t>, 5> columns_ = {};
  std::vector<size_t> features_;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;  // Fields of the line that begins the next set.
  bool more_ = false;
};

}  // namespace

std::unique_ptr<PointSource> PointSource::open(const std::filesystem::path& path, int64_t dimensions) {
  if (path.extension() == ".npy") return std::make_unique<PointArray>(path, dimensions);
  if (dimensions != 0)
    throw UsageError("--dims is for arrays; the columns of a text say which are coordinates: x, y and z");
  return std::make_unique<PointText>(path);
}

}  // namespace plimsoll
