#include "engine/fit/position.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "io/file.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

// Returns whether checkpoints of the first version have the key; those of later versions have more keys.
bool is_required(std::string_view key) {
  constexpr std::array<std::string_view, 3> kRequired = {"epoch", "seconds", "gradient_norm"};
  return std::ranges::find(kRequired, key) != kRequired.end() || key.ends_with("_loss");
}

// A loss that is not finite was written as null.
EpochMetrics metrics_from(const Json& json) {
  EpochMetrics metrics;
  visit_metrics(metrics, [&](const std::string& key, auto& value) {
    if (!is_required(key) && !json.contains(key)) return;
    const Json& found = json.at(key);
    if constexpr (std::is_integral_v<std::remove_reference_t<decltype(value)>>)
      value = whole_number(found);
    else
      value = found.is_null() ? std::numeric_limits<double>::quiet_NaN() : found.get<double>();
  });
  return metrics;
}

ReadPosition position_of(const Json& json) {
  ReadPosition read{{}, whole_number(json.at("optimizer_steps"))};
  Position& position = read.position;
  position.epoch = whole_number(json.at("epoch"));
  position.step = whole_number(json.at("step"));
  position.so_far = metrics_from(json.at("so_far"));
  position.best_epoch = whole_number(json.at("best_epoch"));
  const Json& best_loss = json.at("best_loss");
  position.best_loss =
      best_loss.is_null() ? std::numeric_limits<double>::infinity() : best_loss.get<double>();
  if (json.contains("loss_scale")) {
    position.scale.factor = json.at("loss_scale");
    position.scale.good_steps = whole_number(json.at("good_steps"));
  }
  return read;
}

}  // namespace

// Json writes doubles so that reading them returns the same values.
Json metrics_json(const EpochMetrics& metrics) {
  Json json = Json::object();
  visit_metrics(metrics, [&](const std::string& key, const auto& value) { json[key] = value; });
  return json;
}

void write_metrics_csv(const std::filesystem::path& path, std::span<const EpochMetrics> epochs) {
  constexpr size_t kBuffer = 16 << 10;
  replace_file(path, [&](File& file) {
    std::string text;
    const EpochMetrics none;
    visit_metrics(none,
                  [&](const std::string& name, const auto&) { text += (text.empty() ? "" : ",") + name; });
    for (const EpochMetrics& epoch : epochs) {
      char before = '\n';
      visit_metrics(epoch, [&](const std::string& name, const auto& value) {
        text += before;
        before = ',';
        if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>)
          text += std::to_string(value);
        else
          text += name.ends_with("seconds") || name.ends_with("_s") ? fmt::format("{:.3f}", value)
                                                                    : fmt::format("{:.9g}", value);
      });
      if (text.size() < kBuffer) continue;
      file.write(text.data(), text.size());
      text.clear();
    }
    text += '\n';
    file.write(text.data(), text.size());
  });
}

static_assert(std::is_trivially_copyable_v<EpochMetrics> && sizeof(EpochMetrics) % sizeof(int64_t) == 0);

void read_epochs(const TensorSpan& tensor, int64_t count, Vector<EpochMetrics, Tag::output>& epochs) {
  const auto has = [&](int64_t numbers) { return tensor.shape == std::vector<int64_t>{count, numbers}; };
  if (tensor.dtype != "I64" || (!has(kNumbersOfAnEpoch) && !has(kNumbersBeforeDevices)))
    throw InputError(fmt::format("tensor 'epochs' is not an I64 tensor of {} epochs with {} numbers each",
                                 count, kNumbersOfAnEpoch));
  epochs.assign(static_cast<size_t>(count), EpochMetrics());
  const auto row = static_cast<size_t>(tensor.shape[1]) * sizeof(int64_t);
  for (size_t i = 0; i < epochs.size(); ++i) std::memcpy(&epochs[i], tensor.data.data() + i * row, row);
}

std::string position_text(const Position& position, int64_t optimizer_steps) {
  Json json = {{"epoch", position.epoch},
               {"step", position.step},
               {"so_far", metrics_json(position.so_far)},
               {"best_epoch", position.best_epoch},
               {"best_loss", position.best_epoch == 0 ? Json() : Json(position.best_loss)},
               {"optimizer_steps", optimizer_steps}};
  if (position.scale.on()) {
    json["loss_scale"] = position.scale.factor;
    json["good_steps"] = position.scale.good_steps;
  }
  return json.dump();
}

ReadPosition read_position(const SafetensorsView& file) {
  return read_metadata(file, "plimsoll.position", [&](const Json& json) {
    ReadPosition read = position_of(json);
    const Position& position = read.position;
    if (position.epoch < 1 || position.step < 0 || position.best_epoch < 0 || read.optimizer_steps < 0 ||
        position.scale.factor < 0 || position.scale.good_steps < 0)
      throw InputError(file.path() + ": metadata 'plimsoll.position' holds a number below its minimum");
    return read;
  });
}

ReadPosition read_position(const std::string& text) {
  return position_of(parse_json(text));
}

}  // namespace plimsoll
