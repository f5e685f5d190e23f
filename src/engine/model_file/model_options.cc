#include "engine/model_file/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>

#include "base/error.h"
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
using Words = std::initializer_list<const char*>;

constexpr int64_t kMaxSize =
    // Must equal the limit in src/can/detector/gat_network.cc, which reads such files, too.
    int64_t{1} << 24;
constexpr Whole kSize{1, kMaxSize};
constexpr Whole kSizeOrNone{0, kMaxSize};
constexpr Whole kLayers{1, 4096};
constexpr Whole kSpanningTrees{0, 65535};
constexpr Real kDropout{0, 1};
constexpr Real kCutoff{1e-30, 1e30};
constexpr size_t kMaxWidths = 64;

// Options that are read or written.
template <typename T, typename Options>
concept Either = std::same_as<std::remove_const_t<T>, Options>;

// Lists the options by name, with the range of each: both reading and writing use it. Options in `later` may
// be missing in older files.
void visit_options(Either<GATWithJKOptions> auto& options, const auto& visit, const auto& later) {
  visit("num_ids", options.num_ids, kSize);
  visit("in_features", options.in_features, kSize);
  visit("embedding", options.embedding, kSize);
  visit("layers", options.layers, kLayers);
  visit("hidden", options.hidden, kSize);
  visit("heads", options.heads, kSize);
  visit("dropout", options.dropout, kDropout);
  visit("fc_layers", options.fc_layers, kLayers);
  later("attention", options.attention, Words{"gat", "gatv2"});
  later("edge_features", options.edge_features, kSizeOrNone);
  later("jk", options.jk, Words{"cat", "max", "lstm"});
  later("pooling", options.pooling, Words{"mean", "sum", "max"});
}

void visit_options(Either<VgaeOptions> auto& options, const auto& visit, const auto&) {
  visit("num_ids", options.num_ids, kSize);
  visit("in_features", options.in_features, kSize);
  visit("embedding", options.embedding, kSize);
  visit("hidden", options.hidden, kSize);
  visit("latent", options.latent, kSize);
  visit("heads", options.heads, kSize);
  visit("decoder_heads", options.decoder_heads, kSize);
  visit("dropout", options.dropout, kDropout);
  visit("output", options.output, Words{"sigmoid", "tanh"});
  visit("edge_features", options.edge_features, kSizeOrNone);
}

void visit_options(Either<GnnOptions> auto& options, const auto& visit, const auto& later) {
  visit("conv", options.conv, Words{"gat", "gatv2", "gcn", "gin", "sage"});
  visit("in_features", options.in_features, kSize);
  visit("edge_features", options.edge_features, kSizeOrNone);
  later("edge_weight", options.edge_weight);
  visit("num_ids", options.num_ids, kSizeOrNone);
  visit("embedding", options.embedding, kSize);
  visit("layers", options.layers, kLayers);
  visit("hidden", options.hidden, kSize);
  visit("heads", options.heads, kSize);
  visit("norm", options.norm, Words{"none", "batch", "graph"});
  visit("jk", options.jk, Words{"last", "cat", "max"});
  visit("pooling", options.pooling, Words{"mean", "sum", "max"});
  visit("dropout", options.dropout, kDropout);
  visit("classes", options.classes, kSize);
  visit("node_head", options.node_head);
  later("values", options.values);
}

void visit_options(Either<SgmpOptions> auto& options, const auto& visit, const auto& later) {
  visit("in_features", options.in_features, kSize);
  visit("hidden", options.hidden, kSize);
  visit("layers", options.layers, kLayers);
  visit("mode", options.mode, Words{"corrected", "reference"});
  visit("cutoff", options.cutoff, kCutoff);
  visit("tile", options.tile, kSize);
  visit("direction", options.direction, Words{"both", "ancestor", "descendant"});
  visit("distances_only", options.distances_only);
  later("aggregate", options.aggregate, Words{"sum", "mean"});
  later("spanning_trees", options.spanning_trees, kSpanningTrees);
  later("readout", options.readout, Words{"sum", "mean"});
  later("norm", options.norm, Words{"none", "batch"});
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

void set(std::string& value, const Json& json, Words words) {
  value = json.get<std::string>();
  if (std::ranges::find(words, value) == words.end())
    throw UsageError(fmt::format("found '{}', expected {}", value, fmt::join(words, ", ")));
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

Json options_json(const GATWithJKOptions& options) {
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

GATWithJKOptions gat_options(const SafetensorsView& file) {
  return read<GATWithJKOptions>(file);
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
