#include "ingest/tables/column_sink.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "ingest/tables/sinks.h"

namespace plimsoll {

/// A meaning that a user gives a column.
enum class GivenMeaning : uint8_t { skip, category, number, time_s, time_ms, time_us, time_ns };
template <>
inline constexpr auto kWords<GivenMeaning> = std::to_array<std::string_view>({"skip", "category", "number",
                                                                              "time:s", "time:ms", "time:us",
                                                                              "time:ns"});

namespace {

// The sink of a column that is left out, whatever its values are.
class LeftOut final : public ColumnSink {
 public:
  LeftOut(std::string name, std::string reason) : name_(std::move(name)), reason_(std::move(reason)) {}
  void add(const Values& /*values*/) override {}
  bool is_left_out() const override { return true; }
  Json finish() override { return {{"name", name_}, {"reason", reason_}}; }

 private:
  std::string name_, reason_;
};

std::unique_ptr<ColumnSink> make_inferred(ColumnFiles files, const ArrowType& type) {
  const auto left_out = [&](std::string reason) {
    return std::make_unique<LeftOut>(files.name(), std::move(reason));
  };
  switch (type.kind) {
    case ValueKind::boolean:
      return make_integer_sink(std::move(files), WholeMeaning::boolean, "");
    case ValueKind::integer:
      return make_integer_sink(std::move(files), WholeMeaning::number, "");
    case ValueKind::time:
      return make_integer_sink(std::move(files), WholeMeaning::time, type.unit);
    case ValueKind::real:
      return make_real_sink(std::move(files), "number", {});
    case ValueKind::vector:
      return make_real_sink(std::move(files), "vector", {type.width});
    case ValueKind::text:
      if (!type.is_utf8) return left_out("bytes that are not text");
      return make_category_sink(std::move(files), false);
    case ValueKind::list:
      if (type.item[0].kind == ValueKind::real) return make_list_vector_sink(std::move(files));
      return make_multi_category_sink(std::move(files), false);
    case ValueKind::nothing:
      return left_out("a column without a value");
    case ValueKind::other:
      break;
  }
  return left_out(fmt::format("no meaning for the Arrow format '{}'", type.format));
}

}  // namespace

std::unique_ptr<ColumnSink> make_column_sink(ColumnFiles files, const ArrowType& type,
                                             const std::string& meaning, const std::string& where) {
  const bool is_whole = type.kind == ValueKind::integer || type.kind == ValueKind::boolean;
  const std::optional<GivenMeaning> given = find_word<GivenMeaning>(meaning);
  if (given == GivenMeaning::skip) return std::make_unique<LeftOut>(files.name(), "the user says so");
  if (given == GivenMeaning::category && (is_whole || (type.kind == ValueKind::text && type.is_utf8)))
    return make_category_sink(std::move(files), true);
  if (given == GivenMeaning::category && type.kind == ValueKind::list && type.item[0].kind != ValueKind::real)
    return make_multi_category_sink(std::move(files), true);
  if (given == GivenMeaning::number && (is_whole || type.kind == ValueKind::time))
    return make_integer_sink(std::move(files), WholeMeaning::number, "");
  if (given >= GivenMeaning::time_s && is_whole)
    return make_integer_sink(std::move(files), WholeMeaning::time, meaning.substr(meaning.find(':') + 1));
  const bool is_inferred = meaning.empty() || (given == GivenMeaning::number && type.kind == ValueKind::real);
  if (!is_inferred)
    throw UsageError(
        fmt::format("{}: its Arrow format '{}' cannot have the meaning {}", where, type.format, meaning));
  return make_inferred(std::move(files), type);
}

}  // namespace plimsoll
