#include "run/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/csv_field.h"

namespace plimsoll {
namespace {

constexpr size_t kTextBytes = size_t{1} << 16;

// Converts logits to probabilities in place. Returns the most probable class.
int64_t softmax(std::span<float> row) {
  const auto highest = std::ranges::max_element(row);
  const auto found = highest - row.begin();
  const double max = *highest;
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - max);
  for (float& logit : row) logit = static_cast<float>(std::exp(logit - max) / sum);
  return found;
}

}  // namespace

PredictionWriter::PredictionWriter(const PredictionRequest& request, const Widths& widths, Name node,
                                   std::span<const int64_t> nodes)
    : request_(request), widths_(widths), node_(std::move(node)), row_(static_cast<size_t>(widths.outputs)) {
  if (rank_of(request.exchange) != 0) return;
  set_.emplace(request.out, request.force);
  open_columns();
  if (widths.embedding > 0) embedding_ = &set_->column<float>("embedding", {widths.embedding});
  if (!nodes.empty()) set_->column<int64_t>("node").append(nodes);
  if (!request.csv) return;
  csv_ = File::create(set_->path() / "predictions.csv", set_->files());
  text_ = csv_header();
}

void PredictionWriter::open_columns() {
  if (widths_.kind == Kind::classes) class_ = &set_->column<int64_t>("class");
  const std::vector<int64_t> width = {widths_.outputs};
  if (widths_.kind == Kind::classes || widths_.kind == Kind::labels) {
    outputs_ = &set_->column<float>("probability", width);
  } else if (widths_.kind == Kind::values) {
    outputs_ = &set_->column<float>("value", width);
  } else if (widths_.kind == Kind::recommendations) {
    destination_ = &set_->column<int64_t>("destination", {widths_.outputs / 2});
    outputs_ = &set_->column<float>("score", {widths_.outputs / 2});
  }
}

std::string PredictionWriter::csv_header() const {
  std::string text = node_ ? "row,node" : "row";
  if (class_ != nullptr) text += ",class";
  if (!widths_.class_names.empty()) text += ",class_name";
  const auto listed = static_cast<int64_t>(this->listed());
  for (int64_t i = 0; i < listed; ++i) text += fmt::format(",destination{}", i);
  const char* const word = widths_.kind == Kind::values ? "value" : listed > 0 ? "score" : "p";
  for (int64_t i = 0; outputs_ != nullptr && i < widths_.outputs - listed; ++i)
    text += fmt::format(",{}{}", word, i);
  return text + "\n";
}

// Returns the number of outputs of a row that are nodes.
size_t PredictionWriter::listed() const {
  return widths_.kind == Kind::recommendations ? row_.size() / 2 : 0;
}

void PredictionWriter::append(std::span<const float> rows) {
  const auto width = row_.size() + static_cast<size_t>(widths_.embedding);
  for (; !rows.empty(); rows = rows.subspan(width))
    append_row(rows.first(row_.size()), rows.subspan(row_.size(), width - row_.size()));
}

void PredictionWriter::append(std::span<const float> outputs, std::span<const float> embeddings) {
  const auto width = static_cast<size_t>(widths_.embedding);
  const size_t rows = row_.empty() ? embeddings.size() / width : outputs.size() / row_.size();
  for (size_t i = 0; i < rows; ++i)
    append_row(outputs.subspan(i * row_.size(), row_.size()), embeddings.subspan(i * width, width));
}

void PredictionWriter::append_row(std::span<const float> outputs, std::span<const float> embedding) {
  const int64_t row = rows_++;
  if (!set_) return;
  std::ranges::copy(outputs, row_.begin());
  int64_t found = 0;
  if (class_ != nullptr) {
    found = softmax(row_);
    class_->append(std::span<const int64_t>(&found, 1));
  }
  if (widths_.kind == Kind::labels)
    for (float& logit : row_) logit = static_cast<float>(1 / (1 + std::exp(-double{logit})));
  const std::vector<int64_t> nodes(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(listed()));
  if (destination_ != nullptr) destination_->append(std::span<const int64_t>(nodes));
  const auto numbers = std::span<const float>(row_).subspan(listed());
  if (outputs_ != nullptr) outputs_->append(numbers);
  if (embedding_ != nullptr) embedding_->append(embedding);
  if (!csv_) return;
  text_ += std::to_string(row);
  if (node_) text_ += "," + csv_field(node_(row));
  if (class_ != nullptr) text_ += fmt::format(",{}", found);
  if (!widths_.class_names.empty()) text_ += "," + csv_field(widths_.class_names[static_cast<size_t>(found)]);
  for (const int64_t destination : nodes) text_ += fmt::format(",{}", destination);
  for (const float value : numbers) text_ += fmt::format(",{:.6g}", value);
  text_ += "\n";
  write_text(kTextBytes);
}

// Writes the collected text if it has at least `min` bytes.
void PredictionWriter::write_text(size_t min) {
  if (text_.size() < min) return;
  csv_->write(text_.data(), text_.size());
  text_.clear();
}

int64_t PredictionWriter::publish(const std::string& items, const Json& data) {
  if (csv_) {
    write_text(0);
    csv_->sync();
    csv_.reset();
  }
  Json manifest = {{"kind", "predictions"},
                   {"format_version", 0},
                   {"items", items},
                   {"rows", rows_},
                   {"task", request_.recipe.task},
                   {"columns", Json::object()},
                   {"provenance", make_provenance({{{"kind", "run"}, {"data", data}}},
                                                  {{"embeddings", request_.embeddings}})}};
  if (!widths_.class_names.empty()) manifest["class_names"] = widths_.class_names;
  if (set_) set_->publish(std::move(manifest));
  return rows_;
}

}  // namespace plimsoll
