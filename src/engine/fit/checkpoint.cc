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

constexpr const char* kPlaces = "table.places";

std::vector<ParameterList::Entry> entries_in_memory(const ParameterList& parameters) {
  std::vector<ParameterList::Entry> entries = parameters.all();
  std::erase_if(entries, [](const ParameterList::Entry& entry) { return entry.stored != nullptr; });
  return entries;
}

std::span<float> values_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

constexpr const char* kBest = "best";

std::string model_name(const std::string& name) {
  return "model." + name;
}

// Returns the table of a checkpoint that was written while the table was in memory. Errors: InputError.
StoredTable::WholeTable whole_table(const SafetensorsView& file, const StoredTable& table) {
  const auto count = static_cast<size_t>(table.numbers());
  const auto numbers_of = [&](const std::string& name) {
    const std::span<const std::byte> data = file.tensor(name).data;
    if (data.size() < count * sizeof(float))
      throw InputError(fmt::format("tensor '{}' does not have the expected size", name));
    return std::span(reinterpret_cast<const float*>(data.data()), count);
  };
  StoredTable::WholeTable whole{numbers_of(model_name(StoredTable::kName)), numbers_of(kBest), {}};
  for (const std::string& name : table.moment_names())
    whole.moments.push_back(numbers_of("optimizer." + name));
  return whole;
}

// Renames a damaged checkpoint, so that it does not count as one of the last two.
void put_aside(const fs::path& path, const std::string& reason, std::vector<std::string>& damaged) {
  damaged.push_back(fmt::format("{} ({})", path.filename().string(), reason));
  fs::rename(path, path.parent_path() / ("damaged-" + path.filename().string()));
}

}  // namespace

BestWeights::BestWeights(const ParameterList& parameters) : entries_(entries_in_memory(parameters)) {
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
  for (const ParameterList::Entry& entry : entries_in_memory(parameters))
    tensors[model_name(entry.name)] = values_of(entry.value);
  for (const auto& [name, values] : whole_state) tensors["optimizer." + name] = values;
  if (whole_state.empty())
    for (const auto& [name, value] : optimizer.state())
      if (table == nullptr || !StoredTable::is_moment_of_table(name))
        tensors["optimizer." + name] = values_of(value);
  tensors[kBest] = best.values();
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

void Checkpoints::remove_all_but(size_t kept) const {
  const std::vector<fs::path> paths = newest_first();
  for (size_t old = kept; old < paths.size(); ++old) fs::remove(paths[old]);
}

void Checkpoints::save(const TrainingState& state, const Position& position) {
  std::map<std::string, TensorSpan> tensors;
  for (const auto& [name, values] : state.tensors())
    tensors[name] = {"F32", {static_cast<int64_t>(values.size())}, std::as_bytes(values)};
  tensors["epochs"] = {"I64",
                       {static_cast<int64_t>(position.epochs.size()), kNumbersOfAnEpoch},
                       std::as_bytes(std::span(position.epochs))};
  if (state.table != nullptr)
    tensors[kPlaces] = {"U8", {state.table->rows()}, state.table->before_checkpoint()};
  std::map<std::string, std::string> metadata = {
      {"plimsoll.identity", identity_},
      {"plimsoll.position", position_text(position, state.optimizer.steps())}};
  if (!roundings_.empty()) metadata[kRoundings] = roundings_;
  write_safetensors(folder_ / fmt::format("step-{:012}.safetensors", state.optimizer.steps()), tensors,
                    metadata);
  remove_all_but(state.table != nullptr ? 1 : kKept);
  // Removes the unfinished files of a process that was killed.
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().filename().string().starts_with(".step-")) fs::remove(entry.path());
  if (state.table != nullptr) state.table->after_checkpoint();
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
      if (state.table == nullptr && file.tensors().contains(kPlaces))
        throw Failure(fmt::format(
            "{}: the table of embeddings of this run is missing; put it back, or start again with "
            "--force",
            (folder_.parent_path() / StoredTable::kFile).string()));
      const auto mine = state.tensors();
      const bool was_in_memory = state.table != nullptr && !file.tensors().contains(kPlaces);
      // The best weights of a table in memory are the first of all best weights.
      const size_t of_table = was_in_memory ? file.tensor(model_name(StoredTable::kName)).data.size() : 0;
      const auto data_of = [&](const std::string& name) {
        const std::span<const std::byte> data = file.tensor(name).data;
        return name == kBest ? data.subspan(std::min(of_table, data.size())) : data;
      };
      for (const auto& [name, values] : mine)
        if (data_of(name).size() != values.size_bytes())
          throw InputError(fmt::format("tensor '{}' does not have the expected size", name));
      for (const auto& [name, values] : mine)
        std::memcpy(values.data(), data_of(name).data(), values.size_bytes());
      if (was_in_memory)
        state.table->take(whole_table(file, *state.table));
      else if (state.table != nullptr)
        state.table->resume(file.tensor(kPlaces).data);
      if (state.table != nullptr) remove_all_but(1);
      state.optimizer.set_steps(read.optimizer_steps);
      return std::move(read.position);
    } catch (const InputError& error) {
      put_aside(path, error.what(), damaged);
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll
