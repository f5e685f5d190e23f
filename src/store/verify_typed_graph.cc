#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "store/typed_graph.h"

namespace plimsoll {
namespace {

using TypeFindings = std::vector<std::string>;

// Calls take(begin, end) for the list of each node until take() returns false.
template <typename Take>
void each_list(const EdgeTypeView& edges, const Take& take) {
  for (size_t node = 0; node + 1 < edges.indptr.size(); ++node)
    if (!take(static_cast<size_t>(edges.indptr[node]), static_cast<size_t>(edges.indptr[node + 1]))) return;
}

std::string text_of_type(const EdgeTypeView& edges) {
  return fmt::format("edge type {} -{}-> {}", edges.source, edges.name, edges.target);
}

// Checks that lists contain only existing nodes and are sorted by time and source.
void verify_lists(const TypedGraphView& graph, const EdgeTypeView& edges, TypeFindings& findings) {
  const std::string name = text_of_type(edges);
  const auto fall = std::adjacent_find(edges.indptr.begin(), edges.indptr.end(), std::greater<>());
  if (fall != edges.indptr.end()) {
    findings.push_back(
        fmt::format("{}: the list of node {} ends before it begins", name, fall - edges.indptr.begin()));
    return;
  }
  const NodeTypeView& source = graph.node_type(edges.source);
  const auto bad = std::ranges::find_if(edges.indices, [&](uint32_t node) { return node >= source.nodes; });
  if (bad != edges.indices.end()) {
    findings.push_back(fmt::format("{}: edge {} has the source {}, which is not one of {} nodes", name,
                                   bad - edges.indices.begin(), *bad, source.nodes));
    return;
  }
  const bool by_source = edges.time == "source" && !source.time.empty();
  const auto time_of = [&](size_t edge) {
    if (!edges.times.empty()) return edges.times[edge];
    return by_source ? source.time[edges.indices[edge]] : 0;
  };
  each_list(edges, [&](size_t begin, size_t end) {
    for (size_t at = begin + 1; at < end; ++at) {
      const uint32_t before = edges.indices[at - 1];
      const uint32_t node = edges.indices[at];
      if (time_of(at - 1) == time_of(at) ? before > node : time_of(at - 1) > time_of(at)) {
        findings.push_back(fmt::format("{}: edge {} is not in the order of time and source", name, at));
        return false;
      }
    }
    return true;
  });
}

void verify_categories(const TypedGraphView& graph, const std::string& name, const Json& column,
                       TypeFindings& findings) {
  const auto ptr = graph.set().column<int64_t>(column["vocabulary_ptr"]);
  const auto bytes = graph.set().column<uint8_t>(column["vocabulary"]);
  if (ptr.empty() || ptr.front() != 0 || ptr.back() != static_cast<int64_t>(bytes.size()) ||
      !std::ranges::is_sorted(ptr))
    return findings.push_back(
        name + ": a text of its vocabulary ends before it begins, or the last one is cut short");
  const auto texts = static_cast<int64_t>(ptr.size()) - 1;
  const NpyView& codes = graph.set().columns().at(column["column"].get<std::string>());
  const auto check = [&](const auto values) {
    const auto bad = std::ranges::find_if(values, [&](auto code) { return code < -1 || code >= texts; });
    if (bad != values.end())
      findings.push_back(fmt::format("{}: row {} has the code {}, expected -1 to {}", name,
                                     bad - values.begin(), *bad, texts - 1));
  };
  const std::string& dtype = codes.shape().dtype;
  if (dtype == npy_dtype<int8_t>()) return check(codes.values<int8_t>());
  if (dtype == npy_dtype<int16_t>()) return check(codes.values<int16_t>());
  check(codes.values<int32_t>());
}

// Checks the lists and codes of a column of a type, or of the targets of a task. `owner` is for messages.
void verify_column(const TypedGraphView& graph, const std::string& owner, const Json& column,
                   TypeFindings& findings) {
  const std::string name = fmt::format("{}, column '{}'", owner, column["name"].get<std::string>());
  if (column.contains("ptr") && !std::ranges::is_sorted(graph.set().column<int64_t>(column["ptr"])))
    findings.push_back(name + ": a list ends before it begins");
  if (column.contains("vocabulary")) verify_categories(graph, name, column, findings);
}

void verify_missing(const TypedGraphView& graph, const std::string& owner, const Json& column,
                    TypeFindings& findings) {
  int64_t missing = 0;
  if (column.contains("valid"))
    missing = std::ranges::count(graph.set().column<uint8_t>(column["valid"]), uint8_t{0});
  if (column.value("missing", Json()) != missing)
    findings.push_back(fmt::format("{}, column '{}': {} values are missing, the manifest says {}", owner,
                                   column["name"].get<std::string>(), missing,
                                   column.value("missing", Json()).dump()));
}

// Checks that the texts of a node type's key follow one another.
void verify_key(const TypedGraphView& graph, const std::string& type, const Json& key,
                TypeFindings& findings) {
  for (const Json& part : key) {
    if (!part.contains("ptr")) continue;
    const auto ptr = graph.set().column<int64_t>(part["ptr"]);
    if (ptr.front() != 0 || !std::ranges::is_sorted(ptr))
      findings.push_back(
          fmt::format("{}, key '{}': a text ends before it begins", type, part["name"].get<std::string>()));
  }
}

void verify_columns(const TypedGraphView& graph, const std::string& type, const Json& columns,
                    TypeFindings& findings) {
  for (const Json& column : columns) {
    verify_column(graph, type, column, findings);
    verify_missing(graph, type, column, findings);
  }
}

// Checks that the seeds of tasks exist, that targets that are nodes exist, and that the other targets are
// valid.
void verify_tasks(const TypedGraphView& graph, TypeFindings& findings) {
  const Json tasks = graph.set().manifest().value("tasks", Json::array());
  const auto check = [&](const std::string& column, const std::string& type) {
    const auto nodes = graph.set().column<uint32_t>(column);
    const int64_t end = graph.node_type(type).nodes;
    const auto bad = std::ranges::find_if(nodes, [&](uint32_t node) { return node >= end; });
    if (bad != nodes.end())
      findings.push_back(fmt::format("{}: row {} is {}, which is not one of {} nodes", column,
                                     bad - nodes.begin(), *bad, end));
  };
  for (const Json& task : tasks)
    for (const Json& split : task["splits"]) {
      check(split["nodes"], task["entity"]);
      const Json target = split.value("target", Json());
      if (!target.is_object()) continue;
      const std::string owner = fmt::format("task '{}', split '{}'", task["name"].get<std::string>(),
                                            split["name"].get<std::string>());
      verify_column(graph, owner, target, findings);
      if (target["meaning"] == "nodes")
        check(target["column"], task.value("destination", ""));
      else
        verify_missing(graph, owner, target, findings);
    }
}

}  // namespace

void verify_typed_graph(const std::filesystem::path& folder, TypeFindings& findings) {
  const TypedGraphView graph(folder);
  const Json& manifest = graph.set().manifest();
  for (const Json& type : manifest["node_types"]) {
    const std::string name = fmt::format("node type '{}'", type["name"].get<std::string>());
    verify_key(graph, name, type.value("key", Json::array()), findings);
    verify_columns(graph, name, type["columns"], findings);
  }
  for (size_t at = 0; at < graph.edge_types().size(); ++at)
    verify_columns(graph, text_of_type(graph.edge_types()[at]), manifest["edge_types"][at]["columns"],
                   findings);
  for (const NodeTypeView& type : graph.node_types())
    if (std::ranges::find(type.time, std::numeric_limits<int64_t>::min()) != type.time.end())
      findings.push_back(fmt::format("node type '{}': a node has no time", type.name));
  for (const EdgeTypeView& edges : graph.edge_types()) verify_lists(graph, edges, findings);
  verify_tasks(graph, findings);
}

}  // namespace plimsoll
