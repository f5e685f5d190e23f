#include "task/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr size_t kTextBytes = size_t{1} << 16;

// Probabilities of logits, in place; the class of the highest.
int64_t softmax(std::span<float> row) {
  const auto highest = std::ranges::max_element(row);
  const auto found = highest - row.begin();
  const double most = *highest;
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - most);
  for (float& logit : row) logit = static_cast<float>(std::exp(logit - most) / sum);
  return found;
}

}  // namespace

PredictionWriter::PredictionWriter(const PredictionRequest& request, const Widths& widths, Name name)
    : request_(request), widths_(widths), name_(std::move(name)) {
  if (rank_of(request.exchange) != 0) return;
  set_.emplace(request.out, request.force);
  if (widths.kind == Kind::classes) {
    class_ = &set_->column<int64_t>("class");
    outputs_ = &set_->column<float>("probability", {widths.outputs});
  } else if (widths.kind == Kind::values) {
    outputs_ = &set_->column<float>("value", {widths.outputs});
  }
  if (widths.embedding > 0) embedding_ = &set_->column<float>("embedding", {widths.embedding});
  if (!request.csv) return;
  csv_ = File::create(set_->path() / "predictions.csv", set_->files());
  text_ = class_ != nullptr ? "row,class" : "row";
  for (int64_t i = 0; outputs_ != nullptr && i < widths.outputs; ++i)
    text_ += fmt::format(",{}{}", class_ != nullptr ? "p" : "value", i);
  text_ += "\n";
}

void PredictionWriter::append(std::span<const float> rows) {
  const auto outputs = static_cast<size_t>(widths_.outputs);
  const auto width = outputs + static_cast<size_t>(widths_.embedding);
  for (; !rows.empty(); rows = rows.subspan(width)) {
    append_outputs(rows.first(outputs));
    if (embedding_ != nullptr) embedding_->append(rows.subspan(outputs, width - outputs));
  }
}

void PredictionWriter::append(std::span<const float> outputs, std::span<const float> embeddings) {
  append_outputs(outputs);
  if (embedding_ != nullptr) embedding_->append(embeddings);
}

void PredictionWriter::append_outputs(std::span<const float> outputs) {
  const auto width = static_cast<size_t>(widths_.outputs);
  std::vector<float> row(width);
  for (; !outputs.empty(); outputs = outputs.subspan(width), ++rows_) {
    if (outputs_ == nullptr) continue;
    std::ranges::copy(outputs.first(width), row.begin());
    int64_t found = 0;
    if (class_ != nullptr) {
      found = softmax(row);
      class_->append(std::span<const int64_t>(&found, 1));
    }
    outputs_->append(std::span<const float>(row));
    if (!csv_) continue;
    text_ += name_(rows_);
    if (class_ != nullptr) text_ += fmt::format(",{}", found);
    for (const float value : row) text_ += fmt::format(",{:.6g}", value);
    text_ += "\n";
    write_text(kTextBytes);
  }
}

// What has come, once it is so much.
void PredictionWriter::write_text(size_t least) {
  if (text_.size() < least) return;
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
  if (set_) set_->publish(std::move(manifest));
  return rows_;
}

}  // namespace plimsoll
