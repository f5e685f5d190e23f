#include <utility>

#include "ingest/tables/appender.h"
#include "ingest/tables/code_column.h"
#include "ingest/tables/sinks.h"

namespace plimsoll {
namespace {

class CategorySink final : public ColumnSink {
 public:
  CategorySink(ColumnFiles files, bool is_forced) : files_(std::move(files)), codes_(files_, is_forced) {}

  void add(const Values& values) override {
    files_.add_validity({values.valid.data(), values.rows});
    codes_.add(values);
  }

  bool is_left_out() const override { return codes_.is_dropped(); }

  Json finish() override {
    Json entry = files_.finish("category");
    codes_.finish(entry);
    if (codes_.is_dropped() && files_.missing() > 0) files_.set().discard(files_.file("valid"));
    return entry;
  }

 private:
  ColumnFiles files_;
  CodeColumn codes_;
};

// Lists of categories: the codes of all rows one after the other, and where each row ends.
class MultiCategorySink final : public ColumnSink {
 public:
  MultiCategorySink(ColumnFiles files, bool is_forced)
      : files_(std::move(files)),
        codes_(files_, is_forced),
        ptr_(files_.set().column<int64_t>(files_.file("ptr"))) {
    ptr_.append(std::span<const int64_t>(&end_, 1));
  }

  void add(const Values& values) override {
    files_.add_validity({values.valid.data(), values.rows});
    codes_.add(values.items[0]);
    Appender<int64_t> ends(ptr_);
    for (size_t row = 0; row < values.rows; ++row) ends.add(end_ += values.lengths[row]);
    ends.flush();
  }

  bool is_left_out() const override { return codes_.is_dropped(); }

  Json finish() override {
    Json entry = files_.finish("multi-category");
    entry["ptr"] = files_.file("ptr");
    files_.set().finish(files_.file("ptr"));
    codes_.finish(entry);
    if (!codes_.is_dropped()) return entry;
    files_.set().discard(files_.file("ptr"));
    if (files_.missing() > 0) files_.set().discard(files_.file("valid"));
    return entry;
  }

 private:
  ColumnFiles files_;
  CodeColumn codes_;
  NpyWriter& ptr_;
  int64_t end_ = 0;
};

}  // namespace

std::unique_ptr<ColumnSink> make_category_sink(ColumnFiles files, bool is_forced) {
  return std::make_unique<CategorySink>(std::move(files), is_forced);
}

std::unique_ptr<ColumnSink> make_multi_category_sink(ColumnFiles files, bool is_forced) {
  return std::make_unique<MultiCategorySink>(std::move(files), is_forced);
}

}  // namespace plimsoll
