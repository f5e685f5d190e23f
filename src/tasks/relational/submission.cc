#include "tasks/relational/submission.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/csv_field.h"
#include "io/file.h"

namespace plimsoll {
namespace {

constexpr const char* kTest = "test";
constexpr size_t kTextBytes = size_t{1} << 16;

const Json& entry_named(const Json& list, const std::string& name) {
  return *std::ranges::find_if(list, [&](const Json& entry) { return entry.at("name") == name; });
}

// The keys of a type's nodes as texts, as they are in the user's tables; numbers of rows if the table has no
// key. A type whose key has several columns is refused.
class KeyTexts {
 public:
  KeyTexts(const DataSetView& set, const Json& type) {
    const Json keys = type.value("key", Json::array());
    if (keys.empty()) {
      require_row_numbers(type);
      return;
    }
    if (keys.size() != 1)
      throw InputError(
          fmt::format("table {}: found a key of {} columns, expected one column in a task of RelBench",
                      std::string(type.at("name")), keys.size()));
    const Json& key = keys.front();
    if (!key.contains("column")) return;  // Keys are the indices of the nodes.
    name_ = key.at("column");
    if (key.contains("ptr")) {
      letters_ = set.column<uint8_t>(name_);
      ptr_ = set.column<int64_t>(key.at("ptr"));
    } else {
      numbers_ = set.column<int64_t>(name_);
    }
  }

  std::string of(int64_t node) const {
    const auto at = static_cast<size_t>(node);
    if (!ptr_.empty()) {
      if (ptr_[at] < 0 || ptr_[at + 1] < ptr_[at] || ptr_[at + 1] > std::ssize(letters_))
        throw InputError(
            fmt::format("{}.npy: found the text {} .. {} of {} bytes for node {}; ingest the tables "
                        "again",
                        name_, ptr_[at], ptr_[at + 1], letters_.size(), node));
      return csv_field({reinterpret_cast<const char*>(letters_.data()) + ptr_[at],
                        static_cast<size_t>(ptr_[at + 1] - ptr_[at])});
    }
    return std::to_string(numbers_.empty() ? node : numbers_[at]);
  }

 private:
  // RelBench calls the number of a row its key if a table has none. It counts rows without a time, too, which
  // are no nodes.
  static void require_row_numbers(const Json& type) {
    if (const auto left_out = type.value("rows_without_time", int64_t{0}); left_out > 0)
      throw InputError(fmt::format(
          "table {}: has no key, and {} of its rows have no time, so RelBench's numbers of its rows are not "
          "known; give it a key",
          std::string(type.at("name")), left_out));
  }

  std::string name_;  // The column, for messages.
  std::span<const uint8_t> letters_;
  std::span<const int64_t> ptr_, numbers_;
};

// The predictions of a task's seeds, as texts.
class PredictionTexts {
 public:
  PredictionTexts(const DataSetView& rows, const TypedGraphView& graph, const TaskSeeds& seeds)
      : length_(static_cast<size_t>(seeds.list_length())) {
    if (seeds.kind() == SeedTask::recommendation) {
      destinations_.emplace(graph.set(),
                            entry_named(graph.set().manifest().at("node_types"), seeds.destination()));
      nodes_ = rows.column<int64_t>("destination", {seeds.list_length()});
    } else if (seeds.kind() == SeedTask::regression) {
      values_ = rows.column<float>("value", {1});
    } else {
      probabilities_ = rows.column<float>("probability", {2});
    }
  }

  std::string of(int64_t seed) const {
    const auto row = static_cast<size_t>(seed);
    if (!destinations_)
      return fmt::format("{:.9g}", values_.empty() ? probabilities_[2 * row + 1] : values_[row]);
    std::string list;
    for (const int64_t node : nodes_.subspan(row * length_, length_))
      list += (list.empty() ? "[" : ", ") + destinations_->of(node);
    return csv_field(list + "]");
  }

