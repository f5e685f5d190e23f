#include "engine/model_file/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/error.h"
#include "base/words.h"
#include "config/checks.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

// Ranges of the values of options.
struct Whole {
  int64_t min;
  int64_t max;
};
struct Real {
  double min;
  double max;
};

constexpr int64_t kMaxSize =
    // Must equal the limit of gat_network.cc, which reads such files without torch.
    int64_t{1} << 24;
constexpr Whole kSize{1, kMaxSize};
constexpr Whole kSizeOrNone{0, kMaxSize};
constexpr Whole kLayers{1, 4096};
constexpr Whole kSpanningTrees{0, 65535};
constexpr Real kDropout{0, 1};
constexpr Real kCutoff{1e-30, 1e30};
constexpr size_t kMaxWidths = 64;

// Lists the options by name, with the range of each: both reading and writing use it. Options in `later` may
// be missing in older files.
void visit_options(EitherOf<GatOptions> auto& options, const auto& visit, const auto& later) {
  visit("num_ids", options.num_ids, kSize);
  visit("in_features", options.in_features, kSize);
  visit("embedding", options.embedding, kSize);
  visit("layers", options.layers, kLayers);
  visit("hidden", options.hidden, kSize);
  visit("heads", options.heads, kSize);
  visit("dropout", options.dropout, kDropout);
  visit("fc_layers", options.fc_layers, kLayers);
  later("attention", options.attention);
  later("edge_features", options.edge_features, kSizeOrNone);
  later("jk", options.jk);
  later("pooling", options.pooling);
}

void visit_options(EitherOf<VgaeOptions> auto& options, const auto& visit, const auto&) {
  visit("num_ids", options.num_ids, kSize);
  visit("in_features", options.in_features, kSize);
  visit("embedding", options.embedding, kSize);
  visit("hidden", options.hidden, kSize);
  visit("latent", options.latent, kSize);
  visit("heads", options.heads, kSize);
  visit("decoder_heads", options.decoder_heads, kSize);
  visit("dropout", options.dropout, kDropout);
  visit("output", options.output);
  visit("edge_features", options.edge_features, kSizeOrNone);
}

void visit_options(EitherOf<GnnOptions> auto& options, const auto& visit, const auto& later) {
  visit("conv", options.conv);
  visit("in_features", options.in_features, kSize);
  visit("edge_features", options.edge_features, kSizeOrNone);
  later("edge_weight", options.edge_weight);
  visit("num_ids", options.num_ids, kSizeOrNone);
  visit("embedding", options.embedding, kSize);
  visit("layers", options.layers, kLayers);
  visit("hidden", options.hidden, kSize);
  visit("heads", options.heads, kSize);
  visit("norm", options.norm);
  visit("jk", options.jk);
  visit("pooling", options.pooling);
  visit("dropout", options.dropout, kDropout);
  visit("classes", options.classes, kSize);
  visit("node_head", options.node_head);
  later("values", options.values);
}

void visit_options(EitherOf<SgmpOptions> auto& options, const auto& visit, const auto& later) {
  visit("in_features", options.in_features, kSize);
  visit("hidden", options.hidden, kSize);
  visit("layers", options.layers, kLayers);
  visit("mode", options.mode);
  visit("cutoff", options.cutoff, kCutoff);
  visit("tile", options.tile, kSize);
  visit("direction", options.direction);
  visit("distances_only", options.distances_only);
  later("aggregate", options.aggregate);
  later("spanning_trees", options.spanning_trees, kSpanningTrees);
  later("readout", options.readout);
  later("norm", options.norm);
  visit("classes", options.classes, kSize);
  visit("node_head", options.node_head);
  later("values", options.values);
}

template <typename Options>
Json written(const Options& options) {
  Json config = Json::object();
  const auto write = [&](const char* key, const auto& value, const auto&...) { config[key] = value; };
  visit_options(options, write, write);
  return config;
}

void require_in(int64_t value, const Whole& range) {
  if (value < range.min || value > range.max)
    throw UsageError(
        fmt::format("found {}, expected a whole number from {} to {}", value, range.min, range.max));
}

void set(int64_t& value, const Json& json, const Whole& range) {
  value = whole_number(json);
  require_in(value, range);
}

void set(std::vector<int64_t>& values, const Json& json, const Whole& range) {
  if (!json.is_array() || json.empty() || json.size() > kMaxWidths)
    throw UsageError(fmt::format("expected a list of 1 to {} whole numbers", kMaxWidths));
  values = whole_numbers(json);
  for (const int64_t value : values) require_in(value, range);
}

void set(double& value, const Json& json, const Real& range) {
  if (!json.is_number()) throw UsageError(fmt::format("found {}, expected a number", json.type_name()));
  value = json.get<double>();
  if (!(value >= range.min && value <= range.max))
    throw UsageError(fmt::format("found {}, expected a number from {} to {}", value, range.min, range.max));
}

template <Worded Enum>
void set(Enum& value, const Json& json) {
  const auto word = json.get<std::string>();
  const std::optional<Enum> found = find_word<Enum>(word);
  if (!found) throw UsageError(fmt::format("found '{}', expected {}", word, fmt::join(kWords<Enum>, ", ")));
  value = *found;
}

void set(bool& value, const Json& json) {
  value = json.get<bool>();
}

template <typename Options>
Options read(const SafetensorsView& file) {
  Options options;
  read_metadata(file, "plimsoll.config", [&](const Json& config) {
    const auto visit = [&](const char* key, auto& value, const auto&... rule) {
      const auto wrong = [&](const std::exception& error) {
        return UsageError(fmt::format("{}: {}", key, error.what()));
      };
      try {
        set(value, config.at(key), rule...);
      } catch (const UsageError& error) {
        throw wrong(error);
      } catch (const Json::exception& error) {
        throw wrong(error);
      }
    };
    visit_options(options, visit, [&](const char* key, auto& value, const auto&... rule) {
      if (config.contains(key)) visit(key, value, rule...);
    });
  });
  return options;
}

}  // namespace

Json options_json(const GatOptions& options) {
  return written(options);
}
Json options_json(const VgaeOptions& options) {
  return written(options);
}
Json options_json(const GnnOptions& options) {
  return written(options);
}
Json options_json(const SgmpOptions& options) {
  return written(options);
}

GatOptions gat_options(const SafetensorsView& file) {
  return read<GatOptions>(file);
}

VgaeOptions vgae_options(const SafetensorsView& file) {
  return read<VgaeOptions>(file);
}

GnnOptions gnn_options(const SafetensorsView& file) {
  return read<GnnOptions>(file);
}

SgmpOptions sgmp_options(const SafetensorsView& file) {
  return read<SgmpOptions>(file);
}

}  // namespace plimsoll
