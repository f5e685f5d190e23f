#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "ingest/tables/column_files.h"
#include "ingest/tables/sinks.h"
#include "ingest/tables/vocabulary.h"

namespace plimsoll {
namespace {

constexpr int64_t kFewTexts = 256;  // Up to this many are categories however seldom they occur.

class CategorySink final : public ColumnSink {
 public:
  CategorySink(ColumnFiles files, bool is_forced)
      : files_(std::move(files)),
        is_forced_(is_forced),
        writer_(&files_.set().column<int32_t>(files_.file("values"))) {
    vocabulary_.emplace();
  }

  void add(const Values& values) override {
    if (writer_ == nullptr) return;
    files_.add_validity({values.valid.data(), values.rows});
    codes_.resize(values.rows);
    for (size_t row = 0; row < values.rows; ++row) codes_[row] = code_of(values, row);
    writer_->append(std::span<const int32_t>(codes_));
    if (is_forced_ || !vocabulary_->exceeds_limits()) return;
    drop();
    vocabulary_.reset();
    reason_ =
        fmt::format("more than {} different texts or {} MiB of them; give it the meaning category to keep it",
                    TextVocabulary::kMaxTexts, TextVocabulary::kMaxBytes >> 20);
  }

  Json finish() override {
    const int64_t texts = vocabulary_ ? vocabulary_->count() : 0;
    if (vocabulary_ && !is_forced_ && texts > kFewTexts && 2 * texts > files_.rows() - files_.missing()) {
      drop();
      reason_ = fmt::format("{} different texts in {} rows; give it the meaning category to keep it", texts,
                            files_.rows() - files_.missing());
    }
    if (writer_ == nullptr) return {{"name", files_.name()}, {"reason", reason_}};
    write_codes();
    Json entry = files_.finish("category");
    entry["distinct"] = texts;
    entry["vocabulary"] = files_.file("vocabulary");
    entry["vocabulary_ptr"] = files_.file("vocabulary_ptr");
    return entry;
  }

 private:
  int32_t code_of(const Values& values, size_t row) {
    if (values.valid[row] == 0) return -1;
    if (!values.texts.empty()) return vocabulary_->add(values.texts[row]);
    return vocabulary_->add(fmt::format("{}", values.integers[row]));
  }

  // Removes what was written of the column.
  void drop() {
    static_cast<void>(files_.finish("category"));
    files_.set().discard(files_.file("values"));
    if (files_.missing() > 0) files_.set().discard(files_.file("valid"));
    writer_ = nullptr;
  }

  // Renumbers the codes by the order of the texts, and writes the texts.
  void write_codes() {
    const Vector<int32_t, Tag::ingest> order = vocabulary_->sorted();
    Vector<int32_t, Tag::ingest> code(order.size());
    for (size_t at = 0; at < order.size(); ++at)
      code[static_cast<size_t>(order[at])] = static_cast<int32_t>(at);
    store_whole<int32_t>(files_.set(), files_.file("values"), -1, static_cast<int64_t>(order.size()) - 1,
                         [&](int32_t old) { return old < 0 ? -1 : code[static_cast<size_t>(old)]; });
    files_.set().finish(files_.file("values"));
    NpyWriter& bytes = files_.set().column<uint8_t>(files_.file("vocabulary"));
    NpyWriter& ptr = files_.set().column<int64_t>(files_.file("vocabulary_ptr"));
    int64_t end = 0;
    ptr.append(std::span<const int64_t>(&end, 1));
    for (const int32_t number : order) {
      const std::string_view text = vocabulary_->text(number);
      bytes.append(std::span(text.data(), text.size()));
      end += static_cast<int64_t>(text.size());
      ptr.append(std::span<const int64_t>(&end, 1));
    }
    files_.set().finish(files_.file("vocabulary"));
    files_.set().finish(files_.file("vocabulary_ptr"));
  }

  ColumnFiles files_;
  bool is_forced_;
  NpyWriter* writer_;
  std::optional<TextVocabulary> vocabulary_;
  Vector<int32_t, Tag::ingest> codes_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<ColumnSink> make_category_sink(ColumnFiles files, bool is_forced) {
  return std::make_unique<CategorySink>(std::move(files), is_forced);
}

}  // namespace plimsoll