 private:
  const size_t length_;
  std::optional<KeyTexts> destinations_;  // Set for a recommendation.
  std::span<const int64_t> nodes_;
  std::span<const float> values_, probabilities_;
};

// Writes times as pandas writes a column of times, because relbench.submit compares the texts: without the
// time of day if all times are at midnight, otherwise with the smallest number of fractional digits, 3, 6 or
// 9, that represents all of them.
class TimeTexts {
 public:
  TimeTexts(const TaskSeeds& seeds, const TaskSeeds::Split& split) {
    for (int64_t seed = split.first; seed < split.first + split.count; ++seed) {
      const int64_t time = seeds.time(seed);
      are_days_ = are_days_ && time % kDay == 0;
      while (time % unit_ != 0) {
        unit_ /= 1000;
        digits_ += 3;
      }
    }
  }

  std::string of(int64_t time) const {
    using namespace std::chrono;
    const auto seconds = floor<std::chrono::seconds>(sys_time<nanoseconds>(nanoseconds(time)));
    const std::tm calendar = fmt::gmtime(system_clock::to_time_t(seconds));
    if (are_days_) return fmt::format("{:%Y-%m-%d}", calendar);
    const std::string text = fmt::format("{:%Y-%m-%d %H:%M:%S}", calendar);
    const int64_t rest = time - nanoseconds(seconds.time_since_epoch()).count();
    return digits_ == 0 ? text : fmt::format("{}.{:0{}}", text, rest / unit_, digits_);
  }

 private:
  static constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;

  bool are_days_ = true;
  int64_t unit_ = 1'000'000'000;  // Nanoseconds of the last digit.
  int digits_ = 0;
};

}  // namespace

std::optional<Submission> Submission::of(const RelationalData& data) {
  const TaskSeeds& seeds = data.seeds().seeds();
  const Json& manifest = data.seeds().graph().set().manifest();
  const auto test = std::ranges::find(seeds.splits(), kTest, &TaskSeeds::Split::name);
  if (!manifest.contains("source") || !manifest.at("source").contains("name") ||
      test == seeds.splits().end() || seeds.kind() == SeedTask::multiclass_classification ||
      seeds.kind() == SeedTask::multilabel_classification)
    return std::nullopt;
  return Submission(data, *test);
}

Submission::Submission(const RelationalData& data, const TaskSeeds::Split& test) : data_(data), test_(test) {
  const TypedGraphView& graph = data.seeds().graph();
  const Json& manifest = graph.set().manifest();
  const std::string& task = data.seeds().seeds().name();
  try {
    const std::string set = manifest.at("source").at("name");
    if (set.find('/') != std::string::npos || set.starts_with('.'))
      throw InputError(
          fmt::format("{}: found the name '{}' in `source`, expected a name that can be part of a file name",
                      graph.set().folder().string(), set));
    name_ = fmt::format("{}__{}.csv", set, task);
    const Json& words = entry_named(manifest.at("tasks"), task).at("manifest");
    const bool is_list = data.seeds().seeds().kind() == SeedTask::recommendation;
    for (const char* column :
         {is_list ? "src_entity_col" : "entity_col", "time_col", is_list ? "dst_entity_col" : "target_col"})
      header_ += (header_.empty() ? "" : ",") + csv_field(words.at(column).get<std::string>());
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: task {}: damaged manifest.json: {}; ingest the tables again",
                                 graph.set().folder().string(), task, error.what()));
  }
}

void Submission::write(const std::filesystem::path& predictions) const {
  const TypedGraphView& graph = data_.seeds().graph();
  const TaskSeeds& seeds = data_.seeds().seeds();
  const KeyTexts keys(graph.set(), entry_named(graph.set().manifest().at("node_types"), seeds.entity()));
  const TimeTexts times(seeds, test_);
  const DataSetView rows(predictions);
  const PredictionTexts texts(rows, graph, seeds);
  replace_file(predictions / name_, [&](File& file) {
    std::string text = header_ + "\n";
    for (int64_t seed = test_.first; seed < test_.first + test_.count; ++seed) {
      text +=
          fmt::format("{},{},{}\n", keys.of(seeds.node(seed)), times.of(seeds.time(seed)), texts.of(seed));
      if (text.size() < kTextBytes) continue;
      file.write(text.data(), text.size());
      text.clear();
    }
    file.write(text.data(), text.size());
  });
}

}  // namespace plimsoll
