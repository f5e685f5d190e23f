#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/words.h"
#include "ingest/tables/column_files.h"
#include "ingest/tables/column_sink.h"

namespace plimsoll {

/// The meaning of a column of whole numbers.
enum class WholeMeaning : uint8_t { boolean, number, time };
template <>
inline constexpr auto kWords<WholeMeaning> = std::to_array<std::string_view>({"boolean", "number", "time"});

/// Returns the sink for whole numbers. `unit` is the unit of times, and empty for other meanings.
std::unique_ptr<ColumnSink> make_integer_sink(ColumnFiles files, WholeMeaning meaning,
                                              const std::string& unit);
/// Returns the sink for real numbers; `row` is {width} for vectors.
std::unique_ptr<ColumnSink> make_real_sink(ColumnFiles files, const char* meaning,
                                           const std::vector<int64_t>& row);
/// Returns the sink for lists of reals. They are vectors; a column with lists of different lengths is left
/// out.
std::unique_ptr<ColumnSink> make_list_vector_sink(ColumnFiles files);
/// Returns the sink for categories: texts, or whole numbers as texts. Unless `is_forced`, a column with more
/// texts than TextVocabulary allows, or in which hardly any text occurs twice, is left out.
std::unique_ptr<ColumnSink> make_category_sink(ColumnFiles files, bool is_forced);
/// Returns the sink for lists of categories, with the same rule for leaving out a column.
std::unique_ptr<ColumnSink> make_multi_category_sink(ColumnFiles files, bool is_forced);

}  // namespace plimsoll
