#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "ingest/tables/column_files.h"
#include "ingest/tables/sinks.h"

namespace plimsoll {
namespace {

// Lists of reals whose type does not give their length, as pandas stores embeddings. The first list sets the
// width of the vectors.
class ListVectorSink final : public ColumnSink {
 public:
  explicit ListVectorSink(ColumnFiles files) : files_(std::move(files)) {}

  void add(const Values& values) override {
    for (size_t row = 0; row < values.rows; ++row) {
      if (values.valid[row] == 0) continue;
      const int64_t length = values.lengths[row];
      if (width_ == 0 && length > 0 && length <= kMaxWidth) open(length);
      if (length != width_ || width_ == 0) return leave_out(length);
    }
    if (vectors_ == nullptr)
      missing_before_ += static_cast<int64_t>(values.rows);
    else
      add_vectors(values);
  }

  bool is_left_out() const override { return !reason_.empty(); }

  Json finish() override {
    if (vectors_ == nullptr && reason_.empty()) reason_ = "a column without a value";
    if (!is_left_out()) return vectors_->finish();
    if (vectors_ != nullptr) {
      vectors_.reset();
      files_.set().discard(files_.file("values"));
      if (has_missing_) files_.set().discard(files_.file("valid"));
    }
    return {{"name", files_.name()}, {"reason", reason_}};
  }

 private:
  static constexpr int64_t kRowsAtOnce = 1024;

  void open(int64_t width) {
    width_ = width;
    vectors_ = make_real_sink(files_, "vector", {width});
    for (; missing_before_ > 0; missing_before_ -= static_cast<int64_t>(dense_.rows)) {
      dense_.rows = static_cast<size_t>(std::min(missing_before_, kRowsAtOnce));
      dense_.valid.assign(dense_.rows, 0);
      dense_.reals.assign(dense_.rows * static_cast<size_t>(width), 0);
      vectors_->add(dense_);
      has_missing_ = true;
    }
  }

  void add_vectors(const Values& values) {
    const Values& items = values.items[0];
    dense_.rows = values.rows;
    dense_.valid.assign(values.valid.begin(),
                        values.valid.begin() + static_cast<std::ptrdiff_t>(values.rows));
    dense_.reals.assign(values.rows * static_cast<size_t>(width_), 0);
    size_t item = 0;
    for (size_t row = 0; row < values.rows; ++row) {
      if (values.valid[row] == 0) {
        has_missing_ = true;
        continue;
      }
      for (size_t at = row * static_cast<size_t>(width_); at < (row + 1) * static_cast<size_t>(width_);
           ++at) {
        dense_.reals[at] =
            items.valid[item] != 0 ? items.reals[item] : std::numeric_limits<double>::quiet_NaN();
        ++item;
      }
    }
    vectors_->add(dense_);
  }

  void leave_out(int64_t length) {
    reason_ = width_ == 0 ? fmt::format("a list of {} numbers, expected 1 to {}", length, kMaxWidth)
                          : fmt::format("lists of {} and of {} numbers, expected one length", width_, length);
  }

  ColumnFiles files_;
  std::unique_ptr<ColumnSink> vectors_;  // Null until the width is known.
  int64_t width_ = 0;
  int64_t missing_before_ = 0;  // Rows before the first list.
  bool has_missing_ = false;    // Whether `vectors_` has a row without a list.
  Values dense_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<ColumnSink> make_list_vector_sink(ColumnFiles files) {
  return std::make_unique<ListVectorSink>(std::move(files));
}

}  // namespace plimsoll
