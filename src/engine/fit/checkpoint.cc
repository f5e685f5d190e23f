#include "engine/fit/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "io/file_system.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr size_t kKept = 2;

std::span<float> values_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

// Renames a damaged checkpoint, so that it does not count as one of the last two.
void put_aside(const fs::path& path, const std::string& reason, std::vector<std::string>& damaged) {
  damaged.push_back(fmt::format("{} ({})", path.filename().string(), reason));
  fs::rename(path, path.parent_path() / ("damaged-" + path.filename().string()));
}

}  // namespace

BestWeights::BestWeights(const ParameterList& parameters) : entries_(parameters.all()) {
  size_t count = 0;
  for (const ParameterList::Entry& entry : entries_) count += static_cast<size_t>(entry.value.numel());
  values_.resize(count);
  keep();
}

void BestWeights::keep() {
  auto mine = values_.begin();
  for (const ParameterList::Entry& entry : entries_)
    mine = std::ranges::copy(values_of(entry.value), mine).out;
}

void BestWeights::restore() const {
  auto mine = values_.begin();
  for (const ParameterList::Entry& entry : entries_) {
    std::copy_n(mine, entry.value.numel(), entry.value.data_ptr<float>());
    mine += entry.value.numel();
  }
}

std::map<std::string, std::span<float>> TrainingState::tensors() const {
  std::map<std::string, std::span<float>> tensors;
  for (const ParameterList::Entry& entry : parameters.all())
    tensors["model." + entry.name] = values_of(entry.value);
  for (const auto& [name, values] : whole_state) tensors["optimizer." + name] = values;
  if (whole_state.empty())
    for (const auto& [name, value] : optimizer.state()) tensors["optimizer." + name] = values_of(value);
  tensors["best"] = best.values();
  return tensors;
}

Checkpoints::Checkpoints(fs::path folder, std::string identity, std::string roundings)
    : folder_(std::move(folder)), identity_(std::move(identity)), roundings_(std::move(roundings)) {}

void Checkpoints::make_folder() const {
  make_folders(folder_);
}

std::vector<fs::path> Checkpoints::newest_first() const {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".safetensors")) paths.push_back(entry.path());
  }
  std::sort(paths.rbegin(), paths.rend());
  return paths;
}

void Checkpoints::save(const TrainingState& state, const Position& position) {
  std::map<std::string, TensorSpan> tensors;
  for (const auto& [name, values] : state.tensors())
    tensors[name] = {"F32", {static_cast<int64_t>(values.size())}, std::as_bytes(values)};
  tensors["epochs"] = {"I64",
                       {static_cast<int64_t>(position.epochs.size()), kNumbersOfAnEpoch},
                       std::as_bytes(std::span(position.epochs))};
  std::map<std::string, std::string> metadata = {
      {"plimsoll.identity", identity_},
      {"plimsoll.position", position_text(position, state.optimizer.steps())}};
  if (!roundings_.empty()) metadata[kRoundings] = roundings_;
  write_safetensors(folder_ / fmt::format("step-{:012}.safetensors", state.optimizer.steps()), tensors,
                    metadata);
  const std::vector<fs::path> paths = newest_first();
  for (size_t old = kKept; old < paths.size(); ++old) fs::remove(paths[old]);
  // Removes the unfinished files of a process that was killed.
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().filename().string().starts_with(".step-")) fs::remove(entry.path());
}

std::optional<Position> Checkpoints::load(const TrainingState& state,
                                          std::vector<std::string>& damaged) const {
  for (const fs::path& path : newest_first()) {
    try {
      const SafetensorsView file(path);
      if (!file.metadata().contains(kChecksum)) throw InputError(path.string() + ": has no checksum");
      if (file.meta("plimsoll.identity") != identity_)
        throw UsageError(
            path.string() +
            ": the checkpoint is of another recipe or other data; name another --run, or start again "
            "with --force");
      ReadPosition read = read_position(file);
      read_epochs(file.tensor("epochs"), read.position.epoch - 1, read.position.epochs);
      const auto mine = state.tensors();
      for (const auto& [name, values] : mine)
        if (file.tensor(name).data.size() != values.size_bytes())
          throw InputError(fmt::format("tensor '{}' does not have the expected size", name));
      for (const auto& [name, values] : mine)
        std::memcpy(values.data(), file.tensor(name).data.data(), values.size_bytes());
      state.optimizer.set_steps(read.optimizer_steps);
      return std::move(read.position);
    } catch (const InputError& error) {
      put_aside(path, error.what(), damaged);
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll
