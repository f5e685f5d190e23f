#include "ingest/tables/code_column.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace plimsoll {
namespace {

// Up to this many distinct texts are categories, however rarely each occurs.
constexpr int64_t kFewTexts = 256;

}  // namespace

CodeColumn::CodeColumn(const ColumnFiles& files, bool is_forced)
    : files_(files), is_forced_(is_forced), writer_(&files.set().column<int32_t>(files.file("values"))) {}

int32_t CodeColumn::code_of(const Values& values, size_t row) {
  if (values.valid[row] == 0) return -1;
  ++there_;
  if (!values.texts.empty()) return vocabulary_.add(values.texts[row]);
  return vocabulary_.add(fmt::format("{}", values.integers[row]));
}

void CodeColumn::add(const Values& values) {
  codes_.resize(values.rows);
  for (size_t row = 0; row < values.rows; ++row) {
    codes_[row] = code_of(values, row);
    if (!is_forced_ && vocabulary_.exceeds_limits())
      return drop(fmt::format(
          "more than {} different texts or {} MiB of them; give it the meaning category to keep it",
          TextVocabulary::kMaxTexts, TextVocabulary::kMaxBytes >> 20));
  }
  writer_->append(std::span<const int32_t>(codes_));
}

void CodeColumn::drop(std::string reason) {
  files_.set().discard(files_.file("values"));
  writer_ = nullptr;
  vocabulary_ = TextVocabulary();
  reason_ = std::move(reason);
}

void CodeColumn::finish(Json& entry) {
  const int64_t texts = vocabulary_.count();
  if (!is_dropped() && !is_forced_ && texts > kFewTexts && 2 * texts > there_)
    drop(
        fmt::format("{} different texts in {} rows; give it the meaning category to keep it", texts, there_));
  if (is_dropped()) {
    entry = {{"name", files_.name()}, {"reason", reason_}};
    return;
  }
  // Codes are renumbered in the order of the texts.
  const Vector<int32_t, Tag::ingest> order = vocabulary_.sorted();
  Vector<int32_t, Tag::ingest> code(order.size());
  for (size_t at = 0; at < order.size(); ++at)
    code[static_cast<size_t>(order[at])] = static_cast<int32_t>(at);
  store_whole<int32_t>(files_.set(), files_.file("values"), -1, texts - 1,
                       [&](int32_t old) { return old < 0 ? -1 : code[static_cast<size_t>(old)]; });
  files_.set().finish(files_.file("values"));
  write_vocabulary(order);
  entry["distinct"] = texts;
  entry["vocabulary"] = files_.file("vocabulary");
  entry["vocabulary_ptr"] = files_.file("vocabulary_ptr");
}

void CodeColumn::write_vocabulary(const Vector<int32_t, Tag::ingest>& order) {
  NpyWriter& bytes = files_.set().column<uint8_t>(files_.file("vocabulary"));
  NpyWriter& ptr = files_.set().column<int64_t>(files_.file("vocabulary_ptr"));
  int64_t end = 0;
  ptr.append(std::span<const int64_t>(&end, 1));
  for (const int32_t number : order) {
    const std::string_view text = vocabulary_.text(number);
    bytes.append(std::span(text.data(), text.size()));
    end += static_cast<int64_t>(text.size());
    ptr.append(std::span<const int64_t>(&end, 1));
  }
  files_.set().finish(files_.file("vocabulary"));
  files_.set().finish(files_.file("vocabulary_ptr"));
}

}  // namespace plimsoll
